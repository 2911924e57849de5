"""Where a command puts the file it made."""

from __future__ import annotations

import sys
from pathlib import Path

from whyflame.errors import UsageError

__all__ = ["write"]

GZIP = b"\x1f\x8b"


def write(body: bytes, output: str) -> None:
    """Into the file of --output, with a word on stderr; to stdout where that is "-"."""
    if output == "-":
        if body.startswith(GZIP) and sys.stdout.isatty():
            raise UsageError("this format is not for a terminal: name a file with -o, or pipe it")
        sys.stdout.buffer.write(body)
        sys.stdout.flush()
        return
    Path(output).write_bytes(body)
    print(f"wrote {output} ({len(body):,} bytes)", file=sys.stderr)
