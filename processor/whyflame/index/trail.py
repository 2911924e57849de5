"""What a process that ends without a word leaves behind, so that the next one does not end the same way.

A request can end the process that reads it: by more memory than a container has, or a fault in native
code. Started again it would read the same request first, for ever. So starts at the same place
are counted; after some, requests are taken one by one, and which one was in hand is known then.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from whyflame.journal import Frame, Position

__all__ = ["Trail"]

# A kill or two at the same place are chance: by hand, or for what others do in the process.
_STARTS, _ENDS = 3, 2


@dataclass(slots=True)
class _Left:
    """Content of the file.

    Attributes:
        at: Where the store stood. starts: So many processes began there.
        in_hand: The request that is being read, where they are read one by one; empty for none.
        blamed: The one that was in hand when a process ended. ends: So many ended with it.
    """

    at: dict[str, list[int]]
    starts: int = 0
    in_hand: str = ""
    blamed: str = ""
    ends: int = 0

    def blame(self) -> None:
        """Whatever is in hand has ended a process."""
        if self.in_hand:
            self.ends = self.ends + 1 if self.in_hand == self.blamed else 1
            self.blamed, self.in_hand = self.in_hand, ""


class Trail:
    """Not thread-safe. A full disk costs what was to be remembered, nothing else.

    Args:
        path: A file of its own; absent while all is well.
        positions: Where the store stands now.
    """

    def __init__(self, path: Path, positions: Mapping[str, Position]) -> None:
        self._path = path
        at = {name: [place.segment, place.offset] for name, place in positions.items()}
        left = _read(path)
        self._left = left if left is not None and left.at == at else _Left(at)
        self._has_begun = self._is_over = False

    def begin(self) -> bool:
        """Call before something is read; True when requests should be taken one by one."""
        if not self._has_begun and not self._is_over:
            self._has_begun = True
            self._left.starts += 1
            self._left.blame()
            self._write()
        return self._is_suspect

    def take_up(self, frame: Frame) -> bool:
        """Remember that a request is in hand; False when processes ended with it: leave it alone."""
        if not self._is_suspect:
            return True
        left, place = self._left, frame.position_after
        name = f"{frame.stream} {place.segment} {place.offset}"
        if name == left.blamed and left.ends >= _ENDS:
            return False
        left.in_hand = name
        self._write()
        return True

    def let_go(self) -> None:
        """The request in hand did no harm."""
        if self._is_suspect:
            self._left.in_hand = ""
            self._write()

    def end(self) -> None:
        """What was read first is stored: nothing is remembered."""
        if not self._is_over:
            self._is_over = True
            with suppress(OSError):
                self._path.unlink(missing_ok=True)

    @property
    def _is_suspect(self) -> bool:
        return not self._is_over and self._left.starts > _STARTS

    def _write(self) -> None:
        fresh = self._path.with_suffix(".new")
        with suppress(OSError):
            fresh.write_text(json.dumps(asdict(self._left)), encoding="utf-8")
            fresh.replace(self._path)


def _read(path: Path) -> _Left | None:
    try:
        return _Left(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
