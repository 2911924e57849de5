"""Settling as a whole: spans of one group in, operations with all that was found about them out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.settle.counting import count
from whyflame.settle.forest import Forest
from whyflame.settle.messages import join_messages
from whyflame.settle.sessions import resolve_sessions
from whyflame.settle.structure import arrange

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whyflame.model import Operation, Span
    from whyflame.settle.settings import SettleSettings

__all__ = ["settle"]


def settle(
    spans: Sequence[Span], settings: SettleSettings, earlier_runs: Mapping[str, int] | None = None
) -> list[Operation]:
    """Settle one group of spans; the same spans give the same operations, in whatever order.

    Args:
        spans: All current spans of whole traces of one tenant: those of a run, and those of the
            same processes and time in which calls may be seen once more.
        settings: From `settle_settings`.
        earlier_runs: Session -> how many of its runs lie wholly before these spans.

    Returns:
        One operation per span; those of one session in time order.
    """
    spans = join_messages(spans)
    forest = Forest(spans)
    operations = count(spans, forest)
    resolve_sessions(operations, forest)
    settled = arrange(operations, settings.gap_ns, earlier_runs or {})
    if settings.pricing is not None:
        settings.pricing.assign_costs(settled)
    return settled
