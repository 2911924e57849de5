"""File formats by name and by file name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from whyflame.errors import UsageError
from whyflame.fold import folded, json, pprof, speedscope
from whyflame.fold.names import unknown_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from whyflame.fold.profile import Profile

__all__ = ["ENCODINGS", "Encoding", "encode_by_name", "format_of"]


@dataclass(frozen=True, slots=True)
class Encoding:
    """A file format.

    Attributes:
        encode: Profile to the bytes of a file.
        media_type: For HTTP.
        endings: Of file names, most specific first.
    """

    encode: Callable[[Profile], bytes]
    media_type: str
    endings: tuple[str, ...]


def _encode_svg(profile: Profile) -> bytes:
    # Drawing needs numpy, which the other formats do without.
    from whyflame.fold import svg

    return svg.encode(profile)


def _encode_tree(profile: Profile) -> bytes:
    from whyflame.fold import compact

    return compact.encode(profile)


ENCODINGS: dict[str, Encoding] = {
    "pprof": Encoding(pprof.encode, "application/octet-stream", (".pb.gz", ".pb", ".pprof")),
    "folded": Encoding(
        folded.encode, "text/plain; charset=utf-8", (".folded", ".collapsed", ".txt")
    ),
    "speedscope": Encoding(speedscope.encode, "application/json", (".speedscope.json",)),
    "tree": Encoding(_encode_tree, "application/json", (".tree.json",)),
    "json": Encoding(json.encode, "application/json", (".json",)),
    "svg": Encoding(_encode_svg, "image/svg+xml", (".svg",)),
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
    raise UsageError(f"cannot tell a format from {name!r}: name it, or use one of {endings}")
