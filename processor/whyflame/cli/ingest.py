"""`whyflame import`: files of telemetry, of agents' histories and of operations into the store."""

from __future__ import annotations

import sys
import time
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyflame.cli.tables import number_of
from whyflame.cli.target import add_target, load_config, remote

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from whyflame.app.offline import Imported

__all__ = ["add_parser", "run"]

PROGRESS_SECONDS = 2.0
# Files that are passed over are named up to this number, then counted.
MOST_NAMED = 10


def add_parser(subparsers: Any) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "import",
        help="captures, coding agents' histories, operations into the store; safe to repeat",
        description="Reads OTLP captures (.binpb, .json, .jsonl), session files of Claude Code, "
        "Codex CLI and Gemini CLI, and operation JSONL; also gzipped, directories too. Importing "
        "the same file again, or after it grew, adds only what is new.",
    )
    parser.add_argument("paths", nargs="+", metavar="PATH")
    parser.add_argument(
        "--value",
        metavar="WHAT",
        help="what `value` counts in operation JSONL: operations, input_tokens, output_tokens, "
        "cache_read_tokens, cache_write_tokens, reasoning_tokens, seconds, milliseconds, "
        "nanoseconds",
    )
    add_target(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read every file, index, settle."""
    reading = _Reading(args)
    captures = reading.requests()
    if args.data_dir:
        from whyflame.app.offline import import_captures

        done = import_captures(
            Path(args.data_dir).expanduser(), load_config(args), captures, args.tenant
        )
        said = f"imported {number_of(reading.handed, 'request')}: {_spans(done)}"
    else:
        server = remote(args)
        for signal, body in captures:
            server.ingest(signal, body)
        said = (
            f"handed {number_of(reading.handed, 'request')} to the server, to be seen in half a "
            "minute or after `whyflame segment`"
        )
    _say(said + reading.metrics())
    return 0


def _spans(done: Imported) -> str:
    said = f"{number_of(done.stored, 'new span')}, {done.repeated:,} known already"
    return said + f"; {done.dropped:,} more without agent work, not kept" * bool(done.dropped)


class _Reading:
    """The requests of all files, and what is to be said meanwhile and afterwards.

    A line on stderr every few seconds, once it takes long; a line for each file that is passed
    over, up to a number.
    """

    def __init__(self, args: argparse.Namespace) -> None:
        from whyflame.errors import UsageError
        from whyflame.importers import VALUES, list_files

        if args.value is not None and args.value not in VALUES:
            raise UsageError(f"--value {args.value!r}: expected one of {', '.join(VALUES)}")
        self.handed = 0
        self._value = args.value
        self._paths = args.paths
        self._listed = list_files(Path(path).expanduser() for path in args.paths)
        self._begun = self._metrics = self._passed_over = 0
        self._path = Path()
        self._told = time.monotonic()

    def requests(self) -> Iterator[tuple[str, bytes]]:
        """(signal, protobuf bytes), of metrics none.

        Raises:
            NothingMatched: Nothing of it can be imported; before anything is done with the others.
        """
        from whyflame.errors import NothingMatched
        from whyflame.importers import KNOWN, read_files

        found = self._count(
            read_files(
                self._listed.files,
                counts=self._value,
                begun=self._begin,
                passed_over=self._pass_over,
            )
        )
        first = next(found, None)
        if first is None:
            where = ", ".join(self._paths)
            raise NothingMatched(f"nothing to import in {where}{self.metrics()}; known are {KNOWN}")
        return chain([first], found)

    def metrics(self) -> str:
        """Requests that are not stored, where there were some."""
        return f"; {self._metrics:,} of metrics, not stored" * bool(self._metrics)

    def _count(self, captures: Iterator[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
        for signal, body in captures:
            if signal == "metrics":
                self._metrics += 1
                continue
            self.handed += 1
            yield signal, body
            self._tell()
        self._sum_up()

    def _begin(self, path: Path) -> None:
        """The next file."""
        self._begun += 1
        self._path = path
        self._tell()

    def _tell(self) -> None:
        if time.monotonic() - self._told < PROGRESS_SECONDS:
            return
        self._told = time.monotonic()
        _say(
            f"file {self._begun:,} of {len(self._listed.files):,}, {self.handed:,} requests so "
            f"far: {self._path}"
        )

    def _pass_over(self, path: Path, why: str) -> None:
        self._passed_over += 1
        if self._passed_over <= MOST_NAMED:
            _say(f"passed over {path}: {why}")

    def _sum_up(self) -> None:
        """How many files were passed over without being named."""
        if self._passed_over > MOST_NAMED:
            _say(f"passed over {self._passed_over - MOST_NAMED:,} more of no known kind")
        if self._listed.others:
            _say(
                f"passed over {number_of(self._listed.others, 'file')} of other names than .binpb, "
                ".json, .jsonl, .ndjson and .wfj, with or without .gz"
            )


def _say(line: str) -> None:
    print(line, file=sys.stderr)
