"""Named measures: what the width of a frame can mean, and the SQL that sums it.

Every measure is a sum of integer columns of the view `operations`. A row's measure is NULL only when
none of its columns is known; a sum over rows takes unknown as nothing and never leaves the integers.
"""

from __future__ import annotations

from dataclasses import dataclass

from whyflame.fields import TOKEN_PARTS
from whyflame.fold.names import unknown_name

__all__ = ["DEFAULT_MEASURES", "MEASURE_BY_NAME", "Measure", "find_measure"]

_INPUT_PARTS = ("input_uncached", "cache_read", "cache_write")
_OUTPUT_PARTS = ("output_visible", "reasoning")


@dataclass(frozen=True, slots=True)
class Measure:
    """One way to weigh operations.

    Attributes:
        name: What users and profile type ids call it.
        unit: Unit of the stored integers, which profiles hold too.
        columns: Columns of `operations` whose sum it is.
        description: For help texts and documentation.
    """

    name: str
    unit: str
    columns: tuple[str, ...]
    description: str

    @property
    def is_token_measure(self) -> bool:
        """True when it is made of the five disjoint token parts, so that `token_kind` splits it."""
        return self.columns[0] in TOKEN_PARTS

    @property
    def expression(self) -> str:
        """Integer SQL over one row; NULL when nothing of it is known."""
        if len(self.columns) == 1:
            return self.columns[0]
        known = ", ".join(self.columns)
        return f"CASE WHEN coalesce({known}) IS NOT NULL THEN {self._row_sum()} END"

    @property
    def is_known(self) -> str:
        """SQL that is true for a row that knows anything of it."""
        # A tenth of a fold of ten million rows cheaper than `coalesce(...) IS NOT NULL`.
        return f"({' OR '.join(f'{column} IS NOT NULL' for column in self.columns)})"

    @property
    def sum_expression(self) -> str:
        """Integer SQL over a group of rows; 0 when nothing of it is known, an error past 2^63."""
        return f"coalesce(sum({self._row_sum()}), 0)::BIGINT"

    @property
    def nullable_sum_expression(self) -> str:
        """As `sum_expression`, but NULL when no row of the group knows it."""
        return f"sum({self.expression})::BIGINT"

    def _row_sum(self) -> str:
        if len(self.columns) == 1:
            return self.columns[0]
        return " + ".join(f"coalesce({column}, 0)" for column in self.columns)


def _measure(name: str, unit: str, columns: tuple[str, ...], description: str) -> Measure:
    return Measure(name=name, unit=unit, columns=columns, description=description)


_ALL = (
    _measure("operations", "count", ("operations",), "model calls, embeddings and tool calls"),
    _measure("cost", "nanousd", ("cost_nanousd",), "money; files write it in micro-USD"),
    _measure("duration", "nanoseconds", ("self_ns",), "self time"),
    _measure("tokens", "count", TOKEN_PARTS, "all tokens"),
    _measure("input_tokens", "count", _INPUT_PARTS, "tokens read, cached ones included"),
    _measure("output_tokens", "count", _OUTPUT_PARTS, "tokens written, reasoning included"),
    _measure("input_uncached", "count", ("input_uncached",), "tokens read outside any cache"),
    _measure("cache_read_tokens", "count", ("cache_read",), "tokens read from a cache"),
    _measure("cache_write_tokens", "count", ("cache_write",), "tokens written to a cache"),
    _measure("reasoning_tokens", "count", ("reasoning",), "tokens of hidden reasoning"),
    _measure("output_visible", "count", ("output_visible",), "tokens of visible output"),
    _measure("errors", "count", ("errors",), "failed operations"),
    _measure(
        "input_bytes", "bytes", ("input_bytes",), "bytes of newest user messages and tool arguments"
    ),
    _measure("output_bytes", "bytes", ("output_bytes",), "bytes of answers and tool results"),
)

MEASURE_BY_NAME: dict[str, Measure] = {measure.name: measure for measure in _ALL}
"""Every measure that `--measure` accepts."""

DEFAULT_MEASURES = ("operations", "cost", "duration", "tokens")
"""Sample types of a pprof file, in this order; tokens last, which is also pprof's own fall-back."""


def find_measure(name: str) -> Measure:
    """The measure called `name`.

    Raises:
        UsageError: There is none; the message lists the known names.
    """
    measure = MEASURE_BY_NAME.get(name)
    if measure is None:
        raise unknown_name("measure", name, MEASURE_BY_NAME)
    return measure
