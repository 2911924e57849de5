"""The native part reads single messages as Python does, and leaves it everything else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, strategies as st
from tests import corpus
from tests.native import require_native

from whyflame import native
from whyflame.dialects.long_input import newest_user_in, newest_user_of
from whyflame.dialects.single_message import single_message, single_value
from whyflame.dialects.values import read_text


@pytest.fixture(autouse=True)
def _native() -> None:
    require_native()


def raw_text(text: str | bytes) -> bytes:
    """As the value of an attribute."""
    body = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    size, length = len(body), bytearray()
    while size > 0x7F:
        length.append(size & 0x7F | 0x80)
        size >>= 7
    return b"\x0a" + bytes([*length, size]) + body


def plainly(raw: bytes, limit: int) -> tuple[str, str, bytes] | None:
    """The same in Python."""
    text = read_text(raw)
    found = single_message(text) if text and text[0] == "[" else None
    return (
        None if found is None else (found[0], found[1][:limit], found[1].encode("utf-8", "replace"))
    )


FORMS: list[Any] = [
    lambda role, said: [{"role": role, "content": said}],
    lambda role, said: [{"role": role, "parts": [{"type": "text", "content": said}]}],
    lambda role, said: [
        {"role": role, "parts": [{"type": "text", "content": said}], "finish_reason": "stop"}
    ],
    lambda role, said: [{"role": role, "content": said}] * 2,
    lambda role, said: {"role": role, "content": said},
]
texts = st.one_of(
    st.text(max_size=300), st.text("ab\"\\\n\t/é登🎉", max_size=40), st.text("plain words ", max_size=900)
)  # fmt: skip
separators = st.sampled_from([(", ", ": "), (",", ":"), (" ,\n", " : "), ("\x0b,\x0c", "\r:\t")])


@given(
    st.sampled_from(["user", "assistant", "x_9", "", "a b", "é"]), texts, st.sampled_from(FORMS),
    separators, st.booleans(), st.integers(0, 400),
)  # fmt: skip
def test_a_message_is_the_one_that_python_reads(
    role: str, said: str, form: Any, separators: tuple[str, str], ascii_only: bool, limit: int
) -> None:
    """In every form, with every escape; what is plain is never left to Python."""
    text = json.dumps(form(role, said), separators=separators, ensure_ascii=ascii_only)
    raw = raw_text(text)
    found = single_value(raw, limit)
    assert found in {None, plainly(raw, limit)}
    if form in FORMS[:3] and role.isascii() and max(said, default="") < "\ud800":
        assert found == plainly(raw, limit)


PIECES = (
    "[", "{", '"role"', ":", '"', "user", '"content"', ",", '"parts"', '"type":"text"', "}", "]", " ", "\\", "\\u",
    "d83d", "\\ude00", "\\ud83d", "00e9", "\\n", "\\x", "é", "\x1f", "\u2003", '[{"role":"user","content":"', '"}]',
    '"finish_reason":"stop"', '[{"role":"a","parts":[{"type":"text","content":"', '"}]}]', "\udc00",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join), st.integers(0, 9))
@example('[{"role":"user","content":"\\ud83d\\ude00"}]', 1)
@example('[{"role":"user","content":"\\ud83d x"}]', 1)
@example('[{"role":"user","content":"a\\', 5)
def test_pieces_in_any_order_are_no_other_message(text: str, limit: int) -> None:
    raw = raw_text(text)
    assert single_value(raw, limit) in {None, plainly(raw, limit)}


@given(st.binary(max_size=60), st.integers(0, 9))
@example(b"\x0a\x0a[{}", 1)
@example(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01[", 1)
@example(raw_text(b'[{"role":"user","content":"\xff"}]'), 3)
def test_any_bytes_are_a_value(raw: bytes, limit: int) -> None:
    assert single_value(raw, limit) in {None, plainly(raw, limit)}


def plain_newest(raw: bytes, limit: int) -> tuple[str, bytes, int] | None:
    """The newest user message in Python; None where there are no messages."""
    text = read_text(raw)
    newest, count = newest_user_in(text) if text else (None, None)
    if count is None:
        return None
    return (newest or "")[:limit], (newest or "").encode("utf-8", "replace"), count


said = st.one_of(
    st.text(max_size=40), st.sampled_from(["look at the tests", 'a "b"\n', "", "é 🎉"])
)
leaves = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), said)
anything = st.recursive(
    leaves, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(said, inner, max_size=3)), max_leaves=6
)  # fmt: skip
speaking = st.builds(
    lambda text, key: {"type": "text", key: text}, said, st.sampled_from(["content", "text"])
)
results = st.builds(
    lambda kind, value: {"type": kind, "id": "c1", "result": value},
    st.sampled_from(["tool_call_response", "tool_result", "Tool_Result", "image"]), anything,
)  # fmt: skip
odd_parts = st.one_of(
    said, anything, st.dictionaries(st.sampled_from(["type", "text", "content", "value", "toolResult"]), anything)
)  # fmt: skip
parts = st.lists(st.one_of(speaking, speaking, results, odd_parts), max_size=3)
usual = st.builds(
    lambda role, key, content, more: {"role": role, key: content, **more},
    st.sampled_from(["user", "user", "assistant", "system", "tool", "human", "User", "critic"]),
    st.sampled_from(["parts", "content", "contents"]),
    st.one_of(said, st.lists(speaking, max_size=2), st.lists(results, min_size=1, max_size=2), parts, anything),
    st.dictionaries(
        st.sampled_from(["name", "id", "type", "content", "parts", "kwargs", "tool_calls", "tool_call_id", "finish_reason"]),
        anything, max_size=1,
    ),
)  # fmt: skip
conversations = st.lists(st.one_of(usual, usual, usual, anything), max_size=6)
inputs = st.one_of(
    conversations,
    conversations,
    st.builds(lambda found, more: {"messages": found, **more}, conversations,
              st.dictionaries(st.sampled_from(["model", "role", "type", "input", "messages"]), anything, max_size=2)),
    st.builds(lambda found: [found], conversations),
    anything,
)  # fmt: skip


@given(inputs, separators, st.booleans(), st.integers(0, 30))
@example(
    [{"role": "user", "content": [{"type": "text", "text": "a"}, "b", {"type": "image"}]}],
    (",", ":"),
    True,
    9,
)
@example(
    [{"role": "user", "content": [{"type": "tool_result", "content": "x"}]}], (",", ":"), True, 9
)
def test_the_newest_user_message_is_the_one_that_python_finds(
    value: Any, separators: tuple[str, str], ascii_only: bool, limit: int
) -> None:
    """In conversations of any form; what it does not take is left to Python."""
    raw = raw_text(json.dumps(value, separators=separators, ensure_ascii=ascii_only))
    assert newest_user_of(raw, limit) in {None, plain_newest(raw, limit)}


@given(
    st.lists(
        st.sampled_from(
            (
                *PIECES,
                '{"role":"user","content":"a"}',
                '[{"role":"user","parts":["',
                "1",
                "-",
                "e5",
                "0",
                ".",
                "null",
                "true",
                "NaN",
                "\x01",
                '"id":',
                '"messages":[',
            )
        ),
        max_size=14,
    ).map("".join)
)
@example('[{"role":"user","content":"a"},{"role":"user","content":"b"},]')
@example('[{"role":"user","content":"a","x":01},{"role":"user","content":"b"}]')
@example('[{"role":"user","content":"a","role":"system"},{"role":"user","content":"\x01"}]')
@example('[{"role":"user","content":"a","x":' + "[" * 60 + "]" * 60 + "}]")
@example('[{"role":"user","content":"a","x":' + "1" * 5000 + "}]")
@example('[{"role":"user","content":"a"},{"role":"user","content":"b"}]' + " " * 25_000)
def test_pieces_of_json_are_no_other_conversation(text: str) -> None:  # fmt: skip
    raw = raw_text(text)
    assert newest_user_of(raw, 5) in {None, plain_newest(raw, 5)}


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool", "system"]), said), min_size=1, max_size=9),
       st.booleans())  # fmt: skip
def test_usual_conversations_are_not_left_to_python(
    spoken: list[tuple[str, str]], has_parts: bool
) -> None:
    """Otherwise nothing would be gained."""
    conversation = [
        {"role": role, "parts": [{"type": "text", "content": text}]} if has_parts else {"role": role, "content": text}
        for role, text in spoken
    ]  # fmt: skip
    raw = raw_text(json.dumps(conversation, ensure_ascii=False))
    assert newest_user_of(raw, 9) == plain_newest(raw, 9)


def inputs(names: list[str], monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    """What the native part and Python say of the messages of these cases."""
    from whyflame.dialects import content

    seen: list[bytes] = []

    def note(raw: bytes, limit: int) -> None:
        assert limit == content.PROMPT_LIMIT
        seen.append(raw)

    monkeypatch.setattr(content, "newest_user_of", note)
    for name in names:
        corpus.read_requests(corpus.cases()[name].requests())
    return [(newest_user_of(raw, 400), plain_newest(raw, 400)) for raw in seen]


def test_inputs_of_real_producers(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that was captured: equal."""
    found = inputs(corpus.names(), monkeypatch)
    assert len(found) > 500
    assert all(native in {None, python} for native, python in found)


def test_few_conversations_are_left_to_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the reference corpus; other captures were made for producers that are unlike it."""
    found = inputs(corpus.reference_names(), monkeypatch)
    conversations = [native for native, python in found if python is not None]
    assert len(conversations) > 500
    assert sum(native is not None for native in conversations) > 0.9 * len(conversations)


def test_what_is_no_value_is_an_error() -> None:
    assert native.part is not None
    with pytest.raises(TypeError):
        native.part.single_speech("text", 1)
    with pytest.raises(ValueError, match="limit"):
        native.part.single_speech(b"", -1)
    with pytest.raises(ValueError, match="arguments"):
        native.part.single_speech(b"")
