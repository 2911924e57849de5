"""Joins segmentation to the store: which marks are in force, and what a pass adds to them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from whyflame import telemetry
from whyflame.segment.run import LaneMarks, segment_run
from whyflame.segment.segmenter import Mark
from whyflame.store.marks import MarkRow, newest_marks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyflame.model import Operation
    from whyflame.segment.segmenter import Segmenter
    from whyflame.store.duck import Store

__all__ = ["StoredSegments"]

_LOG = logging.getLogger(__name__)
_Run = tuple[str, str, int]


class StoredSegments:
    """Segments every run of a settle pass; lanes that did not change keep their marks.

    Args:
        store: Where marks are kept. segmenter: The configured one.
    """

    def __init__(self, store: Store, segmenter: Segmenter) -> None:
        self._store = store
        self._cursor = store.cursor()
        self._segmenter = segmenter

    def __call__(self, operations: Sequence[Operation]) -> list[MarkRow]:
        """Fill `root` and `path` of the operations; returns the new versions of marks."""
        runs: dict[_Run, list[Operation]] = {}
        for op in operations:
            if op.counted:
                runs.setdefault((op.span.tenant, op.session, op.run), []).append(op)
        known: dict[_Run, dict[str, LaneMarks]] = {}
        sessions = {(tenant, session) for tenant, session, _ in runs}
        for name, row in newest_marks(self._store, self._cursor, sessions).items():
            marks = tuple(Mark(step, path) for step, path in row.marks)
            known.setdefault(name[:3], {})[name[3]] = LaneMarks(
                row.lane, row.producer, row.input_sha256, marks
            )
        return [
            row
            for run, members in runs.items()
            for row in self._segment(run, members, known.get(run, {}))
        ]

    def _segment(
        self, run: _Run, operations: list[Operation], known: dict[str, LaneMarks]
    ) -> list[MarkRow]:
        rows = []
        for found in segment_run(operations, self._segmenter, known):
            if found.error is not None:
                telemetry.SEGMENT_FAILURES.add(1, found.producer)
                _LOG.debug("segmenter %s: %s", found.producer, found.error)
            elif not found.reused:
                marks = tuple((mark.step, mark.path) for mark in found.marks)
                rows.append(MarkRow(*run, found.lane, found.producer, found.input_sha256, marks))
        return rows
