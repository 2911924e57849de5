"""Where a command puts the file it made."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["write"]


def write(body: bytes, output: str) -> None:
    """Into the file of --output, with a word on stderr; to stdout where that is "-"."""
    if output == "-":
        sys.stdout.buffer.write(body)
        sys.stdout.flush()
        return
    Path(output).write_bytes(body)
    print(f"wrote {output} ({len(body):,} bytes)", file=sys.stderr)
