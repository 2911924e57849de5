"""Joins segmentation to the store: which marks are in force, and what a pass adds to them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING

from whyflame import telemetry
from whyflame.model import Kind
from whyflame.segment.keeping import keep_exported
from whyflame.segment.lane import build_lanes
from whyflame.segment.llm.accounting import OWN_SERVICE
from whyflame.segment.llm.budget import PaidSegmenter
from whyflame.segment.rules import Coverage, RulesSegmenter
from whyflame.segment.run import LaneMarks, apply, segment_lanes
from whyflame.segment.segmenter import BatchSegmenter, Mark
from whyflame.store.marks import MarkRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whyflame.model import Operation
    from whyflame.segment.lane import Lane
    from whyflame.segment.llm.budget import LlmCall
    from whyflame.segment.segmenter import Segmenter
    from whyflame.store.past import Past

__all__ = ["StoredSegments"]

_LOG = logging.getLogger(__name__)
_Run = tuple[str, str, int]
Spent = Callable[[str, "Sequence[LlmCall]"], None]


class StoredSegments:
    """Segments every run of a settle pass; lanes that did not change keep their marks.

    Lanes that grew keep the paths under which their first steps were exported.

    Args:
        past: What was found before. segmenter: The configured one.
        spent: Gets the model calls that a segmenter made for a tenant.
        coverage: Gets what rules matched and missed, where the segmenter is `rules`.
        setup: How the segmenter is set up; after a change nothing is kept.
    """

    def __init__(
        self,
        past: Past,
        segmenter: Segmenter,
        spent: Spent = lambda _tenant, _calls: None,
        coverage: Coverage | None = None,
        *,
        setup: str = "",
    ) -> None:
        self._past = past
        self._segmenter = segmenter
        self._spent = spent
        self._coverage = coverage
        self._setup = setup

    def __call__(self, operations: Sequence[Operation]) -> list[MarkRow]:
        """Fill `root` and `path` of the operations; returns the new versions of marks."""
        paid = self._segmenter
        if not isinstance(paid, PaidSegmenter):
            return self._segment_all(operations, paid)
        rows: list[MarkRow] = []
        for (tenant, service), members in _by_owner(operations).items():
            # What the segmenter itself asked is stored too: asking about that would never end.
            chosen = paid.unpaid if service == OWN_SERVICE else paid
            try:
                rows += self._segment_all(members, chosen)
            finally:
                self._spent(tenant, paid.account.take_calls())
        return rows

    def _segment_all(self, operations: Sequence[Operation], segmenter: Segmenter) -> list[MarkRow]:
        runs: dict[_Run, list[Operation]] = {}
        for op in operations:
            # Second views of a call may hold the text that the counted one lacks.
            if op.counted or op.same_as is not None or op.kind is Kind.PROMPT:
                runs.setdefault((op.span.tenant, op.session, op.run), []).append(op)
        lanes = {run: build_lanes(members) for run, members in runs.items()}
        if self._coverage is not None and isinstance(segmenter, RulesSegmenter):
            segmenter.cover(chain.from_iterable(lanes.values()), self._coverage)
        known = self._known_marks(runs)
        prepared = _Prepared(segmenter, self._setup, lanes, known)
        exported = self._exported_paths(runs, known, prepared)
        return [
            row
            for run, members in runs.items()
            for row in self._segment(
                run, members, lanes[run], prepared, known.get(run, {}), exported
            )
        ]

    def _known_marks(self, runs: Iterable[_Run]) -> dict[_Run, dict[str, LaneMarks]]:
        known: dict[_Run, dict[str, LaneMarks]] = {}
        sessions = {(tenant, session) for tenant, session, _ in runs}
        for name, row in self._past.marks(sessions).items():
            marks = tuple(Mark(step, path) for step, path in row.marks)
            known.setdefault(name[:3], {})[name[3]] = LaneMarks(
                row.lane, row.producer, row.input_sha256, marks, setup=row.setup, since=row.since
            )
        return known

    def _exported_paths(
        self,
        runs: Mapping[_Run, list[Operation]],
        known: Mapping[_Run, Mapping[str, LaneMarks]],
        prepared: _Prepared,
    ) -> Mapping[int, tuple[str, ...]]:
        """What was exported of changed runs; nothing of runs that are segmented in another way.

        Lanes that are gone, or that their segmenter failed on, say nothing about the others. A run
        without marks may have had another session before its spans told which it is.
        """
        maker = (prepared.name, self._setup)
        wanted: dict[int, int] = {}
        for run in prepared.changed_runs:
            olds = known.get(run, {}).values()
            alike = [old.since for old in olds if old.maker == maker]
            if alike or not olds:
                since = min(alike, default=0)
                wanted |= {op.span.span_key: since for op in runs[run] if op.counted}
        return self._past.exported(wanted)

    def _segment(
        self,
        run: _Run,
        operations: list[Operation],
        lanes: list[Lane],
        segmenter: _Prepared,
        known: dict[str, LaneMarks],
        exported: Mapping[int, tuple[str, ...]],
    ) -> list[MarkRow]:
        results = segment_lanes(
            lanes, segmenter, known, setup=self._setup, digest_of=segmenter.digest_of
        )
        if exported:
            results = keep_exported(lanes, results, known, operations, exported)
        apply(operations, {marks.lane: marks.marks for marks in results}, lanes)
        rows = []
        for found in results:
            if found.error is not None:
                telemetry.SEGMENT_FAILURES.add(1, found.producer)
                _LOG.debug("segmenter %s: %s", found.producer, found.error)
            elif not found.reused:
                marks = tuple((mark.step, mark.path) for mark in found.marks)
                rows.append(
                    MarkRow(
                        *run, found.lane, found.producer, found.input_sha256, marks, found.setup
                    )
                )
        return rows


def _by_owner(operations: Sequence[Operation]) -> dict[tuple[str, str], list[Operation]]:
    """By tenant, what whyflame did itself apart from the rest; a run is never divided."""
    own = {
        (op.span.tenant, op.session, op.run) for op in operations if op.span.service == OWN_SERVICE
    }
    owners: dict[tuple[str, str], list[Operation]] = {}
    for op in operations:
        tenant = op.span.tenant
        service = OWN_SERVICE if (tenant, op.session, op.run) in own else ""
        owners.setdefault((tenant, service), []).append(op)
    return owners


class _Prepared:
    """A segmenter that looked at the changed lanes of all runs together.

    What it says of a lane does not depend on the others, but looking costs the same for a hundred
    lanes as for one. Where looking together fails, each run is tried on its own.

    Args:
        segmenter: The configured one. setup: How it is set up.
        lanes: By run. known: Marks in force, by run and lane.

    Attributes:
        changed_runs: Runs with a lane that has to be segmented.
    """

    def __init__(
        self,
        segmenter: Segmenter,
        setup: str,
        lanes: Mapping[_Run, list[Lane]],
        known: Mapping[_Run, Mapping[str, LaneMarks]],
    ) -> None:
        self.name = segmenter.name
        self.namer = getattr(segmenter, "namer", None)
        self._segmenter = segmenter
        self._marks: dict[int, Sequence[Mark]] = {}
        # Each lane is looked up again while its run is segmented; hashing it twice would be waste.
        self._digests = {id(lane): lane.sha256() for members in lanes.values() for lane in members}
        maker = (segmenter.name, setup)
        by_run = {
            run: [
                lane
                for lane in members
                if self._has_changed(lane, maker, known.get(run, {}).get(lane.name))
            ]
            for run, members in lanes.items()
        }
        self.changed_runs = [run for run, members in by_run.items() if members]
        changed = [lane for members in by_run.values() for lane in members]
        if isinstance(segmenter, BatchSegmenter) and changed:
            try:
                found = list(segmenter.segment_many(changed))
            except Exception as error:  # noqa: BLE001 - the run at fault is found below
                _LOG.debug("segmenter %s: %s", self.name, type(error).__name__)
            else:
                pairs = zip(changed, found, strict=True)
                self._marks = {id(lane): marks for lane, marks in pairs}

    def segment(self, lane: Lane) -> Sequence[Mark]:
        """Marks of one lane."""
        marks = self._marks.get(id(lane))
        return self._segmenter.segment(lane) if marks is None else marks

    def digest_of(self, lane: Lane) -> str:
        """See `Lane.sha256`."""
        return self._digests[id(lane)]

    def _has_changed(self, lane: Lane, maker: tuple[str, str], old: LaneMarks | None) -> bool:
        if old is None or old.maker != maker:
            return True
        return old.input_sha256 != self._digests[id(lane)]
