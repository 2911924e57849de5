"""What segmenting asks about what was settled before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from whyflame.store.exported import exported_paths
from whyflame.store.marks import LaneName, MarkRow, newest_marks

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from whyflame.store.duck import Store

__all__ = ["Past", "StorePast"]


class Past(Protocol):
    """Answers from the store, wherever that is."""

    def marks(self, sessions: Collection[tuple[str, str]]) -> Mapping[LaneName, MarkRow]:
        """See `newest_marks`."""
        ...

    def exported(self, wanted: Mapping[int, int]) -> Mapping[int, tuple[str, ...]]:
        """See `exported_paths`."""
        ...


class StorePast:
    """Of a store that is open here; one thread.

    Args:
        store: The open store.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._cursor = store.cursor()

    def marks(self, sessions: Collection[tuple[str, str]]) -> Mapping[LaneName, MarkRow]:
        """See `newest_marks`."""
        return newest_marks(self._store, self._cursor, sessions)

    def exported(self, wanted: Mapping[int, int]) -> Mapping[int, tuple[str, ...]]:
        """See `exported_paths`."""
        return exported_paths(self._store, self._cursor, wanted)
