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

__all__ = ["CODED", "Columns", "Numbers", "columns_of", "renumbered"]

_UNKNOWN = -1
# Operations that stay in the processor's cache while all their columns are read.
_PART = 512
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

CODED = (*_LANE, *_WORK)
Columns = dict[str, "NDArray[Any]"]


class Numbers:
    """Numbers for the values of one pass, in the order in which they appear."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}

    def code(self, value: Any) -> int:
        """Number of a value, the next one when it is new."""
        return self._numbers.setdefault(value, len(self._numbers))

    def values(self) -> list[Any]:
        """In order of their numbers."""
        return list(self._numbers)


def columns_of(operations: Sequence[Operation], strings: Numbers, paths: Numbers) -> Columns:
    """One row an operation; columns in which nothing is known are left out.

    Args:
        operations: What settling found, at least one.
        strings, paths: Give the numbers that stand in the columns `CODED` and in `path_id`.
    """
    lane, work = _Coded(_LANE, strings), _Coded(_WORK, strings)
    whole: dict[str, list[Any]] = {}
    for first in range(0, len(operations), _PART):
        part = operations[first : first + _PART]
        for name, values in _plain(part, paths).items():
            whole.setdefault(name, []).extend(values)
        lane.add(part)
        work.add(part)
    flags = {name: np.array(whole.pop(name)) for name in ("counted", "session_known")}
    arrays = {name: _array(values) for name, values in whole.items()}
    return {
        **flags,
        **{name: array for name, array in arrays.items() if array is not None},
        **lane.columns(),
        **work.columns(),
    }


def _plain(operations: Sequence[Operation], paths: Numbers) -> dict[str, Sequence[Any]]:
    """Columns of values as they are."""
    spans = [operation.span for operation in operations]
    code = paths.code
    found: dict[str, Sequence[Any]] = {
        "span_key": [span.span_key for span in spans],
        "trace_key": [span.trace_key for span in spans],
        "counted": [op.counted for op in operations],
        "session_known": [op.session_known for op in operations],
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
    measures = zip(*map(attrgetter(*MEASURES), operations), strict=True)
    return found | dict(zip(MEASURES, measures, strict=True))


class _Coded:
    """Columns of strings that come together again and again: one look-up instead of a dozen.

    Args:
        places: Column -> attribute of an operation. strings: Gives the numbers.
    """

    def __init__(self, places: Mapping[str, str], strings: Numbers) -> None:
        self._names = tuple(places)
        self._read = attrgetter(*places.values())
        self._strings = strings
        self._numbers: dict[tuple[str | None, ...], int] = {}
        self._known: list[list[int]] = []
        self._rows: list[int] = []

    def add(self, operations: Iterable[Operation]) -> None:
        """The next rows."""
        numbers, rows = self._numbers, self._rows
        for values in map(self._read, operations):
            number = numbers.get(values)
            if number is None:
                number = numbers[values] = len(self._known)
                self._known.append(self._codes(values))
            rows.append(number)

    def _codes(self, values: Iterable[str | None]) -> list[int]:
        code = self._strings.code
        return [_UNKNOWN if value is None else code(str(value)) for value in values]

    def columns(self) -> Columns:
        """Those in which something is known."""
        found = np.array(self._known, np.int32)[self._rows]
        arrays = {name: found[:, at] for at, name in enumerate(self._names)}
        return {
            name: np.ma.masked_equal(array, _UNKNOWN)
            for name, array in arrays.items()
            if array.max() > _UNKNOWN
        }


def renumbered(columns: Columns, names: Iterable[str], numbers: Sequence[int]) -> Columns:
    """These columns with other numbers: that at place n instead of n."""
    table = np.array([*numbers, _UNKNOWN], np.int32)
    return {
        name: np.ma.array(table[np.ma.getdata(column)], mask=np.ma.getmaskarray(column))
        for name in names
        if (column := columns.get(name)) is not None
    }


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
