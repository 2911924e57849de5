"""Token usage: from what a producer reports to five disjoint parts, unknown staying unknown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whyflame.dialects.values import read_count, read_dollars

if TYPE_CHECKING:
    from whyflame.model import Span

__all__ = ["PARTS", "Usage", "fill_parts"]

PARTS = ("input", "output", "cache_read", "cache_write", "reasoning", "total")


@dataclass(slots=True)
class Usage:
    """What a producer reports for one call, before it is taken apart.

    Attributes:
        input, output, cache_read, cache_write, reasoning, total: Counts as reported.
        cost: Nano-dollars.
        cache_outside: `input` does not hold `cache_read` and `cache_write`.
        reasoning_outside: `output` does not hold `reasoning`.
        thoughts_in_total: What `total` holds beyond input and output is reasoning.
        final: A producer-specific source gave the figures: tables must not add to them.
        dubious: Reasons for values that were not believed.
    """

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    total: int | None = None
    cost: int | None = None
    cache_outside: bool = False
    reasoning_outside: bool = False
    thoughts_in_total: bool = False
    final: bool = False
    dubious: tuple[str, ...] = ()

    def take(self, part: str, value: Any) -> bool:
        """Sets a part that is still unknown; False when the value is not believed."""
        if value is None or getattr(self, part) is not None:
            return value is not None
        count = read_dollars(value) if part == "cost" else read_count(value)
        if isinstance(count, str):
            self.dubious = (*self.dubious, count)
            return False
        setattr(self, part, count)
        return True

    def replace(self, **parts: Any) -> None:
        """Forgets all parts but the cost, then takes these; nothing may be added afterwards."""
        self.input = self.output = self.cache_read = self.cache_write = None
        self.reasoning = self.total = None
        self.final = True
        for part, value in parts.items():
            self.take(part, value)

    @property
    def is_known(self) -> bool:
        """True when any count was reported."""
        return not (
            self.input is None
            and self.output is None
            and self.cache_read is None
            and self.cache_write is None
            and self.reasoning is None
        )


def _cache_is_outside(usage: Usage, cached: int) -> bool:
    """The guard: figures that only add up when the cache lies outside the input."""
    if usage.cache_outside or usage.input is None:
        return usage.cache_outside
    if cached > usage.input:
        return True
    total, output = usage.total, usage.output or 0
    if total is None or not cached or total == usage.input + output:
        return False
    return total == usage.input + output + cached


def _reasoning_adds_up(usage: Usage) -> bool:
    """A total that only holds when reasoning lies beside the output."""
    if not usage.total or not usage.reasoning or usage.input is None or usage.output is None:
        return False
    return usage.total == usage.input + usage.output + usage.reasoning


def fill_parts(usage: Usage, span: Span) -> None:
    """Writes the disjoint parts, the cost and how they were derived to the span."""
    span.cost_nanousd = usage.cost
    if usage.dubious:
        span.dubious = (*span.dubious, *usage.dubious)
    if not usage.is_known:
        if usage.total is not None:
            span.extra["unsplit_total"] = str(usage.total)
        return
    _split_input(usage, span)
    _split_output(usage, span)


def _split_input(usage: Usage, span: Span) -> None:
    cached = (usage.cache_read or 0) + (usage.cache_write or 0)
    outside = _cache_is_outside(usage, cached)
    span.cache_read, span.cache_write = usage.cache_read, usage.cache_write
    span.usage_semantics = "exclusive" if outside and cached else "inclusive"
    if usage.input is not None:
        span.input_uncached = usage.input if outside else usage.input - cached


def _take_thoughts(usage: Usage) -> None:
    """Gemini's thoughts where a producer only hands on a total that holds them."""
    if usage.reasoning is not None or usage.total is None:
        return
    if usage.input is None or usage.output is None:
        return
    beyond = usage.total - usage.input - usage.output
    if beyond > 0:
        usage.reasoning, usage.reasoning_outside = beyond, True


def _split_output(usage: Usage, span: Span) -> None:
    if usage.thoughts_in_total:
        _take_thoughts(usage)
    reasoning = usage.reasoning or 0
    span.reasoning = usage.reasoning
    if usage.output is None:
        return
    outside = usage.reasoning_outside or reasoning > usage.output or _reasoning_adds_up(usage)
    span.output_visible = usage.output if outside else usage.output - reasoning
