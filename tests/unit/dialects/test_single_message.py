"""The short way to a single message's text finds what parsing and walking it finds."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given, strategies as st

from whyflame.dialects.long_input import newest_user_in
from whyflame.dialects.messages import flatten_text, newest_user, only_speaks, parse, walk_messages
from whyflame.dialects.single_message import single_message

ROLES = st.sampled_from(["user", "assistant", "system", "tool", "human", "critic"])
FORMS = st.sampled_from(
    [
        lambda role, said: {"role": role, "content": said},
        lambda role, said: {"role": role, "parts": [{"type": "text", "content": said}]},
        lambda role, said: {
            "role": role,
            "parts": [{"type": "text", "content": said}],
            "finish_reason": "stop",
        },
        lambda role, said: {"role": role, "parts": [{"type": "text", "text": said}]},
        lambda role, said: {"role": role, "content": said, "tool_call_id": "1"},
    ]
)
SEPARATORS = st.sampled_from([(", ", ": "), (",", ":"), (" ,\n", " : ")])


@given(ROLES, st.text(max_size=80), FORMS, SEPARATORS, st.booleans(), st.integers(0, 60))
@example(
    "user", 'a "quoted" \\ text\n', lambda r, s: [{"role": r, "content": s}], (",", ":"), True, 0
)
def test_a_single_message_is_read_as_parsing_reads_it(
    role: str, said: str, form: object, separators: tuple[str, str], ascii_only: bool, cut: int
) -> None:
    text = json.dumps([form(role, said)], separators=separators, ensure_ascii=ascii_only)  # type: ignore[operator]
    text = text[: len(text) - cut] if cut > 55 else text
    found = single_message(text)
    if found is not None:
        messages = walk_messages(parse(text))
        assert found[1] == flatten_text(parse(text))
        assert all(only_speaks(message) or "parts" not in message.body for message in messages)
    assert newest_user_in(text) == newest_user(walk_messages(parse(text)))


@pytest.mark.parametrize(
    "text",
    [
        '[{"role": "user", "content": "two"}, {"role": "user", "content": "messages"}]',
        '[{"role": "assistant", "parts": [{"type": "text", "content": "a"}, {"type": "tool_call"}]}]',
        '[{"role": "assistant", "content": "a", "tool_calls": [{"id": "call_1"}]}]',
        '[{"role": "user", "content": "no end',
        '[{"role": "user", "content": "bad \\u12 escape"}]',
        '{"role": "user", "content": "no list"}',
        "[]",
    ],
)
def test_anything_else_is_left_to_the_general_way(text: str) -> None:
    assert single_message(text) is None


def test_line_breaks_that_a_producer_forgot_to_escape_are_read() -> None:
    text = '[{"role": "user", "content": "first\nsecond"}]'
    assert newest_user_in(text) == ("first\nsecond", 1)
    two = '[{"role": "system", "content": "a\nb"}, {"role": "user", "content": "first\nsecond"}]'
    assert newest_user_in(two) == ("first\nsecond", 1)
