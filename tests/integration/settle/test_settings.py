"""Settings out of the configuration file, with a real price file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from whyflame.config import Config, PricesConfig, SessionConfig
from whyflame.errors import ConfigError
from whyflame.settle.prices import read_prices
from whyflame.settle.settings import settle_settings

if TYPE_CHECKING:
    from pathlib import Path


def test_the_documented_price_file_is_read(root: Path, tmp_path: Path) -> None:
    """The example of the documentation works as it stands."""
    page = (root / "docs" / "settling.md").read_text(encoding="utf-8")
    example = page.split("```yaml\n")[1].split("```")[0]
    file = tmp_path / "prices.yaml"
    file.write_text(example, encoding="utf-8")
    settings = settle_settings(
        Config(prices=PricesConfig(file=str(file)), session=SessionConfig(gap=60.0))
    )
    assert settings.gap_ns == 60_000_000_000
    assert settings.pricing is not None
    assert list(settings.pricing.own) == list(read_prices(example, "example"))
    assert settings.pricing.own[0].model == "gpt-4.1-mini*"


def test_a_missing_price_file_stops_the_start(tmp_path: Path) -> None:
    """Better no start than wrong costs."""
    with pytest.raises(ConfigError, match=r"prices\.file"):
        settle_settings(Config(prices=PricesConfig(file=str(tmp_path / "none.yaml"))))


def test_pricing_can_be_switched_off() -> None:
    """Then only producers' own figures are shown."""
    assert settle_settings(Config(prices=PricesConfig(enabled=False))).pricing is None
