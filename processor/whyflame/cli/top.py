"""`whyflame top`: the widest tasks in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyflame.cli.target import add_filters, add_target, chosen_filter, questions, split_fields

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

__all__ = ["add_parser", "print_top", "run"]


def add_parser(subparsers: Any) -> None:
    """Declare the command."""
    parser = subparsers.add_parser("top", help="the widest tasks, with their shares")
    parser.add_argument(
        "--by", default="path", metavar="FIELD,...", help="what to rank (default: path)"
    )
    parser.add_argument("-n", "--limit", type=int, default=20, help="rows (default 20)")
    add_filters(parser)
    add_target(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Ask and print."""
    by = split_fields(args.by) or ("path",)
    with questions(args) as asked:
        rows = asked.totals(by, chosen_filter(args))["rows"]
    print_top(rows, by, args.limit)
    return 0


def print_top(rows: Sequence[dict[str, Any]], by: Sequence[str], limit: int) -> None:
    """Rank rows of `totals` by tokens; what is not shown is summed up in the last line."""
    from whyflame.cli.tables import console, count, money, seconds, share, table

    whole = sum(_tokens(row) for row in rows)
    made = table(
        "tokens", "share", "cost", "self time", "calls", "tools", "failed", *by, numbers=range(7)
    )
    for row in rows[:limit]:
        made.add_row(
            count(_tokens(row)),
            share(_tokens(row), whole),
            money(row["cost_usd"]),
            seconds(row["duration_seconds"]),
            count(row["llm_calls"]),
            count(row["tool_calls"]),
            count(row["llm_errors"] + row["tool_errors"]),
            *("-" if row[field] is None else str(row[field]) for field in by),
        )
    out = console()
    out.print(made)
    rest = rows[limit:]
    if rest:
        hidden = sum(_tokens(row) for row in rest)
        out.print(f"and {len(rest):,} more rows with {hidden:,} tokens")
    out.print(f"{whole:,} tokens in all")


def _tokens(row: dict[str, Any]) -> int:
    return int(row["input_tokens"] or 0) + int(row["output_tokens"] or 0)
