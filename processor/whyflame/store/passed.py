"""What one settle pass found, ready to be written, and cheap to hand to another process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whyflame.store.settled_columns import Columns, Numbers, columns_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from whyflame.model import Operation
    from whyflame.store.marks import MarkRow
    from whyflame.store.unsettled import Group

__all__ = ["Passed", "pack"]

NOT_AGENT_WORK = "not_agent_work"


@dataclass(slots=True)
class Passed:
    """Rows of `settled` and `marks` for a group.

    Attributes:
        trace_keys: Traces of the group; each gets a new generation.
        last_keys: Newest span key seen for each trace, so that a restart knows what is unsettled.
        dropped: Traces that hold no agent work.
        operations: How many were settled, with those of dropped traces.
        columns: Of `settled`, empty when no row is written; coded ones hold places in `strings`,
            `path_id` places in `paths`.
        marks: New versions.
    """

    trace_keys: list[int]
    last_keys: dict[int, int]
    dropped: list[int]
    operations: int
    columns: Columns
    strings: list[str]
    paths: list[tuple[str, ...]]
    marks: list[MarkRow]

    def all_strings(self) -> Iterator[str]:
        """Every text that is written as an id."""
        yield from self.strings
        for mark in self.marks:
            yield from (mark.tenant, mark.session, mark.lane)

    def all_paths(self) -> Iterator[tuple[str, ...]]:
        """Every path that is written as an id."""
        yield from self.paths
        for mark in self.marks:
            yield from (path for _, path in mark.marks)

    @property
    def has_extra(self) -> bool:
        """Any row carries promoted attributes."""
        return "extra_keys" in self.columns


_NONE = [""]
"""In place of no extra: DuckDB takes the type of lists from a sample, and empty ones have none."""


def pack(group: Group, operations: Sequence[Operation], marks: Sequence[MarkRow]) -> Passed:
    """A pass as it is written; what is no agent work is left out."""
    written = [op for op in operations if op.why != NOT_AGENT_WORK]
    strings, paths = Numbers(), Numbers()
    columns: Columns = {}
    working: set[int] = set()
    if written:
        columns = columns_of(written, strings, paths)
        # A trace may hold nothing but second views of calls counted elsewhere: it is work as well.
        working = set(columns["trace_key"].tolist())
        if any(op.span.extra for op in written):
            columns["extra_keys"] = _objects([list(op.span.extra) or _NONE for op in written])
            values = [list(op.span.extra.values()) or _NONE for op in written]
            columns["extra_values"] = _objects(values)
    return Passed(
        trace_keys=group.trace_keys,
        last_keys=group.last_keys,
        dropped=[key for key in group.trace_keys if key not in working],
        operations=len(operations),
        columns=columns,
        strings=strings.values(),
        paths=paths.values(),
        marks=list(marks),
    )


def _objects(values: list[list[str]]) -> NDArray[Any]:
    found = np.empty(len(values), object)
    found[:] = values
    return found
