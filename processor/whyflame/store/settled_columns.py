"""Operations as columns of `settled`: arrays cost a third of rows that are appended one by one."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from whyflame.model import MEASURES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from whyflame.model import Operation
    from whyflame.store.dictionary import Dictionary

__all__ = ["SettledColumns"]

_MEMO_LIMIT = 20_000
_UNKNOWN = -1
# Coded columns with where their values stand: those that hardly change within a lane, and those
# that say what was done.
_LANE = {
    "tenant": "span.tenant", "service": "span.service", "environment": "span.environment",
    "version": "span.service_version", "agent": "agent", "session": "session", "lane": "lane",
    "lane_parent": "lane_parent", "root": "root", "outcome": "outcome", "dialect": "span.dialect",
    "user_hash": "user",
}  # fmt: skip
_WORK = {
    "kind": "kind", "leaf": "leaf", "model": "model", "provider": "provider", "tool": "tool",
    "skill": "skill", "status": "status", "error_type": "error_type",
    "path_group": "span.path_group", "domain": "span.domain", "effect": "span.effect",
    "why": "why",
}  # fmt: skip

Columns = dict[str, "NDArray[Any]"]


class SettledColumns:
    """Makes the columns of a pass; one thread.

    Args:
        strings, paths: Dictionaries of the store; new values get ids.
    """

    def __init__(self, strings: Dictionary, paths: Dictionary) -> None:
        self._paths = paths
        self._lane = _Codes(strings, _LANE)
        self._work = _Codes(strings, _WORK)

    def forget(self) -> None:
        """The ids that were given out are not valid any more."""
        self._lane.forget()
        self._work.forget()

    def of(self, operations: Sequence[Operation], generation: int) -> Columns:
        """One row an operation; columns in which nothing is known are left out."""
        spans = [operation.span for operation in operations]
        code = self._paths.code
        whole: dict[str, Sequence[int | None]] = {
            "span_key": [span.span_key for span in spans],
            "trace_key": [span.trace_key for span in spans],
            "same_as": [op.same_as for op in operations],
            "run": [op.run for op in operations],
            "turn": [op.turn for op in operations],
            "step": [op.step for op in operations],
            "seq": [op.seq for op in operations],
            "lane_parent_step": [op.lane_parent_step for op in operations],
            "path_id": [code(op.path) for op in operations],
            "start_ns": [span.start_ns for span in spans],
            "end_ns": [span.end_ns for span in spans],
        }
        whole.update(
            zip(MEASURES, zip(*map(attrgetter(*MEASURES), operations), strict=True), strict=True)
        )
        arrays = {name: _array(values) for name, values in whole.items()}
        return {
            "generation": np.full(len(spans), generation),
            "counted": np.array([op.counted for op in operations]),
            "session_known": np.array([op.session_known for op in operations]),
            **{name: array for name, array in arrays.items() if array is not None},
            **self._lane.columns(operations),
            **self._work.columns(operations),
        }


class _Codes:
    """Ids of strings that come together again and again: one look-up instead of a dozen.

    Args:
        strings: Where ids come from. places: Column -> attribute of an operation.
    """

    def __init__(self, strings: Dictionary, places: Mapping[str, str]) -> None:
        self._strings = strings
        self._names = tuple(places)
        self._read = attrgetter(*places.values())
        self._numbers: dict[tuple[str | None, ...], int] = {}
        self._known: list[list[int]] = []

    def forget(self) -> None:
        self._numbers.clear()
        self._known.clear()

    def columns(self, operations: Iterable[Operation]) -> Columns:
        if len(self._known) > _MEMO_LIMIT:
            self.forget()
        numbers = self._numbers
        rows = []
        for values in map(self._read, operations):
            number = numbers.get(values)
            rows.append(self._add(values) if number is None else number)
        found = np.array(self._known, np.int32)[rows]
        arrays = {name: found[:, at] for at, name in enumerate(self._names)}
        return {
            name: np.ma.masked_equal(array, _UNKNOWN)
            for name, array in arrays.items()
            if array.max() > _UNKNOWN
        }

    def _add(self, values: tuple[str | None, ...]) -> int:
        code = self._strings.code
        known: list[int] = []
        for value in values:
            found = None if value is None else code(str(value))
            known.append(_UNKNOWN if found is None else found)
        self._known.append(known)
        number = self._numbers[values] = len(self._known) - 1
        return number


def _array(values: Sequence[int | None]) -> NDArray[Any] | None:
    """An array with gaps where a value is unknown; None when all are."""
    if values[0] is not None and None not in values:
        return np.fromiter(values, np.int64, len(values))
    known = [value for value in values if value is not None]
    if not known:
        return None
    mask = np.fromiter([value is None for value in values], np.bool_, len(values))
    filled = np.zeros(len(values), np.int64)
    filled[~mask] = known
    return np.ma.array(filled, mask=mask)
