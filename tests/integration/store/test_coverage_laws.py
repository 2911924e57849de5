"""Coverage that is kept and found anew among what is new equals coverage found from nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import Phase, given, settings, strategies as st
from tests.integration.store.plain_coverage import plain_coverage
from tests.made import SECOND, T0, operation, span, write_settled

from whyflame.config import Config
from whyflame.fold.projection import compile_filter, make_projection
from whyflame.model import Kind
from whyflame.serve.questions import Filter
from whyflame.serve.store_questions import StoreQuestions
from whyflame.store import orphans
from whyflame.store.coverage import EVERYTHING, coverage, coverage_numbers
from whyflame.store.duck import Store
from whyflame.store.forget import forget_traces
from whyflame.store.retention import Retention
from whyflame.store.settled import SettledWriter
from whyflame.store.spans import SpanWriter
from whyflame.store.state import remembered, state_of
from whyflame.store.totals import totals
from whyflame.store.unsettled import Group

if TYPE_CHECKING:
    from collections.abc import Callable

    from whyflame.model import Operation, Span

DAY = 86_400 * SECOND
TRACES, SPANS = 5, 8


@dataclass
class Life:
    """A store through its days; what happens is drawn from `random`."""

    path: Path
    random: Random
    day: int = 0
    spans: dict[tuple[int, bytes], Span] = field(default_factory=dict)

    def open(self) -> None:
        """Open it, as after a start."""
        self.store = Store(self.path)
        self.writer = SpanWriter(self.store)
        self.settled = SettledWriter(self.store)

    def arrive(self) -> None:
        """Some spans: of known traces or new ones, with parents that may come later or never."""
        new = [self._span() for _ in range(self.random.randrange(1, 12))]
        self.writer.append(new, {}, {})
        for one in new:
            if one.trace_key >= 0:
                self.spans[one.trace_key, one.span_id] = one

    def _span(self) -> Span:
        chance = self.random
        parent = chance.choice([None, *range(SPANS)])
        kind = chance.choice([Kind.LLM, Kind.TOOL, Kind.AGENT])
        start = T0 + self.day * DAY
        return span(
            chance.randrange(TRACES) + self.day // 3 * TRACES,
            chance.randrange(SPANS),
            parent_id=None if parent is None else parent.to_bytes(8, "big"),
            kind=kind,
            start_ns=start,
            end_ns=start + SECOND,
            session=chance.choice([None, "a", "b", "c"]),
            attributes_count=chance.randrange(4),
            dialect=chance.choice(["genai", "other"]),
            claimed_input=chance.choice([None, None, 7]),
            claimed_output=chance.choice([None, None, 0, 3]),
            dubious=chance.choice([(), (), ("negative",), ("negative", "too_large")]),
            input_uncached=chance.choice([None, 100]),
            output_visible=chance.choice([None, 10]),
        )

    def settle(self) -> None:
        """Some of the traces, each as a whole."""
        keys = sorted({key for key, _ in self.spans})
        chosen = [key for key in keys if self.random.random() < 0.6]
        members = [one for (key, _), one in sorted(self.spans.items()) if key in chosen]
        write_settled(
            self.settled,
            Group(spans=members, trace_keys=chosen),
            [self._operation(one) for one in members],
            [],
            T0,
        )

    def _operation(self, of: Span) -> Operation:
        counted = self.random.random() < 0.8
        return operation(
            of,
            counted=counted,
            why=None if counted else self.random.choice(["mirror", "wrapper"]),
            cost_nanousd=self.random.choice([None, 5]),
        )

    def sweep(self) -> None:
        """What is old or superseded goes."""
        self.day += 1
        Retention(self.store, max_age_ns=2 * DAY).sweep(T0 + self.day * DAY)
        self._leave(self._stored())

    def forget(self) -> None:
        """One trace goes, and the store is opened anew."""
        keys = sorted({key for key, _ in self.spans})
        if keys:
            forget_traces(self.store, {self.random.choice(keys)}, "")
        left = self._stored()
        self.store.close()
        self.open()
        self._leave(left)

    def begin_anew(self) -> None:
        """New writers, which may give keys again whose rows are gone."""
        self.writer = SpanWriter(self.store)
        self.settled = SettledWriter(self.store)

    def _stored(self) -> set[int]:
        rows = self.store.cursor().execute("SELECT DISTINCT trace_key FROM spans").fetchall()
        return {row[0] for row in rows}

    def _leave(self, keys: set[int]) -> None:
        self.spans = {at: one for at, one in self.spans.items() if at[0] in keys}


EVENTS: tuple[Callable[[Life], None], ...] = (
    Life.arrive,
    Life.arrive,
    Life.settle,
    Life.settle,
    Life.sweep,
    Life.forget,
    Life.begin_anew,
)


@pytest.mark.slow
@pytest.mark.parametrize("kept", [100_000, 2])
@given(st.lists(st.sampled_from(EVENTS), min_size=4, max_size=12), st.integers(0, 1 << 32))
@settings(max_examples=10, deadline=None, phases=[Phase.generate])
def test_kept_coverage_is_what_plain_statements_say(
    kept: int, events: list[Callable[[Life], None]], seed: int
) -> None:
    """After whatever happened, with few orphans kept and with more than are kept."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(orphans, "_MAX_KEPT", kept)
        patch.setattr(orphans, "_STEP", 3)
        life = Life(Path(folder) / "w.duckdb", Random(seed))
        life.open()
        for event in events:
            event(life)
            check(life.store)
        life.store.close()


