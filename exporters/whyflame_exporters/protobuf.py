"""Length-delimited protobuf fields, which is all that push requests are made of."""

from __future__ import annotations

__all__ = ["message", "text"]


def message(field: int, body: bytes) -> bytes:
    """A field that holds bytes or another message."""
    length, encoded = len(body), bytearray((field << 3 | 2,))
    while length > 0x7F:  # noqa: PLR2004 - seven bits a byte
        encoded.append(length & 0x7F | 0x80)
        length >>= 7
    encoded.append(length)
    return bytes(encoded) + body


def text(field: int, value: str) -> bytes:
    """A field that holds a string."""
    return message(field, value.encode())
