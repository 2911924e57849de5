"""What questions need of a store: the store itself, or one question's bounded view of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from whyflame.store.dictionary import Dictionary
    from whyflame.store.kept import Kept

__all__ = ["Cursor", "Readable", "Rows"]


class Rows(Protocol):
    """What a statement gave, read once."""

    def fetchall(self) -> list[Any]:
        """All rows."""

    def fetchone(self) -> tuple[Any, ...] | None:
        """The first row, None without any."""

    def fetchnumpy(self) -> dict[str, Any]:
        """The columns as numpy arrays, by name."""


class Cursor(Protocol):
    """Runs statements one after the other."""

    def execute(self, sql: str, params: list[Any] = ..., /) -> Rows:
        """Run one."""


class Readable(Protocol):
    """A store that is only read."""

    @property
    def strings(self) -> Dictionary:
        """The table `strings`."""

    @property
    def paths(self) -> Dictionary:
        """The table `paths`."""

    @property
    def kept(self) -> Kept:
        """What was found out and still holds."""

    def cursor(self) -> Cursor:
        """A cursor of its own."""

    def database_bytes(self) -> int:
        """Bytes on disk."""
