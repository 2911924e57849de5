"""What a call costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.settle.builders import Trace

from whyflame.errors import ConfigError
from whyflame.settle.cost import Pricing
from whyflame.settle.prices import find_price, read_prices
from whyflame.settle.rates import Rates
from whyflame.settle.shipped_prices import ShippedPrices

if TYPE_CHECKING:
    from whyflame.model import Operation

JULY_2026 = 1_783_000_000_000_000_000

OWN = """
prices:
  - model: "house-*"
    provider: ours
    until: 2026-01-01
    input: 1
    output: 2
  - model: "house-*"
    input: 10
    cache_read: 0.5
    output: 20
"""


def call(model: str | None, provider: str | None = None, **fields: object) -> Operation:
    trace = Trace()
    return trace.add("llm:a", JULY_2026, JULY_2026 + 1, model=model, provider=provider, **fields)


def priced(operation: Operation, pricing: Pricing | None = None) -> int | None:
    (pricing or Pricing()).assign_costs([operation])
    return operation.cost_nanousd


def test_the_producers_figure_stands() -> None:
    """Even when a price is known."""
    assert priced(call("gpt-4.1-mini", "openai", cost_nanousd=7, input_uncached=1)) == 7


def test_shipped_prices_tell_the_parts_apart() -> None:
    """Cache reads are cheaper; reasoning costs as output; nano-USD are exact."""
    usage = {"input_uncached": 100, "cache_read": 100, "output_visible": 10, "reasoning": 5}
    assert priced(call("gpt-4.1-mini", "openai", **usage)) == 100 * 400 + 100 * 100 + 15 * 1600


def test_a_tier_prices_the_whole_call() -> None:
    """Above 200,000 tokens of input another rate applies to all tokens."""
    shipped = ShippedPrices()
    low = shipped.find("claude-sonnet-4-5", "anthropic", JULY_2026, 200_000)
    high = shipped.find("claude-sonnet-4-5", "anthropic", JULY_2026, 200_001)
    assert low is not None
    assert high is not None
    assert high.input_uncached == 2 * low.input_uncached


def test_shipped_rates_equal_the_price_lists_own_arithmetic() -> None:
    """The cached rates give what genai-prices gives for the same usage."""
    from genai_prices import Usage, calc_price

    for model in ("gpt-5-mini", "claude-sonnet-4-5", "gemini-2.5-pro", "gpt-4o"):
        theirs = calc_price(
            Usage(input_tokens=1234, cache_read_tokens=234, output_tokens=99), model
        )
        ours = priced(call(model, input_uncached=1000, cache_read=234, output_visible=99))
        assert ours == int(theirs.total_price * 10**9)


def test_unknown_models_and_own_machines_are_unpriced_not_free() -> None:
    """Never guessed."""
    for model, provider in (("no-such-model", None), ("gpt-4o", "ollama"), (None, "openai")):
        operation = call(model, provider, input_uncached=1, output_visible=1)
        assert priced(operation) is None


def test_half_a_call_has_no_price() -> None:
    """A streamed call with unknown output must not look cheap."""
    assert priced(call("gpt-4o", "openai", input_uncached=100)) is None


def test_own_prices_win_and_have_effective_dates() -> None:
    """The first entry that fits in model, provider and time."""
    prices = read_prices(OWN, "own.yaml")
    pricing = Pricing(own=prices)
    usage = {"input_uncached": 1, "cache_read": 2, "output_visible": 1}
    assert priced(call("house-large", "ours", **usage), pricing) == 10_000 + 1_000 + 20_000
    early = find_price(prices, "house-large", "ours", 1_700_000_000_000_000_000)
    assert early is not None
    assert early.output_visible == Rates.from_usd_per_million(2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("prices: 3", "list under the key"),
        ("[", "not valid YAML"),
        ("prices: [{model: a, input: 1}]", "`output` is missing"),
        ("prices: [{model: a, input: 1, output: 2, inptu: 3}]", "unknown key `inptu`"),
        ("prices: [{model: a, input: -1, output: 2}]", "between 0 and"),
        ("prices: [{model: a, input: .nan, output: 2}]", "between 0 and"),
        ("prices: [{model: a, input: true, output: 2}]", "USD per million"),
        ("prices: [{model: a, input: 1, output: 2, from: soon}]", "must be a date"),
        ("prices: [a]", "expected keys and values"),
    ],
)
def test_a_wrong_price_file_names_the_place(text: str, words: str) -> None:
    """Fail at start-up, with the entry and the key."""
    with pytest.raises(ConfigError, match=r"own\.yaml") as caught:
        read_prices(text, "own.yaml")
    assert words in str(caught.value)
