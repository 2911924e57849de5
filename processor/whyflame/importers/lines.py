"""Lines of JSON from files that may still be written, and what values in them mean."""

from __future__ import annotations

import gzip
import json
import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from whyflame.errors import PermanentError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

__all__ = [
    "MOST_BYTES",
    "PassedOver",
    "as_count",
    "as_text",
    "first_line",
    "is_one_of",
    "last_part",
    "open_file",
    "read_lines",
    "time_of",
]

_LOG = logging.getLogger(__name__)
MOST_BYTES = 256 << 20
_NS = 1_000_000_000
_MOST_MS = 10**14
_MOST_COUNT = 10**12
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EARLIEST_NS = 946_684_800 * _NS  # 2000-01-01
_LATEST_NS = 4_102_444_800 * _NS  # 2100-01-01


class PassedOver(PermanentError):  # noqa: N818 - no fault, in a directory
    """A file is nothing to import: an error where it was named, no matter in a directory.

    Args:
        path: Of the file. why: What it lacks. advice: What would do, for a file that was named.
    """

    def __init__(self, path: Path, why: str, advice: str = "") -> None:
        super().__init__(f"{path}: {why}{advice}")
        self.path = path
        self.why = why


def open_file(path: Path) -> BinaryIO:
    """The file's bytes, inflated where its name says gzip."""
    if path.name.endswith(".gz"):
        return gzip.open(path, "rb")  # type: ignore[return-value]
    return path.open("rb")


def read_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object) of each line.

    A last line that was not finished yet is left for the next time; other lines that are no JSON
    objects are told and passed over.
    """
    number = 0
    with open_file(path) as file:
        while line := file.readline(MOST_BYTES + 1):
            number += 1
            if len(line) > MOST_BYTES:
                raise PermanentError(f"{path}: line {number}: larger than {MOST_BYTES} bytes")
            if not line.strip():
                continue
            try:
                found = json.loads(line)
            except (ValueError, RecursionError):
                if line.endswith(b"\n"):
                    _LOG.warning("%s: line %d: not JSON; passed over", path, number)
                continue
            if isinstance(found, dict):
                yield number, found
            else:
                _LOG.warning("%s: line %d: not an object; passed over", path, number)


def first_line(path: Path) -> Any:
    """The first JSON value of a file of lines, comments left out; None when there is none."""
    with open_file(path) as file:
        while line := file.readline(MOST_BYTES):
            if not line.strip() or line.lstrip().startswith(b"#"):
                continue
            try:
                return json.loads(line)
            except (ValueError, RecursionError):
                return None
    return None


def time_of(value: Any) -> int:
    """Nanoseconds of an ISO 8601 text, or of a number of seconds or milliseconds; 0 for others."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return 0
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        # In integers: a float of this size has no microseconds left.
        since = moment - _EPOCH
        return _possible((since.days * 86_400 + since.seconds) * _NS + since.microseconds * 1000)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < _MOST_MS:
        return 0
    return _possible(int(value * (_NS // 1000 if value > 10**11 else _NS)))


def _possible(time_ns: int) -> int:
    """The time; 0 for one that no agent can have worked at."""
    return time_ns if _EARLIEST_NS <= time_ns <= _LATEST_NS else 0


def as_count(value: Any) -> int | None:
    """A count; None for anything else, and for what nobody can have counted."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= _MOST_COUNT else None


def as_text(value: Any) -> str:
    """Text of a string, or of the text parts of a list; JSON of anything else."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(text for part in value if (text := _part_text(part)))
    return json.dumps(value, ensure_ascii=False)


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    text = part.get("text") if isinstance(part, dict) else None
    return text if isinstance(text, str) else ""


def is_one_of(value: Any, texts: frozenset[str]) -> bool:
    """Whether a value, of whatever type, is one of these texts."""
    return isinstance(value, str) and value in texts


def last_part(folder: Any) -> str | None:
    """Name of a folder, without where it lies."""
    if not isinstance(folder, str):
        return None
    return folder.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1] or None
