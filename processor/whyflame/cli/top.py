"""`whyflame top`: the widest tasks in the terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from whyflame.cli.target import (
    add_filters,
    add_limit,
    add_target,
    chosen_filter,
    questions,
    split_fields,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from whyflame.serve.questions import Filter, Questions

__all__ = ["add_parser", "print_top", "run", "tokens_of", "widest"]

# As `totals --by path` joins the names of a path.
PATH_SEPARATOR = " > "


def add_parser(subparsers: Any) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "top",
        help="the widest tasks, with their shares",
        description="Ranks tasks by their tokens. Example: whyflame top --by agent,model --since 7d",
    )
    parser.add_argument(
        "--by",
        default="task",
        metavar="FIELD,...",
        help="what to rank; task (the default) counts everything inside it, nested tasks included",
    )
    add_limit(parser, 20)
    parser.add_argument("--format", choices=("table", "json"), default="table")
    add_filters(parser)
    add_target(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Ask and print."""
    by = split_fields(args.by) or ("task",)
    with questions(args) as asked:
        rows, whole = widest(asked, by, chosen_filter(args))
    if args.format == "json":
        _print_json(rows, whole, args.limit)
    elif rows:
        print_top(rows, whole, by, args.limit)
    else:
        from whyflame.cli.tables import NOTHING_YET

        print(NOTHING_YET)
    return 0


def widest(asked: Questions, by: Sequence[str], chosen: Filter) -> tuple[list[dict[str, Any]], int]:
    """Rows to rank and the tokens of all operations.

    Tasks nest, so that a task's row holds all that ran inside it; such rows do not add up.
    """
    if tuple(by) != ("task",):
        rows = asked.totals(tuple(by), chosen)["rows"]
        return rows, sum(tokens_of(row) for row in rows)
    rows = asked.totals(("path",), chosen)["rows"]
    tasks: dict[str, dict[str, Any]] = {}
    for row in rows:
        for name in dict.fromkeys((row["path"] or "").split(PATH_SEPARATOR)):
            _add(tasks.setdefault(name, {"task": name or None}), row)
    ranked = sorted(tasks.values(), key=lambda row: (-tokens_of(row), str(row["task"])))
    return ranked, sum(tokens_of(row) for row in rows)


def _print_json(rows: Sequence[dict[str, Any]], whole: int, limit: int) -> None:
    shown = [{**row, "tokens": tokens_of(row)} for row in rows[:limit]]
    answer = {"rows": shown, "tokens": whole, "not_shown": len(rows) - len(shown)}
    print(json.dumps(answer, indent=2, ensure_ascii=False))


def _add(into: dict[str, Any], row: dict[str, Any]) -> None:
    for key, value in row.items():
        if key != "path" and value is not None:
            into[key] = (into.get(key) or 0) + value


def print_top(rows: Sequence[dict[str, Any]], whole: int, by: Sequence[str], limit: int) -> None:
    """Rank rows by tokens; what is not shown is said."""
    from whyflame.cli.tables import console, count, fitted, money, number_of, seconds, share, table

    made = table(
        "tokens", "share", "cost", "self time", "calls", "tools", "failed", *by, numbers=range(7)
    )
    for row in rows[:limit]:
        made.add_row(
            count(tokens_of(row)),
            share(tokens_of(row), whole),
            money(row.get("cost_usd")),
            seconds(row.get("duration_seconds")),
            count(row["llm_calls"]),
            count(row["tool_calls"]),
            count(row["llm_errors"] + row["tool_errors"]),
            *("-" if row[field] is None else str(row[field]) for field in by),
        )
    out = console()
    out.print(fitted(made, out, ("tools", "calls", "self time", "failed", "cost")))
    hidden = f"; {number_of(len(rows) - limit, 'more row')} (--limit)" * (len(rows) > limit)
    out.print(f"{whole:,} tokens in all{hidden}")


def tokens_of(row: dict[str, Any]) -> int:
    """All tokens of a row of totals."""
    return int(row.get("input_tokens") or 0) + int(row.get("output_tokens") or 0)
