"""The command line: one module a command, imported light, heavy work inside `run`."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from whyflame import __version__
from whyflame.cli import (
    completion,
    config,
    demo,
    diff,
    doctor,
    eval as evaluation,
    forget,
    ingest,
    journal,
    outbox,
    profile,
    segment,
    send,
    serve,
    sessions,
    top,
    totals,
)
from whyflame.errors import WhyflameError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["build_parser", "main"]

_COMMANDS = (
    serve,
    demo,
    ingest,
    send,
    segment,
    totals,
    profile,
    top,
    sessions,
    diff,
    evaluation,
    outbox,
    doctor,
    journal,
    forget,
    config,
    completion,
)

_EPILOG = """\
start here:
  whyflame demo                        see it work on bundled agent runs
  whyflame serve                       collect from your agents: OTLP on 127.0.0.1:4317 and :4318
  whyflame top --url http://127.0.0.1:4319
exit codes: 0 done, 1 failed, 2 usage, 3 nothing matched
"""


def build_parser() -> argparse.ArgumentParser:
    """The whole command line as an argparse parser."""
    parser = argparse.ArgumentParser(
        prog="whyflame",
        description="Flame graphs of why LLM agents spend tokens.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"whyflame {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in _COMMANDS:
        module.add_parser(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; errors end as one line on stderr and an exit code."""
    args = build_parser().parse_args(argv)
    try:
        return int(args.run(args))
    except WhyflameError as error:
        print(f"whyflame: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        # The reader of our output (head, a pager) has seen enough.
        # What is still buffered has nowhere to go, and must not fail at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        # A file or address that the user named; our own files raise errors with more to say.
        print(f"whyflame: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
