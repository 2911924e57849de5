"""Where a question goes: a store not in use, or a running server."""

from __future__ import annotations

import gc
import threading
import time
from argparse import SUPPRESS, ArgumentTypeError
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from whyflame.errors import NothingMatched, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from whyflame.config import Config
    from whyflame.serve.questions import Filter, Questions
    from whyflame.serve.remote import RemoteQuestions
    from whyflame.store.duck import Store

DEFAULT_URL = "http://127.0.0.1:4319"
_ASKING = "whyflame.serve.store_questions"


def add_target(parser: argparse.ArgumentParser) -> None:
    """Options that choose the store or the server."""
    group = parser.add_argument_group("where to ask")
    group.add_argument("--data-dir", metavar="DIR", help="a store that no server is using")
    group.add_argument(
        "--url", metavar="URL", help=f"a running server (default {DEFAULT_URL} without --data-dir)"
    )
    group.add_argument("--token-file", metavar="F", help="file with the server's bearer token")
    group.add_argument("--tenant", metavar="T", default="", help="whose data; none by default")
    group.add_argument("--config", metavar="F", help="own views and fields, of a --data-dir")


def refuse_target(parser: argparse.ArgumentParser, why: str, *options: str) -> None:
    """Where a store or a server means nothing: `options` are taken, and answered with the reason.

    Args:
        parser: Of the command. why: What it reads instead, and what to do.
        options: Of `--data-dir` and `--url` those it does not take; both when none is named.
    """
    names = options or ("--data-dir", "--url")
    parser.epilog = f"No {' or '.join(names)} here: {why}"
    for name in names:
        parser.add_argument(name, type=partial(_refuse, why), metavar="", help=SUPPRESS)


def _refuse(why: str, _value: str) -> str:
    raise ArgumentTypeError(why)


def load_config(args: argparse.Namespace) -> Config:
    """The configuration named by --config, else defaults."""
    from whyflame.config import Config, load

    return load(Path(args.config)) if getattr(args, "config", None) else Config()


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Options that choose operations."""
    group = parser.add_argument_group("which operations")
    group.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="F=V",
        help="field=value, field!=value or field=~regex; repeat for more (all must hold)",
    )
    group.add_argument("--since", metavar="T", help="ended at or after: RFC 3339, now-1h, 7d")
    group.add_argument("--until", metavar="T", help="ended before")


def add_waits(parser: argparse.ArgumentParser) -> None:
    """The option that shows waiting, too."""
    from argparse import BooleanOptionalAction

    parser.add_argument(
        "--waits",
        action=BooleanOptionalAction,
        help="show waiting for the user between turns as a frame too; else as the view says",
    )


def add_limit(parser: argparse.ArgumentParser, default: int) -> None:
    """The option that says how many rows are shown."""
    parser.add_argument(
        "-n", "--limit", type=_rows, default=default, help=f"rows (default {default})"
    )


def _rows(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if not number:
        raise ArgumentTypeError(f"{text!r} is not a number of rows: give 1 or more")
    return number


def data_dir(args: argparse.Namespace) -> Path:
    """The directory of --data-dir, which must exist."""
    directory = Path(args.data_dir).expanduser()
    if not directory.is_dir():
        raise UsageError(f"--data-dir {directory}: no such directory")
    return directory


def store_dir(args: argparse.Namespace) -> Path:
    """The directory of --data-dir, which must hold a store.

    Raises:
        NothingMatched: It holds none; a question must not make one where nobody meant it.
    """
    from whyflame.app.opening import DATABASE

    directory = data_dir(args)
    if not (directory / DATABASE).exists():
        raise NothingMatched(
            f"no store in {directory} ({DATABASE} is not there): `whyflame serve` says at its start "
            "where its data are, `whyflame import --data-dir` makes one"
        )
    return directory


@contextmanager
def questions(args: argparse.Namespace, *modules: str) -> Iterator[Questions]:
    """Whoever answers: the store of --data-dir, or the server of --url.

    Args:
        args: The command line.
        modules: What this question will need, to be read while the store opens.
    """
    if args.data_dir and args.url:
        raise UsageError("give --data-dir or --url, not both")
    if not args.data_dir:
        yield remote(args)
        return
    # Looking for garbage among the rows of an answer takes a tenth of the command and finds none.
    gc.disable()
    try:
        store, asking = _opened(args, modules)
        try:
            yield asking
        finally:
            store.close()
    finally:
        gc.enable()


def _opened(args: argparse.Namespace, modules: tuple[str, ...]) -> tuple[Store, Questions]:
    """The store of --data-dir, and who answers from it."""
    from whyflame.app.opening import open_store

    config, directory = load_config(args) if args.config else None, store_dir(args)
    # DuckDB opens without Python's lock: meanwhile a thread reads the modules that will ask it.
    # Not the other way round: glibc gives threads their memory page by page, and DuckDB takes much.
    reading = threading.Thread(target=_read_modules, args=(_ASKING, *modules))
    reading.start()
    try:
        store = open_store(directory, config, to_read=True)
    finally:
        reading.join()
    from whyflame.config.asking import AskingConfig
    from whyflame.serve.store_questions import StoreQuestions

    return store, StoreQuestions(store, config or AskingConfig(), time.time_ns)


def _read_modules(*names: str) -> None:
    for name in names:
        import_module(name)


def chosen_filter(args: argparse.Namespace) -> Filter:
    """The filter that --where, --since and --until describe."""
    from whyflame.serve.questions import Filter

    return Filter(tuple(args.where), args.since, args.until, tenant=args.tenant)


def split_fields(text: str) -> tuple[str, ...]:
    """Field names of a comma-separated option."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def remote(args: argparse.Namespace) -> RemoteQuestions:
    """The server of --url."""
    from whyflame.config import read_secret
    from whyflame.serve.remote import RemoteQuestions

    if args.config:
        raise UsageError("--config goes with --data-dir: a server has its own configuration")
    token = read_secret(args.token_file) if args.token_file else None
    return RemoteQuestions(args.url or DEFAULT_URL, token, args.tenant)
