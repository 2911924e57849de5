"""Tables and trees in the terminal."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console, JustifyMethod
    from rich.table import Column, Table

__all__ = [
    "NOTHING_YET",
    "console",
    "count",
    "fitted",
    "moment",
    "money",
    "number_of",
    "print_coverage",
    "print_totals",
    "seconds",
    "share",
    "table",
]

NOTHING_YET = (
    "Nothing has settled yet. Point an OTLP exporter at `whyflame serve` and wait half a minute "
    "after its last span (`whyflame segment` does not wait), or look at recorded agents: "
    "`whyflame demo`."
)
UNKNOWN = "-"
PIPE_WIDTH = 200
# Names fold to a column of this width before a column of figures has to go.
NAME_WIDTH = 24
_COLUMNS = {
    "llm_calls": "calls",
    "llm_errors": "failed",
    "tool_calls": "tools",
    "tool_errors": "failed tools",
    "input_tokens": "input",
    "cache_read_tokens": "of it cached",
    "output_tokens": "output",
    "reasoning_tokens": "of it reasoning",
}


def console() -> Console:
    """Standard output; plain text without narrow columns when it is not a terminal."""
    from rich.console import Console

    class Output(Console):
        """A reader that has seen enough (head) ends the command quietly, as elsewhere."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    made = Output(highlight=False)
    return made if made.is_terminal else Output(highlight=False, width=PIPE_WIDTH)


def table(*columns: str, numbers: Iterable[int] = ()) -> Table:
    """An empty table; columns at the positions `numbers` are right-aligned and never folded."""
    right = set(numbers)
    made = _bare()
    for position, name in enumerate(columns):
        is_number = position in right
        justify: JustifyMethod = "right" if is_number else "left"
        made.add_column(name, justify=justify, overflow="fold", no_wrap=is_number)
    return made


def _bare() -> Table:
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")


def fitted(made: Table, out: Console, spare: Sequence[str]) -> Table:
    """The table without those columns that a terminal has no room for.

    Args:
        made: The table, filled. out: Where it goes; a pipe gets every column.
        spare: Headers of columns that may go, the first one first.
    """
    kept, left_out = list(made.columns), []
    for name in spare:
        if not out.is_terminal or _width(kept) <= out.width:
            break
        kept = [column for column in kept if column.header != name]
        left_out.append(name)
    if not left_out:
        return made
    narrow = _bare()
    for column in kept:
        narrow.add_column(
            column.header, justify=column.justify, overflow="fold", no_wrap=column.no_wrap
        )
    for cells in zip(*(column.cells for column in kept), strict=True):
        narrow.add_row(*cells)
    narrow.caption = f"no room for: {', '.join(left_out)}"
    narrow.caption_justify = "left"
    return narrow


def _width(columns: Iterable[Column]) -> int:
    """Of a table with its names folded as far as is good to read."""
    from rich.cells import cell_len

    total = 0
    for column in columns:
        widest = max(cell_len(str(cell)) for cell in (column.header, *column.cells))
        total += 2 + (widest if column.no_wrap else min(widest, NAME_WIDTH))
    return total


def count(value: int | None) -> str:
    """An exact integer with thousands separators; a dash when not reported."""
    return UNKNOWN if value is None else f"{value:,}"


def money(value: float | None) -> str:
    """USD; a dash when unknown."""
    if value is None:
        return UNKNOWN
    return f"${value:,.2f}" if value >= 1 else f"${value:.4f}"


def seconds(value: float | None) -> str:
    """A duration people can read."""
    if value is None:
        return UNKNOWN
    if value < 60:  # noqa: PLR2004
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def share(part: int | None, whole: int) -> str:
    """Part of the whole in percent."""
    return UNKNOWN if not part or not whole else f"{100 * part / whole:.1f} %"


def number_of(amount: int, noun: str) -> str:
    """`1 session`, `1,200 sessions`."""
    return f"{amount:,} {noun}" if amount == 1 else f"{amount:,} {noun}s"


def moment(value_ns: int | None) -> str:
    """A point in time, UTC."""
    if value_ns is None:
        return UNKNOWN
    return datetime.fromtimestamp(value_ns / 1e9, tz=UTC).strftime("%Y-%m-%d %H:%M:%S")


def print_totals(rows: Sequence[dict[str, Any]], by: Sequence[str]) -> None:
    """Totals as a table, widest first."""
    made = table(*by, *_COLUMNS.values(), "cost", "self time", numbers=range(len(by), len(by) + 10))
    spare = ("of it reasoning", "failed tools", "failed", "tools", "of it cached", "self time")
    for row in rows:
        made.add_row(
            *(UNKNOWN if row[field] is None else str(row[field]) for field in by),
            *(count(row[key]) for key in _COLUMNS),
            money(row["cost_usd"]),
            seconds(row["duration_seconds"]),
        )
    out = console()
    out.print(fitted(made, out, spare))


def print_coverage(coverage: dict[str, Any]) -> None:
    """What is missing from the totals; silent about what is complete."""
    lines = [
        (coverage["calls_without_usage"], "call", "without tokens"),
        (coverage["unpriced_calls"], "call", "without a known price"),
        (coverage["sessions_without_id"], "trace", "without a session id, each alone"),
        (sum(coverage["merged_views"].values()), "second view", "of what counts once"),
        (coverage["orphan_spans"], "span", "whose parent never came"),
        (sum(coverage["bad_values"].values()), "impossible value", "treated as unknown"),
    ]
    shown = [f"{number_of(number, noun)} {text}" for number, noun, text in lines if number]
    if shown:
        console().print("coverage: " + "; ".join(shown) + "  (whyflame doctor explains)")
