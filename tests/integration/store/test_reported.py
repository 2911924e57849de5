"""What silence about a token part means, asked of a real DuckDB file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.made import T0, operation, span, write_settled

from whyflame.fold.projection import compile_filter, make_projection
from whyflame.model import Kind
from whyflame.store.duck import Store
from whyflame.store.settled import SettledWriter
from whyflame.store.spans import SpanWriter
from whyflame.store.totals import totals
from whyflame.store.unsettled import Group

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whyflame.model import Span


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "w.duckdb")
    yield opened
    opened.close()


def _by_session(store: Store, spans: list[Span]) -> dict[str, dict[str, Any]]:
    SpanWriter(store).append(spans, {}, {})
    group = Group(spans=spans, trace_keys=sorted({s.trace_key for s in spans}))
    write_settled(
        SettledWriter(store), group, [operation(s, reasoning=s.reasoning) for s in spans], [], T0
    )
    condition = compile_filter(make_projection(["agent"], where=()))
    return {row["session"]: row for row in totals(store, ("session",), condition)}


def test_silence_about_a_part_means_none_where_the_vocabulary_leaves_zeros_out(
    store: Store,
) -> None:
    """Another call of the vocabulary reported cache and reasoning."""
    rows = _by_session(
        store,
        [span(1, 1, session="full", cache_read=5, reasoning=3), span(2, 2, session="silent")],
    )
    assert rows["silent"]["cache_read_tokens"] == 0
    assert rows["silent"]["reasoning_tokens"] == 0
    assert rows["silent"]["cache_write_tokens"] is None


def test_a_call_without_input_tokens_never_shows_none_of_them(store: Store) -> None:
    """A missing or impossible figure is unknown, whatever other calls report."""
    rows = _by_session(
        store,
        [
            span(1, 1, session="full", cache_read=5, reasoning=3),
            span(2, 2, session="no input", input_uncached=None),
            span(3, 3, session="no output", output_visible=None),
        ],
    )
    assert rows["no input"]["input_tokens"] is None
    assert rows["no input"]["cache_read_tokens"] is None
    assert rows["no input"]["output_tokens"] == 10
    assert rows["no output"]["output_tokens"] is None
    assert rows["no output"]["reasoning_tokens"] is None


def test_embeddings_have_no_output(store: Store) -> None:
    """That is known, also where nothing says so."""
    embedding = span(2, 2, session="embed", kind=Kind.EMBED, output_visible=None)
    rows = _by_session(store, [span(1, 1, session="full", reasoning=3), embedding])
    assert rows["embed"]["output_tokens"] == 0
    assert rows["embed"]["reasoning_tokens"] == 0
    assert rows["embed"]["cache_read_tokens"] is None
