"""Which spans come from one process, and where in it they were taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whyflame.model import Span

__all__ = ["by_process", "place", "same_process", "several_places"]


def place(span: Span) -> tuple[str, str, str, str]:
    """Where a view was taken: two views of one call are never taken at the same place."""
    return (span.service, span.instance or "", span.scope, span.signal)


def same_process(left: Span, right: Span) -> bool:
    """True when nothing says that two spans come from different processes."""
    if left.tenant != right.tenant or left.service != right.service:
        return False
    if left.instance is None or right.instance is None:
        return left.host is None or right.host is None or left.host == right.host
    return left.instance == right.instance


def by_process(spans: Iterable[Span]) -> list[list[int]]:
    """Positions in their order, apart where `same_process` says no."""
    processes: dict[tuple[str, str, str | None], list[int]] = {}
    for position, span in enumerate(spans):
        processes.setdefault((span.tenant, span.service, span.instance), []).append(position)
    unknown = {process[:2] for process in processes if process[2] is None}
    if not unknown:
        return list(processes.values())
    # An unknown instance may be any of them.
    services: dict[tuple[str, ...], list[int]] = {}
    for process, positions in processes.items():
        key = process[:2] if process[:2] in unknown else (*process[:2], process[2] or "")
        services.setdefault(key, []).extend(positions)
    return [sorted(positions) for positions in services.values()]


def several_places(spans: Sequence[Span]) -> bool:
    """True when two of the spans were taken at different places."""
    return len({(span.service, span.instance, span.scope, span.signal) for span in spans}) > 1
