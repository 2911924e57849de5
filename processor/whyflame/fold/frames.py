"""Text of frames and labels: from ids of the dictionary to what people read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from whyflame.fields import TOKEN_PARTS
from whyflame.fold.names import Role

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from whyflame.fold.projection import Column

__all__ = [
    "MAX_FRAME_BYTES",
    "UNKNOWN_FRAME",
    "Dictionary",
    "clean_frame",
    "column_frames",
    "cut_text",
    "frames_of",
    "label_by_id",
    "names_by_id",
    "read_once",
]

MAX_FRAME_BYTES = 4096
"""Longer names are cut; far below what any backend refuses (65,535 bytes)."""

UNKNOWN_FRAME = "unknown"
"""The only frame of a stack none of whose fields is known, so that its width is not lost."""

_T = TypeVar("_T")

_UNKNOWN = -1  # what the query gives for NULL
_SHORT = MAX_FRAME_BYTES // 4  # characters that fit whatever they are
_RESERVED = frozenset({"other", "total"})


class Dictionary(Protocol):
    """The dictionary tables of the store, read for the ids of one result only."""

    def strings(self, ids: Collection[int]) -> Mapping[int, str]:
        """Values of `strings` for these ids; what is not there may be left out."""
        ...

    def paths(self, ids: Collection[int]) -> Mapping[int, Sequence[str]]:
        """Names of `paths` for these ids, outermost first."""
        ...


@dataclass(frozen=True, slots=True)
class _Known:
    """What was read of the dictionary tables."""

    by_string: Mapping[int, str]
    by_path: Mapping[int, Sequence[str]]

    def strings(self, ids: Collection[int]) -> Mapping[int, str]:
        return _only(self.by_string, ids)

    def paths(self, ids: Collection[int]) -> Mapping[int, Sequence[str]]:
        return _only(self.by_path, ids)


def _only(known: Mapping[int, _T], ids: Collection[int]) -> Mapping[int, _T]:
    if len(known) == len(ids) and all(map(known.__contains__, ids)):
        return known  # the usual case: one column of its kind, and nothing missing
    return {number: known[number] for number in ids if number in known}


def read_once(
    columns: Sequence[Column], ids: Sequence[Iterable[Any]], dictionary: Dictionary
) -> Dictionary:
    """The dictionary tables for the values of all columns, a statement each instead of one a column."""
    by_role: dict[Role, set[int]] = {}
    for column, values in zip(columns, ids, strict=True):
        role = Role.PATH if column.role is Role.TASK else column.role
        by_role.setdefault(role, set()).update(values)
    strings, paths = (by_role.get(role, set()) - {_UNKNOWN} for role in (Role.STRING, Role.PATH))
    return _Known(dictionary.strings(strings), dictionary.paths(paths))


def cut_text(text: str, max_bytes: int) -> str:
    """`text` within `max_bytes` of UTF-8, cut on a character boundary and marked with an ellipsis."""
    if len(text) * 4 <= max_bytes:
        return text
    data = text.encode()
    if len(data) <= max_bytes:
        return text
    return data[: max_bytes - 3].decode(errors="ignore") + "…"


def clean_text(text: str) -> str:
    """`text` as one printable line: control characters become blanks, what is no Unicode "?"."""
    if text.isprintable() and len(text) <= _SHORT and text[:1] != " " and text[-1:] != " ":
        return text
    text = text.encode(errors="replace").decode()
    text = "".join(char if char.isprintable() else " " for char in text)
    return cut_text(text.strip(), MAX_FRAME_BYTES)


@lru_cache(maxsize=1 << 13)
def clean_frame(text: str, field: str) -> str:
    """A frame that every reader can show.

    One called `other` or `total`, which Pyroscope gives a meaning of its own, names its field.
    """
    text = clean_text(text)
    if text in _RESERVED:
        return f"{text} ({'task' if field == 'path' else field})"
    return text


@dataclass(frozen=True, slots=True)
class ColumnFrames:
    """What the values of one column stand for.

    Attributes:
        names: Names by value, as stored; none for the unknown, several for a path.
        frames: Frame by name; "" where nothing is left to show.
    """

    names: Mapping[Any, Sequence[str]]
    frames: dict[str, str]

    def stack(self, value: Any) -> tuple[str, ...]:
        """Frames of one value."""
        frames = self.frames
        return tuple(frame for name in self.names[value] if (frame := frames[name]))

    @property
    def has_empty(self) -> bool:
        """Whether some value may show no frame at all."""
        return "" in self.frames.values() or not all(self.names.values())


def column_frames(column: Column, ids: Iterable[Any], dictionary: Dictionary) -> ColumnFrames:
    """Look up the values of a column; thousands of paths share names that are cleaned once."""
    names = names_by_id(column, list(ids), dictionary)
    distinct = set(chain.from_iterable(names.values()))
    return ColumnFrames(names, dict(zip(distinct, frames_of(column, distinct), strict=True)))


def frames_of(column: Column, names: Iterable[str]) -> list[str]:
    """The frame that each name of a column becomes; "" where nothing is left to show."""
    if column.role is Role.NUMBER:
        return [f"{column.field} {name}" for name in names]
    return [clean_frame(name, column.field) for name in names]


def label_by_id(column: Column, ids: Iterable[Any], dictionary: Dictionary) -> dict[Any, str]:
    """Label value that each value of a column stands for; empty for the unknown."""
    texts = names_by_id(column, list(ids), dictionary)
    return {key: clean_text(row[0]) if row else "" for key, row in texts.items()}


def names_by_id(
    column: Column, ids: Sequence[Any], dictionary: Dictionary
) -> Mapping[Any, Sequence[str]]:
    """Names of each value of a column, as stored: none for the unknown, several for a path."""
    if column.role is Role.TEXT:
        return {text: (text,) if text else () for text in ids}
    known = [number for number in ids if number >= 0]
    texts = _names_of(column.role, known, dictionary)
    if len(texts) == len(ids):
        return texts  # the usual case: thousands, and all of them known
    return {**dict.fromkeys(ids, ()), **texts}


def _names_of(
    role: Role, known: Sequence[int], dictionary: Dictionary
) -> Mapping[Any, Sequence[str]]:
    """Names of the values that are something; what the dictionary lacks is left out."""
    match role:
        case Role.STRING:
            return {number: (text,) for number, text in dictionary.strings(known).items()}
        case Role.NUMBER:
            return {number: (str(number),) for number in known}
        case Role.PATH:
            return dictionary.paths(known)
        case Role.TASK:
            return {number: names[-1:] for number, names in dictionary.paths(known).items()}
        case _:
            return {number: (TOKEN_PARTS[number],) for number in known}
