"""Frames: how one request lies in a segment file. Pure functions from and to bytes.

    marker 4 | signal 1 | encoding 1 | tenant length 2 | payload length 4 | received_ns 8
    | CRC32 of tenant and payload 4 | CRC32 of the 24 bytes before 4 | tenant | payload

The header has a checksum of its own: a damaged length is recognised as damage instead of being
taken for a frame that is still being written, and a damaged payload is skipped exactly.

Behind a frame zeros may fill the rest of its block of the file; frames stand close together otherwise.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from zlib import crc32

from whyflame import native
from whyflame.errors import PermanentError

__all__ = [
    "BLOCK_BYTES",
    "HEADER_BYTES",
    "MARKER",
    "Encoding",
    "Header",
    "Signal",
    "encode_head",
    "find_header",
    "is_intact",
    "padding_bytes",
    "read_header",
]

MARKER = b"\xf5WJ\x01"  # 0xf5 never occurs in UTF-8; the last byte is the format's version
_HEADER = struct.Struct("<4sBBHIQII")
_CHECKED = 24  # bytes of the header in front of its own checksum
HEADER_BYTES = _HEADER.size
BLOCK_BYTES = 4096  # of files, for writes past the system's cache: no device wants more
MAX_PAYLOAD_BYTES = 1 << 30
MAX_TENANT_BYTES = 1024
# Of megabytes: the same checksum, in less than half the time.
_body_crc = native.part.crc32 if native.part is not None and native.part.CHECKSUM else crc32


class Signal(IntEnum):
    """OTLP signal of a request; `label` is its name in paths and metrics."""

    TRACES = 1
    LOGS = 2
    METRICS = 3

    @property
    def label(self) -> str:
        """`traces`, `logs` or `metrics`."""
        return self.name.lower()


class Encoding(IntEnum):
    """How the payload is encoded. Receivers store PROTOBUF only (JSON is converted on entry)."""

    PROTOBUF = 1
    JSON = 2


@dataclass(frozen=True, slots=True)
class Header:
    """A header whose checksum held."""

    signal: Signal
    encoding: Encoding
    tenant_bytes: int
    payload_bytes: int
    received_ns: int
    body_crc: int

    @property
    def frame_bytes(self) -> int:
        """Length of the whole frame."""
        return HEADER_BYTES + self.tenant_bytes + self.payload_bytes


def encode_head(
    payload: bytes, *, signal: Signal, encoding: Encoding, tenant: str, received_ns: int
) -> bytes:
    """Header and tenant; the frame is this followed by `payload`, which is not copied."""
    name = tenant.encode()
    if len(name) > MAX_TENANT_BYTES:
        raise PermanentError(f"tenant name longer than {MAX_TENANT_BYTES} bytes", "bad_tenant")
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise PermanentError(f"request larger than {MAX_PAYLOAD_BYTES} bytes", "too_large")
    body_crc = _body_crc(payload, crc32(name))
    sizes = (len(name), len(payload))
    head = _HEADER.pack(MARKER, signal, encoding, *sizes, received_ns, body_crc, 0)
    return head[:_CHECKED] + struct.pack("<I", crc32(head[:_CHECKED])) + name


def read_header(data: bytes | memoryview, at: int) -> Header | None:
    """The header at `at`, or None when those bytes are not one.

    Args:
        data: At least HEADER_BYTES from `at` on.
        at: Where the frame begins.
    """
    fields = _HEADER.unpack_from(data, at)
    marker, signal, encoding, tenant_bytes, payload_bytes, received_ns, body_crc, head_crc = fields
    if marker != MARKER or crc32(memoryview(data)[at : at + _CHECKED]) != head_crc:
        return None
    if payload_bytes > MAX_PAYLOAD_BYTES or signal not in _SIGNALS or encoding not in _ENCODINGS:
        return None
    return Header(
        Signal(signal), Encoding(encoding), tenant_bytes, payload_bytes, received_ns, body_crc
    )


def find_header(data: bytes, start: int) -> int | None:
    """Where the next intact header begins at or after `start`; None when there is none."""
    at = data.find(MARKER, start)
    while at >= 0 and at + HEADER_BYTES <= len(data):
        if read_header(data, at) is not None:
            return at
        at = data.find(MARKER, at + 1)
    return None


def is_intact(header: Header, data: bytes | memoryview, at: int) -> bool:
    """True when tenant and payload of the frame at `at` match their checksum."""
    body = memoryview(data)[at + HEADER_BYTES : at + header.frame_bytes]
    return _body_crc(body, 0) == header.body_crc


def padding_bytes(data: bytes | memoryview, at: int, offset: int) -> int:
    """How many zeros at `at` fill their block; 0 when something else stands there.

    Args:
        data: Bytes of a segment file. at: Where a frame ended. offset: Of `data` in the file.
    """
    missing = -(offset + at) % BLOCK_BYTES
    return missing if data[at : at + missing] == bytes(missing) else 0


_SIGNALS = frozenset(Signal)
_ENCODINGS = frozenset(Encoding)
