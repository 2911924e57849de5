"""Raw values: numbers of any type, texts, structures; what is not believed says why."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.otlp import any_value

from whyflame.dialects.values import (
    cut_text,
    read_any,
    read_bool,
    read_count,
    read_dollars,
    read_json,
    read_text,
)
from whyflame.model import DUBIOUS_REASONS

SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text() | st.binary()
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def raw(value: Any) -> bytes:
    return any_value(value).SerializeToString()


@given(TREES)
def test_any_value_survives(value: Any) -> None:
    """Whatever a value holds, reading gives it back."""
    assert read_any(raw(value)) == value


@given(st.binary(max_size=64))
def test_garbage_never_raises(noise: bytes) -> None:
    """Bytes that are no value at all are read as something or nothing, never as an error."""
    for read in (read_any, read_text, read_json, read_bool):
        read(noise)
    cut_text(noise, 5)


@pytest.mark.parametrize(
    ("value", "count"),
    [
        (0, 0),
        (1103, 1103),
        ("1000", 1000),
        (" 42 ", 42),
        (22.0, 22),
        ("23.0", 23),
        (-1, "number_negative"),
        ("NaN", "number_not_finite"),
        (math.inf, "number_not_finite"),
        (10**18, "number_too_large"),
        ("9" * 50, "number_too_large"),
        (True, "number_boolean"),
        ("true", "number_boolean"),
        ("many", "number_not_numeric"),
        (1.5, "number_not_numeric"),
        ([1], "number_not_numeric"),
    ],
)
def test_counts(value: Any, count: int | str) -> None:
    """Integers in any clothing are counts; everything else is a reason of the closed set."""
    assert read_count(value) == count
    assert isinstance(count, int) or count in DUBIOUS_REASONS


def test_dollars_become_nano_dollars() -> None:
    """Costs are integers, so that sums are exact."""
    assert read_dollars(0.00454) == 4_540_000
    assert read_dollars("0.5") == 500_000_000
    assert read_dollars(-1) == "number_negative"


def test_text_of_numbers_but_not_of_structures() -> None:
    """An id sent as a number is still an id; a list is no text."""
    assert read_text(raw(7)) == "7"
    assert read_text(raw("")) is None
    assert read_text(raw(["a"])) is None
    assert read_bool(raw("true")) is True
    assert read_bool(raw("False")) is False
    assert read_bool(raw("maybe")) is None


@given(st.text(max_size=300), st.integers(1, 40))
def test_cutting_keeps_the_beginning(text: str, limit: int) -> None:
    """A cut text is a beginning of the whole, with the size of the whole."""
    cut = cut_text(raw(text), limit)
    assert cut == (text[:limit], len(text.encode()))


def test_json_text_is_parsed() -> None:
    """Lists and objects sent as JSON text are structures."""
    assert read_json(raw('["a"]')) == ["a"]
    assert read_json(raw("plain")) is None
    assert read_json(raw(["a"])) == ["a"]


def test_structured_values_keep_the_order_in_which_they_came() -> None:
    """Features are made of them: a replay in another process must find the same bytes."""
    sent = {f"key{number * 7919 % 1000}": number for number in range(64)}
    assert list(read_any(any_value(sent).SerializeToString())) == list(sent)
