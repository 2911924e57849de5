"""What one span may put into the store is bounded, and said."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from tests import otlp
from tests.made import span

from whyflame.dialects import Reader, dialect_settings
from whyflame.index.bounds import MAX_ENTRIES, bound_span


def test_long_names_are_cut_and_counted() -> None:
    """A name of a megabyte does not reach the store."""
    long = span(1, 1, name="n" * 1_000_000, tool="t" * 501, agent="a" * 500)
    bound_span(long, 500)
    assert (len(long.name), len(long.tool or ""), len(long.agent or "")) == (500, 500, 500)
    assert long.dubious == ("text_too_long",)


def test_different_long_ids_stay_different() -> None:
    """Two sessions whose ids differ at the end only are not joined."""
    first, second, again = (span(1, 1, session="s" * 2000 + end) for end in "aba")
    for one in (first, second, again):
        bound_span(one, 100)
    assert first.session == again.session != second.session
    assert len(first.session or "") == 100


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=300), max_size=400))
def test_lists_are_bounded(extra: dict[str, str]) -> None:
    """Promoted fields, call ids and links keep at most so many entries of bounded length."""
    one = span(
        1, 1, extra=dict(extra), asked=tuple(extra.values()), links=((b"", b""),) * len(extra)
    )
    bound_span(one, 64)
    assert max(len(one.extra), len(one.asked), len(one.links)) <= MAX_ENTRIES
    assert all(len(text) <= 64 for text in (*one.extra.values(), *one.asked))
    assert ("too_many_entries" in one.dubious) is (len(extra) > MAX_ENTRIES)


@pytest.mark.parametrize("fillers", [50, 5000])
def test_a_span_with_too_many_attributes_keeps_its_figures(fillers: int) -> None:
    """Its messages are not read, so that one span cannot hold the indexer up; tokens still count."""
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 7}
    messages = {f"gen_ai.prompt.{number}.content": "hello" for number in range(fillers)}
    reader = Reader(dialect_settings({}, max_attributes=100))
    body = otlp.traces(otlp.Row("genai", "chat", messages | attributes))
    (one,) = reader.read_traces(body, tenant="", received_ns=0)
    assert one.input_uncached == 7
    assert one.attributes_count == fillers + 2
    assert ("too_many_attributes" in one.dubious) is (fillers > 98)


def test_any_number_of_unknown_attributes_is_survived() -> None:
    """A hundred thousand attributes of a stranger cost no plan and no row of that size."""
    reader = Reader(dialect_settings({}, max_attributes=100))
    body = otlp.traces(otlp.Row("x", "y", {f"k{number}": number for number in range(100_000)}))
    (one,) = reader.read_traces(body, tenant="", received_ns=0)
    assert one.dubious == ("too_many_attributes",)
