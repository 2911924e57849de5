"""The command line: one module a command, imported light, heavy work inside `run`."""

from __future__ import annotations

import argparse
import atexit
import gc
import io
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from whyflame import __version__
from whyflame.errors import UsageError, WhyflameError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["build_parser", "main"]

_MODULE_BY_COMMAND = {
    "serve": "serve",
    "demo": "demo",
    "import": "ingest",
    "send": "send",
    "segment": "segment",
    "totals": "totals",
    "profile": "profile",
    "top": "top",
    "sessions": "sessions",
    "session": "sessions",
    "diff": "diff",
    "eval": "eval",
    "outbox": "outbox",
    "doctor": "doctor",
    "journal": "journal",
    "forget": "forget",
    "config": "config",
    "completion": "completion",
}
"""Where each command lives, in the order of the help; a module may declare two neighbours."""

_EPILOG = """\
start here:
  whyflame demo                        see it work on bundled agent runs
  whyflame serve                       collect from your agents: OTLP on 127.0.0.1:4317 and :4318
  whyflame top                         what they spent it on; the page is http://127.0.0.1:4319/
exit codes: 0 done, 1 failed, 2 usage, 3 nothing matched
"""


def build_parser(command: str | None = None) -> argparse.ArgumentParser:
    """The command line as an argparse parser.

    Args:
        command: Know this one only: others need not be imported to run it. All when None.
    """
    parser = argparse.ArgumentParser(
        prog="whyflame",
        description="Flame graphs of why LLM agents spend tokens.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version", action=_ShowVersion, nargs=0, help="show program's version number and exit"
    )
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    wanted = _MODULE_BY_COMMAND.values() if command is None else [_MODULE_BY_COMMAND[command]]
    for module in dict.fromkeys(wanted):
        import_module(f"whyflame.cli.{module}").add_parser(subparsers)
    return parser


class _ShowVersion(argparse.Action):
    """Looks for the native part only when asked."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from whyflame import native

        print(f"whyflame {__version__} (native part {native.described()})")
        parser.exit()


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; errors end as one line on stderr and an exit code."""
    words = sys.argv[1:] if argv is None else argv
    # Help and mistakes need every command; a command that stands first needs none but itself.
    command = words[0] if words and words[0] in _MODULE_BY_COMMAND else None
    parser = build_parser(command)
    if not words:
        parser.print_help(sys.stderr)
        return UsageError.exit_code
    args = parser.parse_args(words)
    _write_what_the_terminal_can()
    if argv is None:
        # Python looks for garbage once more as it ends: 6 ms over all that was imported.
        atexit.register(gc.freeze)
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
        print(f"whyflame: {_told(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _write_what_the_terminal_can() -> None:
    """A character that the locale does not know is escaped; it ends no command half-way."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _told(error: OSError) -> str:
    """`name: what is wrong with it`, without the number that the system gives it."""
    if error.filename is None or not error.strerror:
        return str(error)
    return f"{error.filename}: {error.strerror}"
