"""What settling needs to know from the configuration."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from whyflame.errors import ConfigError
from whyflame.settle.cost import Pricing
from whyflame.settle.prices import read_prices

if TYPE_CHECKING:
    from whyflame.config import Config

__all__ = ["SettleSettings", "settle_settings"]

SECOND_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class SettleSettings:
    """Settings of `settle`.

    Attributes:
        gap_ns: A longer silence begins a new run of a session.
        pricing: Prices of calls without a figure of their own; None prices nothing.
    """

    gap_ns: int = 4 * 3600 * SECOND_NS
    pricing: Pricing | None = field(default_factory=Pricing)


def settle_settings(config: Config) -> SettleSettings:
    """Settings out of the configuration; reads the user's price file.

    Raises:
        ConfigError: The price file cannot be read, or an entry is wrong.
    """
    pricing = None
    if config.prices.enabled:
        pricing = Pricing()
        if config.prices.file:
            try:
                text = Path(config.prices.file).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise ConfigError(
                    f"prices.file: cannot read {config.prices.file}: {error}"
                ) from error
            pricing = Pricing(own=read_prices(text, config.prices.file))
    return SettleSettings(gap_ns=int(config.session.gap * SECOND_NS), pricing=pricing)
