"""The native part reads single messages as Python does, and leaves it everything else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, strategies as st
from tests.native import require_native

from whyflame import native
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


def test_what_is_no_value_is_an_error() -> None:
    assert native.part is not None
    with pytest.raises(TypeError):
        native.part.single_speech("text", 1)
    with pytest.raises(ValueError, match="limit"):
        native.part.single_speech(b"", -1)
    with pytest.raises(ValueError, match="arguments"):
        native.part.single_speech(b"")
