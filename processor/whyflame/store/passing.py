"""Which operations can show a frame: a condition on ids, so that few rows have to be folded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.fields import FIELDS
from whyflame.fold.frames import UNKNOWN_FRAME, clean_frame
from whyflame.fold.names import Role, role_of
from whyflame.fold.waits import WAIT_FRAME
from whyflame.fold.where import Fragment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whyflame.fold.projection import Projection
    from whyflame.store.readable import Readable

__all__ = ["passing"]


def passing(store: Readable, projection: Projection, frame: str) -> Fragment | None:
    """SQL that is true for exactly the operations whose stack holds the frame somewhere.

    Args:
        store: Its dictionaries are searched.
        projection: Whose stacks. frame: As it is shown.

    Returns:
        None where frames come from something else than the dictionaries.
    """
    stack = projection.stack
    roles = {role_of(field) for field in stack}
    if projection.waits and frame == WAIT_FRAME:
        return None
    if frame == UNKNOWN_FRAME or roles - {Role.STRING, Role.PATH, Role.TASK}:
        return None
    tests = [f"{FIELDS[field].column} IN ({_listed(_ids(store, field, frame))})" for field in stack]
    return Fragment(f"({' OR '.join(tests)})")


def _ids(store: Readable, field: str, frame: str) -> Iterable[int]:
    shows = _shower(field, frame)
    match role_of(field):
        case Role.PATH:
            return [n for n, names in store.paths.items() if names and any(map(shows, names))]
        case Role.TASK:
            return [n for n, names in store.paths.items() if names and shows(names[-1])]
        case _:
            return [n for n, text in store.strings.items() if text is not None and shows(text)]


def _shower(field: str, frame: str) -> Callable[[str], bool]:
    """Whether a stored name is shown as the frame; most are shown as they are."""
    is_plain = clean_frame(frame, field) == frame

    def shows(text: str) -> bool:
        if text == frame:
            return is_plain
        # Cleaning keeps what is short, printable and not reserved.
        return not _is_kept(text) and clean_frame(text, field) == frame

    return shows


def _is_kept(text: str) -> bool:
    return (
        text.isprintable()
        and len(text) < _SURELY_SHORT
        and text == text.strip()
        and text not in _NAMED
    )


_SURELY_SHORT = 1000
_NAMED = ("other", "total")


def _listed(ids: Iterable[int]) -> str:
    """The store's own integers; a list that nothing is in where there are none."""
    return ", ".join(map(str, ids)) or "NULL"
