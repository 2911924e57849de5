"""`whyflame import`: files of telemetry, of agents' histories and of operations into the store."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyflame.cli.target import add_target, load_config, remote

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

__all__ = ["add_parser", "run"]

PROGRESS_SECONDS = 2.0


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
    captures = _read(args)
    if args.data_dir:
        from whyflame.app.offline import import_captures

        done = import_captures(
            Path(args.data_dir).expanduser(), load_config(args), captures, args.tenant
        )
        print(
            f"imported {done['requests']:,} requests: {done['stored']:,} new spans, "
            f"{done['repeated']:,} known already",
            file=sys.stderr,
        )
        return 0
    server, requests = remote(args), 0
    for signal, body in captures:
        server.ingest(signal, body)
        requests += 1
    print(f"handed {requests:,} requests to the server", file=sys.stderr)
    return 0


def _read(args: argparse.Namespace) -> Iterator[tuple[str, bytes]]:
    """The requests of all files; long imports tell how far they are."""
    from whyflame.errors import UsageError
    from whyflame.importers import VALUES, list_files, read_files

    if args.value is not None and args.value not in VALUES:
        raise UsageError(f"--value {args.value!r}: expected one of {', '.join(VALUES)}")
    files = list_files(Path(path).expanduser() for path in args.paths)
    progress = _Progress(len(files))
    return progress.watch(read_files(files, counts=args.value, begun=progress.begin))


class _Progress:
    """A line on stderr every few seconds, once an import takes long."""

    def __init__(self, files: int) -> None:
        self._files = files
        self._begun = self._requests = 0
        self._path = Path()
        self._told = time.monotonic()

    def begin(self, path: Path) -> None:
        """The next file."""
        self._begun += 1
        self._path = path
        self._tell()

    def watch(self, captures: Iterator[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
        """Hand the requests on, counted."""
        for capture in captures:
            yield capture
            self._requests += 1
            self._tell()

    def _tell(self) -> None:
        if time.monotonic() - self._told < PROGRESS_SECONDS:
            return
        self._told = time.monotonic()
        print(
            f"file {self._begun:,} of {self._files:,}, {self._requests:,} requests so far: "
            f"{self._path}",
            file=sys.stderr,
        )
