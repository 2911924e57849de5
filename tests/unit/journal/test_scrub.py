"""Taking records out of a request keeps its length and everything else in it."""

from __future__ import annotations

from hypothesis import given, strategies as st
from tests import otlp

from whyflame.dialects import Reader
from whyflame.journal import Signal
from whyflame.journal.otlp_json import request_class
from whyflame.journal.scrub import Forgotten, scrub_request

SESSIONS = ("conversation-one", "conversation-two", "7")


def request_of(rows: list[tuple[int, str]]) -> bytes:
    """A span for each (trace, session)."""
    return otlp.traces(
        *(
            otlp.Row("genai", f"chat {number}", {"session.id": session}, trace, number + 1)
            for number, (trace, session) in enumerate(rows)
        )
    )


@given(
    st.lists(st.tuples(st.integers(1, 4), st.sampled_from(SESSIONS)), min_size=1, max_size=6),
    st.integers(1, 4),
    st.sampled_from(SESSIONS),
)
def test_only_what_is_forgotten_goes(rows: list[tuple[int, str]], trace: int, session: str) -> None:
    """By trace and by session id; what is left is read by every reader as before."""
    payload = request_of(rows)
    forgotten = Forgotten("", frozenset({trace.to_bytes(16, "big")}), frozenset({session}))
    fresh = scrub_request(Signal.TRACES, payload, forgotten.trace_ids, forgotten.needles())
    kept = [row for row in rows if row[0] != trace and row[1] != session]
    if fresh is None:
        assert kept == rows
        return
    assert len(fresh) == len(payload)
    spans = Reader().read_traces(fresh, tenant="", received_ns=0)
    assert [(int.from_bytes(one.trace_id, "big"), one.session) for one in spans] == kept
    request_class(Signal.TRACES).FromString(fresh)
    assert not any(needle in fresh for needle in forgotten.needles())


@given(st.binary(min_size=8, max_size=60))
def test_what_cannot_be_parsed_goes_as_a_whole(payload: bytes) -> None:
    """A body that is no request and holds the id is blanked."""
    body = payload + b"conversation-one"
    fresh = scrub_request(Signal.TRACES, body, frozenset(), (b"conversation-one",))
    assert fresh is not None
    assert len(fresh) == len(body)
    assert b"conversation-one" not in fresh


def test_short_ids_are_found_as_whole_values_only() -> None:
    """Session "7" does not blank every request with a 7 in it."""
    payload = request_of([(1, "conversation-7")])
    forgotten = Forgotten("", frozenset(), frozenset({"7"}))
    assert scrub_request(Signal.TRACES, payload, frozenset(), forgotten.needles()) is None
