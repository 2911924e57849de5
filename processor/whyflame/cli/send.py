"""`whyflame send`: replay OTLP captures to an endpoint."""

from __future__ import annotations

import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyflame.cli.tables import number_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from whyflame.sending import Sender

__all__ = ["add_parser", "run"]


def add_parser(subparsers: Any) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "send",
        help="replay OTLP captures to an OTLP endpoint",
        description="Sends OTLP captures (.binpb, .json, .jsonl, also gzipped; directories too) to "
        "any OTLP endpoint, one request after the other, and repeats what is refused for now.",
    )
    parser.add_argument("paths", nargs="+", metavar="PATH")
    parser.add_argument(
        "--endpoint", required=True, metavar="E", help="host:port, http://... or https://..."
    )
    parser.add_argument("--protocol", choices=("grpc", "http"), default="grpc")
    parser.add_argument(
        "--shift-to",
        metavar="now|TIME",
        help="move all times by one amount so that the newest becomes now, an ISO 8601 time, or "
        "seconds since the epoch",
    )
    parser.add_argument(
        "--header", action="append", default=[], metavar="NAME=VALUE", help="may be repeated"
    )
    parser.add_argument("--token-file", metavar="FILE", help="file with a bearer token")
    parser.add_argument("--ca-file", default="", metavar="FILE", help="PEM CA of the endpoint")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Send everything; 1 when something was refused."""
    from whyflame.importers import read_captures
    from whyflame.sending import Sender, newest_time, shift_times

    paths = [Path(path) for path in args.paths]
    captures = _some(read_captures(paths), args.paths)
    if args.shift_to:
        # Read twice instead of held in memory: captures may be larger than it.
        newest = newest_time(read_captures(paths))
        if newest is not None:
            captures = shift_times(captures, newest, _target(args.shift_to))
    headers = _headers(args.header, args.token_file)
    with Sender(
        args.endpoint, protocol=args.protocol, headers=headers, ca_file=args.ca_file
    ) as sender:
        sender.on_wait = _tell_to_wait
        _send_all(sender, _with_progress(captures))
        return _report(sender)


def _some(captures: Iterator[tuple[str, bytes]], paths: list[str]) -> Iterable[tuple[str, bytes]]:
    """The captures, of which there is one at least: a wrong folder shows before anything is sent."""
    from whyflame.errors import NothingMatched

    first = next(captures, None)
    if first is None:
        raise NothingMatched(f"nothing to send in {', '.join(paths)}")
    return chain([first], captures)


def _send_all(sender: Sender, captures: Iterable[tuple[str, bytes]]) -> None:
    """Go on after a request that can never pass; stop when the endpoint does not answer."""
    from whyflame.errors import PermanentError

    for signal, body in captures:
        try:
            sender.send(signal, body)
        except PermanentError as error:
            print(f"whyflame: {error}", file=sys.stderr)


def _tell_to_wait(message: str) -> None:
    print(f"waiting for the endpoint, up to a minute a request: {message}", file=sys.stderr)


def _report(sender: Sender) -> int:
    counts = sender.counts
    line = f"sent {number_of(counts.accepted, 'request')}"
    if counts.retries:
        line += f", {counts.retries:,} repetitions"
    if counts.refused or counts.rejected_items:
        line += f"; refused {counts.refused:,} requests and {counts.rejected_items:,} items"
    print(line, file=sys.stderr)
    for message in counts.messages:
        print(f"  {message}", file=sys.stderr)
    return 1 if counts.refused or counts.rejected_items else 0


def _target(text: str) -> int | None:
    """`now` is None; else nanoseconds since the epoch."""
    from datetime import UTC, datetime

    from whyflame.errors import UsageError

    if text == "now":
        return None
    try:
        return int(float(text) * 1e9)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(
            f"--shift-to {text!r} is neither now, nor ISO 8601, nor seconds since the epoch"
        ) from error
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(moment.timestamp()) * 10**9 + moment.microsecond * 1000


def _headers(pairs: list[str], token_file: str | None) -> dict[str, str]:
    from whyflame.errors import UsageError

    headers: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"--header {pair!r} is not NAME=VALUE")
        headers[name.strip().lower()] = value.strip()
    if token_file:
        try:
            token = Path(token_file).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise UsageError(f"--token-file {token_file}: {error.strerror}") from error
        headers["authorization"] = f"Bearer {token}"
    return headers


def _with_progress(captures: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    """The captures, counted on a terminal."""
    if not sys.stderr.isatty():
        yield from captures
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(captures, "sending", console=Console(stderr=True), transient=True)
