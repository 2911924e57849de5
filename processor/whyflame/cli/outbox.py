"""`whyflame outbox`: profiles that wait for a backend or were given up."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from whyflame.errors import NothingMatched, UsageError

if TYPE_CHECKING:
    import argparse

    from whyflame.store.outbox_letters import Letter

__all__ = ["add_parser", "run"]


def add_parser(subparsers: Any) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "outbox", help="list, retry or drop profiles that no backend has accepted"
    )
    parser.add_argument("action", nargs="?", choices=("list", "retry", "drop"), default="list")
    parser.add_argument("ids", nargs="*", type=int, metavar="ID", help="numbers from the list")
    parser.add_argument("--all-dead", action="store_true", help="retry or drop all dead letters")
    parser.add_argument("--exporter", metavar="NAME", help="only of this exporter")
    parser.add_argument("--data-dir", metavar="DIR", required=True, help="a store not in use")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Do it in the store."""
    from whyflame.app import open_store
    from whyflame.cli.target import data_dir, load_config
    from whyflame.store.outbox_letters import drop_letters, list_letters, retry_letters

    store = open_store(data_dir(args), load_config(args))
    try:
        if args.action == "list":
            _show(list_letters(store, exporter=args.exporter), args.format)
            return 0
        ids = list(args.ids)
        if args.all_dead:
            dead = list_letters(store, exporter=args.exporter, state="dead", limit=1 << 40)
            ids += [letter.id for letter in dead]
        if not ids:
            raise UsageError(f"outbox {args.action}: give numbers, or --all-dead")
        change = retry_letters if args.action == "retry" else drop_letters
        count = change(store, ids, time.time_ns())
    finally:
        store.close()
    print(f"{args.action}: {count:,} profiles")
    return 0


def _show(letters: list[Letter], form: str) -> None:
    if form == "json":
        fields = ("id", "exporter", "tenant", "time_ns", "created_ns", "size", "samples", "state",
                  "reason")  # fmt: skip
        rows = [{name: getattr(letter, name) for name in fields} for letter in letters]
        for row, letter in zip(rows, letters, strict=True):
            row["labels"] = dict(json.loads(letter.series))
        print(json.dumps(rows, indent=1))
        return
    if not letters:
        raise NothingMatched("the outbox is empty: everything was delivered")
    print(f"{'id':>8}  {'exporter':12}  {'state':8}  {'bytes':>9}  {'reason':14}  series")
    for letter in letters:
        labels = dict(json.loads(letter.series))
        labels.pop("__name__", None)
        series = ", ".join(f"{name}={value}" for name, value in labels.items())
        print(
            f"{letter.id:>8}  {letter.exporter[:12]:12}  {letter.state:8}  {letter.size:>9,}  "
            f"{letter.reason[:14]:14}  {series}"
        )
