"""Nothing grows past its bound at the entry."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given, strategies as st

from whyflame.errors import Backpressure, PermanentError
from whyflame.receive.limits import InflightBytes, inflate


@given(st.lists(st.binary(max_size=500), max_size=3))
def test_gzip_of_any_members_is_inflated(parts: list[bytes]) -> None:
    """Concatenated members give concatenated content."""
    packed = b"".join(gzip.compress(part) for part in parts)
    assert inflate(packed, 2000) == b"".join(parts)


def test_the_limit_holds_exactly() -> None:
    """Content of the limit's size passes, one byte more does not."""
    assert len(inflate(gzip.compress(bytes(1000)), 1000)) == 1000
    with pytest.raises(PermanentError) as caught:
        inflate(gzip.compress(bytes(1001)), 1000)
    assert caught.value.reason == "too_large"


def test_deflate_is_inflated_too() -> None:
    """HTTP's deflate is zlib."""
    assert inflate(zlib.compress(b"abc"), 10) == b"abc"


@pytest.mark.parametrize("cut", [1, 5, 12, 20])
def test_a_cut_off_body_is_refused(cut: int) -> None:
    """A truncated stream is an error, not a shorter body."""
    packed = gzip.compress(b"hello hello hello")
    with pytest.raises(PermanentError) as caught:
        inflate(packed[:-cut], 1000)
    assert caught.value.reason == "bad_compression"


@given(st.binary(min_size=1, max_size=100))
def test_rubbish_is_refused(data: bytes) -> None:
    """No bytes raise anything but PermanentError."""
    try:
        inflate(data, 1000)
    except PermanentError:
        return


def test_bytes_in_hand_are_bounded_and_given_back() -> None:
    """Beyond the bound new requests wait; one alone always passes."""
    inflight = InflightBytes(100)
    with inflight.hold() as first:
        first.add(90)
        with inflight.hold() as second, pytest.raises(Backpressure):
            second.add(20)
        first.add(10)
        with pytest.raises(Backpressure):
            inflight.check()
    assert inflight.used == 0
    with inflight.hold() as large:
        large.add(1000)
    assert inflight.used == 0
