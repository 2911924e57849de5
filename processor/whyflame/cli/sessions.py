"""`whyflame sessions` and `whyflame session ID`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from whyflame.cli.target import add_filters, add_target, chosen_filter, questions
from whyflame.errors import NothingMatched

if TYPE_CHECKING:
    import argparse

    from rich.tree import Tree

__all__ = ["add_parser", "run_list", "run_one"]


def add_parser(subparsers: Any) -> None:
    """Declare both commands."""
    parser = subparsers.add_parser(
        "sessions",
        help="sessions, newest first",
        description="Lists sessions with goal, outcome, tokens and cost. Example: whyflame sessions "
        "--where outcome=failure --since 1d",
    )
    parser.add_argument("-n", "--limit", type=int, default=50, help="rows (default 50)")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    add_filters(parser)
    add_target(parser)
    parser.set_defaults(run=run_list)
    one = subparsers.add_parser(
        "session",
        help="one session: lanes, tasks and steps in order",
        description="Shows the runs of one session as a tree: lanes, the tasks found in them, and "
        "every step.",
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
    from whyflame.cli.tables import NOTHING_YET, console, count, moment, money, table

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
    out = console()
    out.print(made)
    if answer["not_shown"]:
        out.print(f"{answer['not_shown']:,} older sessions are not shown (--limit)")
    return 0


def run_one(args: argparse.Namespace) -> int:
    """Show one session."""
    with questions(args) as asked:
        answer = asked.session(args.session, args.tenant)
    if args.format == "json":
        print(json.dumps(answer, indent=2, ensure_ascii=False))
        return 0
    from whyflame.cli.tables import console

    for run in answer["runs"]:
        console().print(_run_tree(answer["session"], run))
    return 0


def _run_tree(session: str, run: dict[str, Any]) -> Tree:
    """A run as lanes > intervals > operations."""
    from rich.markup import escape
    from rich.tree import Tree

    goal = f"  {run['root']}" if run["root"] else ""
    outcome = f"  [{run['outcome']}]" if run["outcome"] else ""
    tree = Tree(escape(f"{session}  run {run['run']}{goal}{outcome}"))
    for lane in run["lanes"]:
        title = lane["lane"] if not lane["agent"] else f"{lane['lane']}  agent {lane['agent']}"
        branch = tree.add(escape(title))
        open_path: list[tuple[str, Tree]] = []
        for op in lane["operations"]:
            node = _descend(branch, open_path, op["path"])
            node.add(escape(_line(op)))
    return tree


def _descend(branch: Tree, open_path: list[tuple[str, Tree]], path: list[str]) -> Tree:
    """The tree node of a path, going on with the intervals that are open already."""
    from rich.markup import escape

    same = 0
    while same < min(len(path), len(open_path)) and open_path[same][0] == path[same]:
        same += 1
    del open_path[same:]
    for name in path[same:]:
        parent = open_path[-1][1] if open_path else branch
        open_path.append((name, parent.add(escape(name))))
    return open_path[-1][1] if open_path else branch


def _line(op: dict[str, Any]) -> str:
    from whyflame.cli.tables import seconds

    parts = [op["name"] or op["kind"]]
    if op["tokens"] is not None:
        parts.append(f"{op['tokens']:,} tokens")
    if op["self_ns"] is not None:
        parts.append(seconds(op["self_ns"] / 1e9))
    if op["status"] == "error":
        parts.append(f"failed: {op['error_type'] or 'error'}")
    return "  ".join(parts)
