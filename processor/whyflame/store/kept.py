"""What was found out about a store and still holds: answers, and spans without their parent."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from copy import deepcopy
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

__all__ = ["Kept", "State"]

_T = TypeVar("_T")
State = tuple[int, ...]
"""See `store.state`."""

_ANSWERS = 64
_LATELY_SECONDS = 10


class Kept:
    """Belongs to an open store. Thread-safe.

    Attributes:
        orphans: See `store.orphans`; replaced as a whole.
    """

    def __init__(self) -> None:
        self._answers: OrderedDict[Hashable, tuple[State, object]] = OrderedDict()
        self._sizes: dict[str, tuple[float, int]] = {}
        self._lock = threading.Lock()
        self.orphans: tuple[int, tuple[int, ...] | None] = (-1, ())

    def clear(self) -> None:
        """Forget all: a new writer may give a key again whose rows are gone."""
        with self._lock:
            self._answers.clear()
            self._sizes.clear()
            self.orphans = (-1, ())

    def answer(
        self,
        question: Hashable,
        look: Callable[[], State],
        find: Callable[[], _T],
        is_small: Callable[[_T], bool] = lambda _: True,
    ) -> _T:
        """What `find` gives, or what it gave when the store held just the same.

        Args:
            question: What makes two questions the same. look: At the state of the store.
            find: Answers it; the caller may change what comes back.
            is_small: Whether an answer is worth its memory.
        """
        state = look()
        with self._lock:
            known = self._answers.get(question)
            if known is not None and known[0] == state:
                self._answers.move_to_end(question)
                return cast("_T", deepcopy(known[1]))
        found = find()
        # Not what was read half before and half after a change.
        if is_small(found) and look() == state:
            self._keep(question, (state, deepcopy(found)))
        return found

    def lately(self, name: str, find: Callable[[], int]) -> int:
        """A number that may be some seconds old: for choosing between ways that give the same.

        Args:
            name: Of the number. find: Looks it up.
        """
        now = time.monotonic()
        known = self._sizes.get(name)
        if known is None or now - known[0] > _LATELY_SECONDS:
            known = self._sizes[name] = (now, find())
        return known[1]

    def _keep(self, question: Hashable, entry: tuple[State, Any]) -> None:
        with self._lock:
            self._answers[question] = entry
            self._answers.move_to_end(question)
            while len(self._answers) > _ANSWERS:
                self._answers.popitem(last=False)
