"""Operations of runs that go on are exported under the path they end with, and all in the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.integration.export.growing import TOKENS, Growing

from whyflame.app.segments import StoredSegments
from whyflame.config import SegmentConfig
from whyflame.segment.registry import choose_segmenter
from whyflame.store.past import StorePast

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Growing]:
    made = Growing(tmp_path / "w.duckdb")
    yield made
    made.close()


@pytest.mark.parametrize(("piece", "pieces"), [(5, 10), (15, 6)])
def test_little_drift_when_a_run_arrives_in_pieces(run: Growing, piece: int, pieces: int) -> None:
    """Pieces with silence between them; the agent's span ends last."""
    total = piece * pieces * TOKENS
    for _ in range(pieces):
        run.arrive(run.steps(piece))
        run.tick(40)
    early = run.exported_tokens()
    run.arrive([run.root()])
    run.tick(40)
    run.tick(1)
    assert run.exported_tokens() == total
    assert 0 < early < total
    drift = run.drift()
    assert drift.moved_tokens <= 0.10 * total
    assert (drift.duplicates, drift.changed_tokens) == (0, 0)


@pytest.mark.parametrize(("piece", "pieces"), [(5, 6), (15, 3)])
@pytest.mark.parametrize("parent", [1, None], ids=["parent missing", "complete"])
def test_no_drift_over_pauses_of_minutes(
    run: Growing, piece: int, pieces: int, parent: int | None
) -> None:
    """Every piece is exported before the next one arrives; its names stay."""
    for number in range(pieces):
        run.arrive(run.steps(piece, parent=parent))
        run.tick(60)
        run.tick(60)
        assert run.exported_tokens() == piece * (number + 1) * TOKENS
    run.arrive([run.root()])
    run.tick(40)
    drift = run.drift()
    assert (drift.moved, drift.duplicates, drift.changed_tokens) == (0, 0, 0)


def test_no_drift_when_lanes_get_other_names(run: Growing) -> None:
    """A lost call hides that an agent was started by it; the run's own span shows two lanes."""
    run.arrive([*run.steps(4), *run.sub_agent(4)[:-1]])
    run.tick(120)
    early = run.exported_tokens()
    for _ in range(3):
        run.arrive(run.steps(6))
        run.tick(120)
    run.arrive([run.root()])
    run.tick(40)
    assert early == 8 * TOKENS
    assert run.drift().moved == 0


def test_no_drift_when_the_session_is_told_last(run: Growing) -> None:
    """Until the agent's span names its session, the run is one of its trace."""
    for _ in range(3):
        steps = run.steps(5)
        for span in steps:
            span.session = None
        run.arrive(steps)
        run.tick(120)
    run.arrive([run.root(), *run.steps(5)])
    run.tick(120)
    assert run.exported_tokens() == 20 * TOKENS
    assert run.drift().moved == 0


def test_only_what_belongs_elsewhere_drifts(run: Growing) -> None:
    """Steps exported before anybody could know that an agent of its own made them."""
    outer, inner = run.steps(6), run.sub_agent(2)
    run.arrive([*outer, *inner[:-2]])
    run.tick(120)
    for piece in (inner[-2:], run.steps(6), run.steps(6), [run.root()]):
        run.arrive(piece)
        run.tick(120)
    assert run.exported_tokens() == 20 * TOKENS
    assert run.drift().moved_tokens == 2 * TOKENS


def test_other_options_keep_nothing(run: Growing) -> None:
    """Who asks for another segmentation gets it, and the drift that it means."""
    for _ in range(3):
        run.arrive(run.steps(10))
        run.tick(120)
    config = SegmentConfig(granularity=2.0)
    chosen = choose_segmenter(config)
    run.settle = run.settle.with_segment(
        StoredSegments(StorePast(run.store), chosen.segmenter, setup=chosen.setup)
    )
    run.arrive(run.steps(1))
    run.tick(120)
    assert run.drift().moved > 0
    # Nor do the old names come back when the run grows again.
    run.arrive([*run.steps(1), run.root()])
    run.tick(120)
    assert run.drift().moved > 0


def test_a_finished_run_goes_at_once(run: Growing) -> None:
    """Nothing is missing and it is quiet: no reason to wait."""
    run.arrive([*run.steps(6), run.root()])
    run.tick(31)
    assert run.exported_tokens() == 6 * TOKENS


def test_a_run_without_any_parent_goes_when_it_is_quiet(run: Growing) -> None:
    run.arrive(run.steps(6, parent=None))
    run.tick(31)
    assert run.exported_tokens() == 6 * TOKENS


def test_a_parent_that_never_comes_is_waited_for_less_than_a_minute(run: Growing) -> None:
    """The agent was killed, or its caller is not instrumented: the first frame must be in time."""
    run.arrive(run.steps(6))
    run.tick(31)
    assert run.exported_tokens() == 0
    run.tick(11)
    assert run.exported_tokens() == 0
    run.tick(10)
    assert run.exported_tokens() == 6 * TOKENS
    run.tick(3600)
    assert run.exported_tokens() == 6 * TOKENS


def test_a_run_that_never_pauses_goes_after_the_longest_hold(run: Growing) -> None:
    """Steps every few seconds: settled by `settle.max_hold`, exported by `hold` at the latest."""
    for _ in range(70):
        run.arrive(run.steps(1))
        run.tick(18)
    early = run.exported_tokens()
    assert early >= 14 * TOKENS
    run.arrive([run.root()])
    run.tick(40)
    run.tick(15)
    assert run.exported_tokens() == 70 * TOKENS


def test_hold_can_be_switched_off(tmp_path: Path) -> None:
    run = Growing(tmp_path / "w.duckdb", {"hold": 0.0})
    run.arrive(run.steps(6))
    run.tick(31)
    assert run.exported_tokens() == 6 * TOKENS
    run.close()


def test_what_waits_survives_a_restart(tmp_path: Path) -> None:
    run = Growing(tmp_path / "w.duckdb")
    run.arrive(run.steps(6))
    run.tick(31)
    run.close()
    again = Growing(tmp_path / "w.duckdb", clock=run.clock)
    again.tick(1)
    assert again.exported_tokens() == 0
    again.tick(320)
    assert again.exported_tokens() == 6 * TOKENS
    again.close()


def test_a_clock_that_is_put_back_holds_nothing(run: Growing) -> None:
    """Received a day from now, says the clock: better now than in a day."""
    run.arrive([*run.steps(3), *run.steps(3)])
    run.settle.tick(everything=True)
    run.clock.advance(-86_400)
    run.tick()
    assert run.exported_tokens() == 6 * TOKENS
