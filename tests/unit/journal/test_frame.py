"""A frame says what it holds, and damage to it is always seen."""

from __future__ import annotations

from zlib import crc32

import pytest
from hypothesis import example, given, strategies as st

from whyflame.errors import PermanentError
from whyflame.journal import Encoding, Signal, frame
from whyflame.journal.frame import (
    BLOCK_BYTES,
    HEADER_BYTES,
    MARKER,
    encode_head,
    find_header,
    is_intact,
    padding_bytes,
    read_header,
)

TENANTS = st.text(max_size=20)
PAYLOADS = st.binary(max_size=200)


def make_frame(payload: bytes, tenant: str = "", signal: Signal = Signal.TRACES) -> bytes:
    head = encode_head(
        payload, signal=signal, encoding=Encoding.PROTOBUF, tenant=tenant, received_ns=7
    )
    return head + payload


@given(PAYLOADS, TENANTS, st.sampled_from(Signal))
def test_what_is_encoded_is_read_back(payload: bytes, tenant: str, signal: Signal) -> None:
    """Header fields and body survive the round trip."""
    data = make_frame(payload, tenant, signal)
    header = read_header(data, 0)
    assert header is not None
    assert (header.signal, header.received_ns) == (signal, 7)
    assert header.frame_bytes == len(data)
    assert data[HEADER_BYTES : HEADER_BYTES + header.tenant_bytes].decode() == tenant
    assert is_intact(header, data, 0)


@given(PAYLOADS, st.data())
def test_one_changed_bit_is_seen(payload: bytes, data: st.DataObject) -> None:
    """A flipped bit makes the header unreadable or the body not intact."""
    frame = bytearray(make_frame(payload, "t"))
    at = data.draw(st.integers(0, len(frame) - 1))
    frame[at] ^= 1 << data.draw(st.integers(0, 7))
    header = read_header(bytes(frame), 0)
    assert header is None or not is_intact(header, bytes(frame), 0)


@given(st.binary(max_size=300), PAYLOADS)
def test_the_next_frame_is_found_behind_rubbish(rubbish: bytes, payload: bytes) -> None:
    """Resynchronising lands on the next intact header."""
    data = rubbish + make_frame(payload)
    found = find_header(data, 0)
    assert found is not None
    assert found <= len(rubbish)
    assert read_header(data, found) is not None


def test_a_tenant_name_is_bounded() -> None:
    """A tenant name beyond its bound is refused, not cut."""
    with pytest.raises(PermanentError):
        make_frame(b"", "t" * 2000)


@given(st.integers(0, 3 * BLOCK_BYTES), st.integers(0, 2 * BLOCK_BYTES), st.booleans())
def test_only_zeros_up_to_the_end_of_a_block_are_padding(
    offset: int, at: int, is_hit: bool
) -> None:
    """Not the beginning of a frame, not zeros that are cut off, nothing at a block's end."""
    missing = -(offset + at) % BLOCK_BYTES
    data = bytes(at) + bytes(missing) + b"x"
    assert padding_bytes(data, at, offset) == missing
    if missing:
        assert padding_bytes(data[: at + missing - 1], at, offset) == 0
        hit = at + (missing - 1 if is_hit else 0)
        assert padding_bytes(data[:hit] + MARKER[:1] + data[hit + 1 :], at, offset) == 0


@given(st.binary(max_size=2000), st.integers(0, (1 << 32) - 1), st.integers(0, 40))
@example(bytes(100_000), 0, 1)
def test_checksums_are_zlibs_whoever_takes_them(body: bytes, before: int, begins: int) -> None:
    """Journals do not depend on where the native part is installed."""
    assert frame._body_crc(body, before) == crc32(body, before)
    assert frame._body_crc(memoryview(body)[begins:], before) == crc32(body[begins:], before)
