"""Shipped prices: rates out of `genai-prices`, looked up once per model, provider and price list."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from whyflame.settle.rates import Rates

if TYPE_CHECKING:
    from decimal import Decimal

    from genai_prices.types import ModelInfo, ModelPrice, Provider

__all__ = ["ShippedPrices"]

SECOND_NS = 1_000_000_000
MILLION = 1_000_000
MOST_MODELS = 10_000

# Names of the conventions -> names of the price list.
PROVIDERS = {
    "aws.bedrock": "aws",
    "azure.ai.inference": "azure",
    "azure.ai.openai": "azure",
    "az.ai.inference": "azure",
    "az.ai.openai": "azure",
    "bedrock": "aws",
    "gcp.gemini": "google",
    "gcp.gen_ai": "google",
    "gcp.vertex_ai": "google",
    "gemini": "google",
    "vertex_ai": "google",
    "mistral_ai": "mistral",
    "x_ai": "x-ai",
    "xai": "x-ai",
    "together_ai": "together",
    "fireworks_ai": "fireworks",
}
# Served by the user's own machines: a model of the same name elsewhere has another price.
LOCAL = frozenset({"ollama", "vllm", "llamacpp", "llama.cpp", "lmstudio", "lm_studio", "local"})

PriceList = tuple["ModelInfo", "Provider"]


@dataclass(slots=True)
class ShippedPrices:
    """Looks rates up offline; the price data is imported at the first call that needs it.

    A tier applies to all tokens of a call once its input exceeds a threshold, so rates are kept
    per price list and tier, and a call costs five multiplications.
    """

    _models: dict[tuple[str, str | None], PriceList | None] = field(default_factory=dict)
    _tiers: dict[int, tuple[ModelPrice, list[int]]] = field(default_factory=dict)
    _rates: dict[tuple[int, int], Rates] = field(default_factory=dict)

    def find(
        self, model: str, provider: str | None, time_ns: int, input_tokens: int
    ) -> Rates | None:
        """Rates of a model when it was called; None when the list does not know it."""
        key = (model, provider)
        if key not in self._models:
            if len(self._models) >= MOST_MODELS:
                self._models.clear()
            self._models[key] = _look_up(model, provider)
        found = self._models[key]
        if found is None:
            return None
        info, _ = found
        price = info.prices
        if isinstance(price, list):
            # Prices that changed, or change with the hour.
            price = info.get_prices(datetime.fromtimestamp(time_ns // SECOND_NS, UTC))
        known = self._tiers.get(id(price))
        if known is None:
            # The price is kept beside its id: an id is only good while the object lives.
            known = self._tiers[id(price)] = (price, _thresholds(price))
        tier = bisect_left(known[1], input_tokens)
        rates = self._rates.get((id(price), tier))
        if rates is None:
            floor = known[1][tier - 1] if tier else 0
            rates = self._rates[id(price), tier] = _probe(price, floor + 1)
        return rates


def _look_up(model: str, provider: str | None) -> PriceList | None:
    # Imported late: 0.3 s, which only a call without a figure of its own is worth.
    from genai_prices import Usage, calc_price

    if provider in LOCAL:
        return None
    name = PROVIDERS.get(provider, provider) if provider else None
    # Providers that only pass calls on are not in the list: the model's maker sets the price.
    for provider_id in (name, None) if name else (None,):
        try:
            found = calc_price(Usage(input_tokens=1), model, provider_id=provider_id)
        except (LookupError, ValueError):
            continue
        return found.model, found.provider
    return None


def _thresholds(price: ModelPrice) -> list[int]:
    """Input tokens above which another tier applies."""
    from genai_prices.types import TieredPrices

    found: set[int] = set()
    for value in vars(price).values():
        if isinstance(value, TieredPrices):
            found.update(tier.start for tier in value.tiers)
    return sorted(found)


def _probe(price: ModelPrice, tokens: int) -> Rates:
    """Rates of one tier, by asking what `tokens` tokens of each part add to the price."""
    from genai_prices import Usage

    def total(**usage: int) -> Decimal:
        return price.calc_price(Usage(input_tokens=tokens, **usage))["total_price"]

    def rate(amount: Decimal) -> int:
        return Rates.from_usd_per_million(amount * MILLION / tokens)

    base = total(output_tokens=0)
    return Rates(
        input_uncached=rate(base),
        cache_read=rate(total(cache_read_tokens=tokens, output_tokens=0)),
        cache_write=rate(total(cache_write_tokens=tokens, output_tokens=0)),
        output_visible=rate(total(output_tokens=tokens) - base),
        reasoning=rate(total(output_tokens=tokens, output_reasoning_tokens=tokens) - base),
    )
