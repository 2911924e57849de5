"""`whyflame outbox`: profiles that wait for a backend or were given up."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from whyflame.cli.target import add_target, load_config, remote, store_dir
from whyflame.errors import NothingMatched, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from whyflame.serve.remote import RemoteQuestions
    from whyflame.store.duck import Store

_EVERY = 1_000_000

__all__ = ["add_parser", "run"]


def add_parser(subparsers: Any) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "outbox",
        help="list, retry or drop profiles that no backend has accepted",
        description="Lists what waits to be pushed and what was given up; retry sends it again, "
        "drop forgets it.",
    )
    parser.add_argument("action", nargs="?", choices=("list", "retry", "drop"), default="list")
    parser.add_argument("ids", nargs="*", type=int, metavar="ID", help="numbers from the list")
    parser.add_argument("--all-dead", action="store_true", help="retry or drop all dead letters")
    parser.add_argument("--exporter", metavar="NAME", help="only of this exporter")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    add_target(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Do it in the store, or ask the server."""
    with _outbox(args) as outbox:
        if args.action == "list":
            _show(outbox.outbox(args.exporter, None, _EVERY), args.format)
            return 0
        ids = list(args.ids)
        if args.all_dead:
            ids += [row["id"] for row in outbox.outbox(args.exporter, "dead", _EVERY)]
        if not ids and args.all_dead:
            raise NothingMatched("the outbox holds no dead letters")
        if not ids:
            raise UsageError(f"outbox {args.action}: give numbers, or --all-dead")
        count = outbox.change_outbox(args.action, ids)
    print(f"{args.action}: {count:,} profiles")
    return 0


class _StoredOutbox:
    """The outbox of a store that is not in use, asked like a server."""

    def __init__(self, store: Store, tenant: str) -> None:
        self._store, self._tenant = store, tenant or None

    def outbox(self, exporter: str | None, state: str | None, limit: int) -> list[dict[str, Any]]:
        """See `RemoteQuestions`; of all tenants when none was named."""
        from whyflame.store.outbox_letters import letter_rows, list_letters

        return letter_rows(
            list_letters(
                self._store, exporter=exporter, state=state, limit=limit, tenant=self._tenant
            )
        )

    def change_outbox(self, action: str, ids: Sequence[int]) -> int:
        """See `RemoteQuestions`."""
        from whyflame.store.outbox_letters import drop_letters, retry_letters

        change = retry_letters if action == "retry" else drop_letters
        return change(self._store, ids, time.time_ns(), self._tenant)


@contextmanager
def _outbox(args: argparse.Namespace) -> Iterator[_StoredOutbox | RemoteQuestions]:
    if args.data_dir and args.url:
        raise UsageError("give --data-dir or --url, not both")
    if not args.data_dir:
        yield remote(args)
        return
    from whyflame.app.opening import open_store

    store = open_store(store_dir(args), load_config(args))
    try:
        yield _StoredOutbox(store, args.tenant)
    finally:
        store.close()


def _show(rows: Sequence[dict[str, Any]], form: str) -> None:
    if form == "json":
        print(json.dumps(rows, indent=1, ensure_ascii=False))
        return
    if not rows:
        raise NothingMatched("the outbox is empty: nothing waits and nothing was given up")
    print(f"{'id':>8}  {'exporter':12}  {'state':8}  {'bytes':>9}  {'reason':14}  series")
    for row in rows:
        labels = {name: value for name, value in row["labels"].items() if name != "__name__"}
        series = ", ".join(f"{name}={value}" for name, value in labels.items())
        print(
            f"{row['id']:>8}  {row['exporter'][:12]:12}  {row['state']:8}  {row['size']:>9,}  "
            f"{row['reason'][:14]:14}  {series}"
        )
