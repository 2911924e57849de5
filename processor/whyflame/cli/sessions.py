"""`whyflame sessions` and `whyflame session ID`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from whyflame.cli.target import add_filters, add_limit, add_target, chosen_filter, questions
from whyflame.errors import NothingMatched

if TYPE_CHECKING:
    import argparse

__all__ = ["add_parser", "run_list", "run_one"]


def add_parser(subparsers: Any) -> None:
    """Declare both commands."""
    parser = subparsers.add_parser(
        "sessions",
        help="sessions, newest first",
        description="Lists sessions with goal, outcome, tokens and cost. Example: whyflame sessions "
        "--where outcome=failure --since 1d",
    )
    add_limit(parser, 50)
    parser.add_argument("--format", choices=("table", "json"), default="table")
    add_filters(parser)
    add_target(parser)
    parser.set_defaults(run=run_list)
    one = subparsers.add_parser(
        "session",
        help="one session: lanes, tasks and steps in order",
        description="Shows the runs of one session as a tree: lanes, the tasks found in them with "
        "what they cost, and every step.",
    )
    one.add_argument("session", metavar="ID")
    one.add_argument("--format", choices=("tree", "json"), default="tree")
    add_target(one)
    one.set_defaults(run=run_one)


def run_list(args: argparse.Namespace) -> int:
    """List sessions."""
    chosen = chosen_filter(args)
    with questions(args) as asked:
        answer = asked.sessions(chosen, args.limit)
    if chosen.is_set and not answer["sessions"]:
        raise NothingMatched("no session has an operation that matches these filters")
    if args.format == "json":
        print(json.dumps(answer, indent=2, ensure_ascii=False))
        return 0
    from whyflame.cli.tables import (
        NOTHING_YET,
        console,
        count,
        fitted,
        moment,
        money,
        number_of,
        table,
    )

    if not answer["sessions"]:
        print(NOTHING_YET)
        return 0
    made = table(
        "ended (UTC)", "session", "agents", "goal", "outcome", "operations", "tokens", "cost",
        "failed", numbers=range(5, 9),
    )  # fmt: skip
    for row in answer["sessions"]:
        made.add_row(
            moment(row["end_ns"]),
            row["session"],
            ", ".join(row["agents"]),
            row["root"] or "-",
            row["outcome"] or "-",
            count(row["operations"]),
            count(row["tokens"]),
            money(row["cost_usd"]),
            count(row["errors"]),
        )
    for position in (0, 4):  # moments and outcomes are read whole
        made.columns[position].no_wrap = True
    out = console()
    spare = ("operations", "agents", "failed", "ended (UTC)", "cost")
    out.print(fitted(made, out, spare))
    if answer["not_shown"]:
        out.print(f"{number_of(answer['not_shown'], 'older session')} not shown (--limit)")
    return 0


def run_one(args: argparse.Namespace) -> int:
    """Show one session."""
    with questions(args) as asked:
        answer = asked.session(args.session, args.tenant)
    if args.format == "json":
        print(json.dumps(answer, indent=2, ensure_ascii=False))
        return 0
    from whyflame.cli.session_tree import run_tree
    from whyflame.cli.tables import console

    for run in answer["runs"]:
        console().print(run_tree(answer["session"], run))
    return 0
