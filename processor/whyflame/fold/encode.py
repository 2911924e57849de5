"""File formats by name and by file name."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING

from whyflame.errors import UsageError
from whyflame.fold.names import unknown_name

if TYPE_CHECKING:
    from whyflame.fold.profile import Profile

__all__ = ["ENCODINGS", "Encoding", "encode_by_name", "format_of"]


@dataclass(frozen=True, slots=True)
class Encoding:
    """A file format.

    Attributes:
        module: Where its `encode` is; read when asked, since drawing needs numpy, others json.
        media_type: For HTTP.
        endings: Of file names, most specific first.
    """

    module: str
    media_type: str
    endings: tuple[str, ...]

    def encode(self, profile: Profile) -> bytes:
        """The bytes of a file."""
        encoded: bytes = import_module(self.module).encode(profile)
        return encoded


ENCODINGS: dict[str, Encoding] = {
    "pprof": Encoding(
        "whyflame.fold.pprof", "application/octet-stream", (".pb.gz", ".pb", ".pprof")
    ),
    "folded": Encoding(
        "whyflame.fold.folded", "text/plain; charset=utf-8", (".folded", ".collapsed", ".txt")
    ),
    "speedscope": Encoding("whyflame.fold.speedscope", "application/json", (".speedscope.json",)),
    "tree": Encoding("whyflame.fold.compact", "application/json", (".tree.json",)),
    "json": Encoding("whyflame.fold.json", "application/json", (".json",)),
    "svg": Encoding("whyflame.fold.svg", "image/svg+xml", (".svg",)),
}
"""Every format that `--format` accepts."""


def encode_by_name(profile: Profile, name: str) -> bytes:
    """The profile in the format called `name`.

    Raises:
        UsageError: There is no such format.
    """
    encoding = ENCODINGS.get(name)
    if encoding is None:
        raise unknown_name("format", name, ENCODINGS)
    return encoding.encode(profile)


def format_of(path: str | PurePath) -> str:
    """The format that a file's name asks for.

    Raises:
        UsageError: The name has no known ending.
    """
    name = PurePath(path).name.lower()
    for found, encoding in ENCODINGS.items():
        if name.endswith(encoding.endings):
            return found
    endings = ", ".join(ending for item in ENCODINGS.values() for ending in item.endings)
    raise UsageError(
        f"cannot tell a format from {name!r}: give --format, or a name that ends in one of {endings}"
    )
