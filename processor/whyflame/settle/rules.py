"""The tree rules with their settings bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.settle.settings import settle_settings
from whyflame.settle.settle import settle

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whyflame.config import Config
    from whyflame.model import Operation, Span
    from whyflame.settle.work import Settle

__all__ = ["build_settle"]


def build_settle(config: Config) -> Settle:
    """The rules as configured.

    Raises:
        ConfigError: The price file is wrong.
    """
    settings = settle_settings(config)

    def settle_spans(spans: Sequence[Span], earlier: Mapping[str, int]) -> list[Operation]:
        return settle(spans, settings, earlier)

    return settle_spans
