"""While a session runs: provisional intervals, versions, changed lanes only, outer paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.export.growing import Growing

from whyflame.app.segments import StoredSegments
from whyflame.config import SegmentConfig
from whyflame.segment import load_segmenter
from whyflame.store.past import StorePast

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from whyflame.segment import Lane, Mark

QUIET = 40


class Watched:
    """`auto`, with a list of the lanes it was given."""

    def __init__(self) -> None:
        self._auto = load_segmenter(SegmentConfig())
        self.name = self._auto.name
        self.lanes: list[tuple[str, int]] = []

    def segment(self, lane: Lane) -> Sequence[Mark]:
        self.lanes.append((lane.name, len(lane.steps)))
        return self._auto.segment(lane)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Growing]:
    made = Growing(tmp_path / "w.duckdb")
    yield made
    made.close()


def rows(run: Growing, sql: str) -> list[tuple[Any, ...]]:
    return run.store.cursor().execute(sql).fetchall()


def versions(run: Growing) -> list[tuple[Any, ...]]:
    """All stored versions of marks, oldest first."""
    return rows(run, "SELECT lane, version, steps, path_ids FROM marks ORDER BY version, lane")


def test_intervals_are_there_before_the_run_ends(run: Growing) -> None:
    """The agent's span has not ended; every operation has a path already."""
    run.arrive(run.steps(6))
    run.tick(QUIET)
    assert len(versions(run)) == 1
    paths = rows(run, "SELECT path_id FROM operations WHERE kind IN (SELECT id FROM strings "
                      "WHERE value IN ('llm', 'tool'))")  # fmt: skip
    assert len(paths) == 12
    assert all(run.store.paths.value(path) for (path,) in paths)


def test_every_change_is_a_new_version(run: Growing) -> None:
    """What was stored stays as it was; the answer is the newest."""
    seen: list[tuple[Any, ...]] = []
    for _ in range(4):
        run.arrive(run.steps(5))
        run.tick(QUIET)
        now = versions(run)
        assert now[: len(seen)] == seen
        assert len(now) == len(seen) + 1
        seen = now
    numbers = [version for _, version, *_ in seen]
    assert numbers == sorted(set(numbers))
    assert seen[-1][2][-1] < 20


def test_closing_a_run_without_new_steps_is_no_new_version(run: Growing) -> None:
    """A span that says nothing new of any step: the intervals stay, as does their version."""
    run.arrive(run.steps(8))
    run.tick(QUIET)
    before = versions(run)
    root = run.root()
    root.agent = None
    run.arrive([root])
    run.tick(QUIET)
    assert versions(run) == before


def test_only_changed_lanes_are_segmented_again(run: Growing) -> None:
    """A sub-agent's lane is left alone while the main lane goes on."""
    watched = Watched()
    run.settle = run.settle.with_segment(StoredSegments(StorePast(run.store), watched))
    run.arrive([*run.steps(4), *run.sub_agent(3)])
    run.tick(QUIET)
    first = dict(watched.lanes)
    assert len(first) == 2
    watched.lanes.clear()
    run.arrive(run.steps(3))
    run.tick(QUIET)
    ((lane, steps),) = watched.lanes
    assert steps > first[lane]
    assert len(versions(run)) == 3


def test_operations_of_sub_agents_carry_the_outer_path(run: Growing) -> None:
    """Also while the run goes on, and after the outer interval got another name."""
    for _ in range(2):
        run.arrive(run.steps(4))
        run.tick(QUIET)
    run.arrive([*run.sub_agent(3), *run.steps(4)])
    run.tick(QUIET)
    outer = rows(run, "SELECT path_id FROM settled_now s JOIN strings t ON t.id = s.tool "
                      "WHERE t.value = 'Task'")  # fmt: skip
    inner = rows(run, "SELECT path_id FROM operations WHERE lane_parent IS NOT NULL "
                      "AND step IS NOT NULL")  # fmt: skip
    front = run.store.paths.value(outer[0][0])
    assert front
    assert len(inner) == 6
    for (path,) in inner:
        assert run.store.paths.value(path)[: len(front)] == front