def check(store: Store) -> None:
    """Everything, and what a filter leaves; from the function, and through what is kept."""
    calls = compile_filter(make_projection(["agent"], where=("kind=llm",)))
    assert _same(coverage(store, calls), plain_coverage(store, calls))
    questions = StoreQuestions(store, Config(), lambda: T0)
    everything = compile_filter(make_projection(["agent"]))
    expected = plain_coverage(store, everything)
    questions.totals((), Filter())
    found = questions.totals((), Filter())
    assert _same(found["coverage"], expected)
    (row,) = found["rows"]
    (expected_row,) = totals(store, (), everything)
    assert row == {key: expected_row[key] for key in row}
    whole = coverage(store, EVERYTHING)
    assert coverage_numbers(store) == {
        key: sum(number.values()) if isinstance(number := whole[key], dict) else number
        for key in whole
        if isinstance(whole[key], int)
        or key in {"merged_views", "not_counted", "bad_values", "unknown_scopes"}
    }


def _same(found: dict[str, Any], expected: dict[str, Any]) -> bool:
    return {key: found[key] for key in expected} == expected


def test_nothing_is_read_again_while_nothing_changes(tmp_path: Path) -> None:
    """The second answer is the first one; a late parent is noticed."""
    life = Life(tmp_path / "w.duckdb", Random(1))
    life.open()
    child = span(1, 2, parent_id=(1).to_bytes(8, "big"), session="s")
    life.writer.append([child], {}, {})
    group = Group(spans=[child], trace_keys=[child.trace_key])
    write_settled(life.settled, group, [operation(child)], [], T0)
    calls: list[int] = []

    def find() -> int:
        calls.append(1)
        return int(coverage(life.store, EVERYTHING)["orphan_spans"])

    assert [remembered(life.store, "orphans", find) for _ in range(3)] == [1, 1, 1]
    assert len(calls) == 1
    life.writer.append([span(1, 1, session="s")], {}, {})
    assert remembered(life.store, "orphans", find) == 0
    assert len(calls) == 2
    life.store.close()


def test_what_is_taken_out_may_be_changed(tmp_path: Path) -> None:
    """An answer that its reader changed comes back as it was."""
    store = Store(tmp_path / "w.duckdb")
    first = remembered(store, "q", lambda: {"rows": [1]})
    first["rows"].append(2)
    second = remembered(store, "q", lambda: {"rows": [0]})
    second["rows"].append(3)
    assert remembered(store, "q", lambda: {"rows": []}) == {"rows": [1]}
    store.close()


def test_new_writers_may_give_keys_again(tmp_path: Path) -> None:
    """Keys and numbers of rows are as before, and the rows are others: nothing is kept for them."""
    life = Life(tmp_path / "w.duckdb", Random(1))
    life.open()
    states, found = [], []
    for parent in ((9).to_bytes(8, "big"), None):
        one = span(1, 2, parent_id=parent, session="s", start_ns=T0, end_ns=T0 + SECOND)
        life.writer.append([one], {}, {})
        group = Group(spans=[one], trace_keys=[one.trace_key])
        write_settled(life.settled, group, [operation(one)], [], T0)
        states.append(state_of(life.store.cursor()))
        questions = StoreQuestions(life.store, Config(), lambda: T0)
        found.append(questions.totals((), Filter())["coverage"]["orphan_spans"])
        Retention(life.store, max_age_ns=SECOND).sweep(T0 + DAY)
        life.begin_anew()
    assert states[0] == states[1]
    assert found == [1, 0]
    life.store.close()
