"""Texts that came in records of their own stand on their call, however they arrived."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st
from tests.made import SECOND, T0, span

from whyflame.content import decode, extract
from whyflame.dialects.message_events import DETAILS, MESSAGES
from whyflame.model import Content, Kind, Span
from whyflame.settle.messages import join_messages
from whyflame.settle.settings import SettleSettings
from whyflame.settle.settle import settle

SETTINGS = SettleSettings(pricing=None)


def with_features(made: Span, mode: str = "features") -> Span:
    return replace(made, features=extract(made, mode))


def message(number: int, content: Content, *, of: int = 1, at: int = 0, **fields: object) -> Span:
    made = span(
        1, number, parent_id=of.to_bytes(8, "big"), kind=Kind.OTHER, name=MESSAGES, signal="log",
        content=content, model=None, input_uncached=None, output_visible=None,
        start_ns=T0 + at * SECOND, end_ns=T0 + at * SECOND, span_key=number, **fields,
    )  # fmt: skip
    return with_features(made)


ASKED = Content(prompt="Fix the login", prompt_bytes=13, prompt_sha256="a", user_messages=1)
SAID = Content(response="I read the test first", response_bytes=21)
CALL = span(1, 1, span_key=1)


def joined(*spans: Span) -> Span:
    return next(found for found in join_messages(spans) if found.span_id == CALL.span_id)


def test_a_call_has_the_texts_of_its_messages() -> None:
    call = joined(CALL, message(2, ASKED), message(3, SAID, asked=("call_1",)))
    whole = replace(CALL, content=replace(ASKED, response=SAID.response, response_bytes=21))
    assert call.features == extract(whole, "features")
    assert call.asked == ("call_1",)
    assert call.content is not None
    assert (call.content.prompt_sha256, call.content.user_messages) == ("a", 1)
    assert (call.content.prompt_bytes, call.content.response_bytes) == (13, 21)


def test_what_the_call_has_itself_stays() -> None:
    own = Content(prompt="Write a report", prompt_sha256="b", user_messages=4)
    call = joined(
        with_features(replace(CALL, content=own, asked=("x",))), message(2, ASKED, asked=("y",))
    )
    assert call.features is not None
    assert "report" in decode(call.features).asked
    assert call.content is not None
    assert (call.asked, call.content.prompt_sha256, call.content.user_messages) == (("x",), "b", 4)


def test_of_several_requests_the_newest_message_counts_and_all_are_counted() -> None:
    later = Content(prompt="Write the changelog", prompt_sha256="c", user_messages=2)
    call = joined(message(3, later, at=9), CALL, message(2, ASKED, at=1))
    assert call.features is not None
    found = decode(call.features)
    assert ("changelog" in found.asked, found.user_messages) == (True, 3)
    assert call.content is not None
    assert (call.content.prompt_sha256, call.content.user_messages) == ("c", 3)


def test_an_event_with_all_messages_informs_its_call_too() -> None:
    """It stays what it is: another view of the call, which counts once."""
    told = replace(message(2, ASKED, asked=("call_1",)), name=DETAILS, kind=Kind.LLM, answered=True)
    assert joined(CALL, told).asked == ("call_1",)
    assert joined(CALL, told).features == told.features
    views = {op.span.span_key: op.why for op in settle([CALL, told], SETTINGS)}
    assert views == {1: None, 2: "other_signal"}


def test_messages_of_others_and_of_tools_change_nothing() -> None:
    tool = span(1, 4, kind=Kind.TOOL, tool="bash")
    spans = [CALL, tool, message(2, ASKED, of=9), message(3, ASKED, of=4), span(2, 1)]
    assert list(join_messages(spans)) == spans
    assert join_messages(spans[:2]) == spans[:2]


def test_messages_count_as_nothing_but_keep_their_trace() -> None:
    """Its call may still run when they settle: they must not be dropped as no agent's work."""
    (alone,) = settle([message(2, ASKED)], SETTINGS)
    assert (alone.counted, alone.why, alone.operations) == (False, "message", 0)


def test_the_order_of_arrival_does_not_matter() -> None:
    later = Content(prompt="Write the changelog", prompt_sha256="c", user_messages=2)
    spans = [CALL, message(2, ASKED, at=1), message(3, later, at=1), message(4, SAID, at=2)]
    seen = set()
    for seed in range(12):
        random.Random(seed).shuffle(spans)
        call = joined(*spans)
        seen.add((call.features, repr(call.content)))
    assert len(seen) == 1


def test_another_user_message_begins_a_turn_as_with_texts_on_the_span() -> None:
    more = replace(ASKED, prompt="Write the changelog", prompt_sha256="c", user_messages=2)
    calls = [span(1, number, span_key=number) for number in (1, 2, 3)]
    told = [message(8, ASKED), message(9, more, of=3)]
    turns = {op.span.span_key: op.turn for op in settle([*calls, *told], SETTINGS) if op.counted}
    assert turns == {1: 0, 2: 0, 3: 0}  # the second has no text: nobody knows
    told.append(message(7, ASKED, of=2))
    turns = {op.span.span_key: op.turn for op in settle([*calls, *told], SETTINGS) if op.counted}
    assert turns == {1: 0, 2: 0, 3: 1}


texts = st.text("abc deFIX.{}\x1f", min_size=1, max_size=30)


@pytest.mark.parametrize("mode", ["features", "excerpt", "none"])
@given(prompt=texts, response=texts)
def test_joining_gives_what_one_span_would_have_given(
    mode: str, prompt: str, response: str
) -> None:
    asked = Content(prompt=prompt, prompt_bytes=len(prompt), user_messages=2)
    said = Content(response=response, response_bytes=len(response))
    both = replace(asked, response=response, response_bytes=len(response))
    parts = [
        replace(message(number, part), features=extract(replace(CALL, content=part), mode))
        for number, part in ((2, asked), (3, said))
    ]
    assert joined(CALL, *parts).features == extract(replace(CALL, content=both), mode)
