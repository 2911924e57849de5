"""Fields written by hand are read by protobuf's library, and damaged ones are refused."""

from __future__ import annotations

import pytest
from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from hypothesis import given, strategies as st

from whyflame.wire import (
    bytes_field,
    number_field,
    read_fields,
    read_varint,
    text_field,
    varint,
)

INTEGERS = st.integers(-(1 << 63), (1 << 63) - 1)


@given(INTEGERS)
def test_varints_read_back(value: int) -> None:
    encoded = varint(value)
    assert read_varint(encoded + b"x", 0) == (value % (1 << 64), len(encoded))


@given(INTEGERS, st.integers(-(1 << 31), (1 << 31) - 1))
def test_numbers_are_those_of_the_library(seconds: int, nanos: int) -> None:
    """Zeros are left out, as proto3 has it."""
    written = number_field(1, seconds) + number_field(2, nanos)
    assert written == Duration(seconds=seconds, nanos=nanos).SerializeToString()


@given(st.text(min_size=1), st.binary(min_size=1, max_size=300))
def test_texts_and_bytes_are_those_of_the_library(text: str, body: bytes) -> None:
    written = text_field(1, text) + bytes_field(2, body)
    assert written == Any(type_url=text, value=body).SerializeToString()
    assert list(read_fields(written)) == [(1, text.encode()), (2, body)]


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        fields = list(read_fields(data))
    except ValueError:
        return
    assert sum(len(value) for _, value in fields if isinstance(value, bytes)) <= len(data)


@pytest.mark.parametrize(
    "data",
    [b"\x08", b"\x08\x80", b"\x0a\x05abc", b"\x0d\x00\x00\x00\x00", b"\x08" + b"\xff" * 11],
    ids=["no value", "no end", "too short", "fixed32", "too long a number"],
)
def test_damage_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"does not end|longer than|not read"):
        list(read_fields(data))
