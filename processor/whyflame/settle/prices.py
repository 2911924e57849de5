"""Own prices: a YAML file of rates per million tokens, with effective dates.

```yaml
prices:
  - model: "gpt-4.1-mini*"     # shell pattern, matched against the model that answered
    provider: openai           # optional
    from: 2026-01-01           # optional, inclusive (UTC)
    until: 2026-07-01          # optional, exclusive
    input: 0.40                # USD per million tokens
    cache_read: 0.10           # default: input
    cache_write: 0.40          # default: input
    output: 1.60
    reasoning: 1.60            # default: output
```
The first entry that fits wins, and any entry wins over the shipped prices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import yaml

from whyflame.errors import ConfigError
from whyflame.settle.rates import Rates

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Price", "find_price", "read_prices"]

SECOND_NS = 1_000_000_000
REQUIRED = ("model", "input", "output")
OPTIONAL = ("provider", "from", "until", "cache_read", "cache_write", "reasoning")
MOST_RATE = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """One entry of the file.

    Attributes:
        model: Shell pattern, lower case. provider: Lower case, None for any.
        from_ns, until_ns: Effective from (inclusive) and until (exclusive).
    """

    model: str
    provider: str | None
    from_ns: int | None
    until_ns: int | None
    rates: Rates

    def fits(self, model: str, provider: str | None, time_ns: int) -> bool:
        """Whether the entry prices a call."""
        if self.provider is not None and self.provider != provider:
            return False
        if self.from_ns is not None and time_ns < self.from_ns:
            return False
        if self.until_ns is not None and time_ns >= self.until_ns:
            return False
        return fnmatchcase(model.lower(), self.model)


def find_price(
    prices: Sequence[Price], model: str, provider: str | None, time_ns: int
) -> Rates | None:
    """Rates of the first entry that fits."""
    for price in prices:
        if price.fits(model, provider, time_ns):
            return price.rates
    return None


def read_prices(text: str, source: str) -> tuple[Price, ...]:
    """Parse a price file.

    Raises:
        ConfigError: The file is not as documented; names the entry and the key.
    """
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{source}: not valid YAML: {error}") from error
    entries = document.get("prices") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise ConfigError(f"{source}: expected a list under the key `prices`")
    return tuple(
        _read_entry(entry, f"{source}: prices[{number}]") for number, entry in enumerate(entries)
    )


def _read_entry(entry: Any, place: str) -> Price:
    if not isinstance(entry, dict):
        raise ConfigError(f"{place}: expected keys and values")
    for key in REQUIRED:
        if entry.get(key) is None:
            raise ConfigError(f"{place}: `{key}` is missing")
    for key in entry:
        if key not in (*REQUIRED, *OPTIONAL):
            known = ", ".join((*REQUIRED, *OPTIONAL))
            raise ConfigError(f"{place}: unknown key `{key}`; known: {known}")
    input_rate, output_rate = _rate(entry, "input", place), _rate(entry, "output", place)
    rates = Rates(
        input_uncached=input_rate,
        cache_read=_rate(entry, "cache_read", place, input_rate),
        cache_write=_rate(entry, "cache_write", place, input_rate),
        output_visible=output_rate,
        reasoning=_rate(entry, "reasoning", place, output_rate),
    )
    provider = entry.get("provider")
    return Price(
        model=str(entry["model"]).lower(),
        provider=None if provider is None else str(provider).lower(),
        from_ns=_time(entry, "from", place),
        until_ns=_time(entry, "until", place),
        rates=rates,
    )


def _rate(entry: dict[Any, Any], key: str, place: str, default: int = 0) -> int:
    value = entry.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigError(f"{place}: `{key}` must be USD per million tokens, not {value!r}")
    if not math.isfinite(value) or not 0 <= value <= MOST_RATE:
        raise ConfigError(f"{place}: `{key}` must lie between 0 and {MOST_RATE}, not {value!r}")
    return Rates.from_usd_per_million(value)


def _time(entry: dict[Any, Any], key: str, place: str) -> int | None:
    value = entry.get(key)
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError as error:
            raise ConfigError(f"{place}: `{key}` must be a date, not {value!r}") from error
    if isinstance(value, datetime):
        moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    elif isinstance(value, date):
        moment = datetime(value.year, value.month, value.day, tzinfo=UTC)
    else:
        raise ConfigError(f"{place}: `{key}` must be a date, not {value!r}")
    return int(moment.timestamp()) * SECOND_NS
