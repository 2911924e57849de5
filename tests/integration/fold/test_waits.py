"""Laws of waiting: it adds the gaps between the turns of a run to the time, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import duckdb
from hypothesis import given, settings, strategies as st
from tests.integration.fold.scripted import CaseStore

from whyflame.fold.projection import make_projection
from whyflame.fold.waits import WAIT_FRAME

if TYPE_CHECKING:
    from collections.abc import Sequence

Row = tuple[int, int, int, int | None, int | None]
"""Session, run, turn, start, length."""

rows = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.integers(0, 1),
        st.integers(0, 3),
        st.none() | st.integers(0, 40),
        st.none() | st.integers(0, 10),
    ),
    max_size=12,
)


def gaps(found: Sequence[Row]) -> int:
    """The gaps between turns, by a walk over every run."""
    total = 0
    for place in {row[:2] for row in found}:
        turns: dict[int, list[int]] = {}
        for *of, turn, start, length in found:
            if tuple(of) == place and start is not None:
                turns.setdefault(turn, []).extend((start, start + (length or 0)))
        over: int | None = None
        for moments in sorted(turns.values(), key=min):
            if over is not None:
                total += max(0, min(moments) - over)
            over = max(moments) if over is None else max(over, *moments)
    return total


@given(rows)
@settings(max_examples=30)
def test_only_time_grows_and_by_exactly_the_gaps(found: list[Row]) -> None:
    store = CaseStore(duckdb.connect())
    store.load(
        f"session=s{session} run={run} turn={turn} seq={number} agent=a{number % 3} "
        f"start_ns={'-' if start is None else start} "
        f"end_ns={'-' if start is None or length is None else start + length} "
        f"self_ns={number} input_uncached=7 input_bytes={number}"
        for number, (session, run, turn, start, length) in enumerate(found)
    )
    for measure in ("duration", "input_bytes"):
        plain = make_projection(["agent", "session"], measure=measure)
        before, after = store.fold(plain), store.fold(replace(plain, waits=True))
        grown = {name: after.total(name) - before.total(name) for name in before.totals()}
        assert grown == dict.fromkeys(grown, 0) | {"duration": gaps(found)}
        own = {stack: values for stack, _, values in after.stacks() if stack[-1] != WAIT_FRAME}
        assert own == {stack: values for stack, _, values in before.stacks()}
