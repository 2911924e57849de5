"""Protobuf's encoding by hand, for messages of a few fields: no schema, no library, no copies.

Writers and readers for large or many messages are elsewhere, and made for those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["bytes_field", "number_field", "read_fields", "read_varint", "text_field", "varint"]

_SEVEN_BITS, _FOURTEEN_BITS = 0x7F, 0x3FFF
_SIXTY_FOUR_BITS = (1 << 64) - 1
_MORE = 0x80
_LONGEST_SHIFT = 63
_NUMBER, _BYTES = 0, 2  # wire types


def varint(value: int) -> bytes:
    """Base-128 encoding of an integer; negative ones as 64-bit two's complement."""
    value &= _SIXTY_FOUR_BITS
    if value <= _SEVEN_BITS:
        return bytes((value,))
    if value <= _FOURTEEN_BITS:
        return bytes((value & _SEVEN_BITS | _MORE, value >> 7))
    encoded = bytearray()
    while value > _SEVEN_BITS:
        encoded.append(value & _SEVEN_BITS | _MORE)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def number_field(field: int, value: int) -> bytes:
    """A field that holds an integer; proto3 leaves zeros out."""
    return varint(field << 3 | _NUMBER) + varint(value) if value else b""


def bytes_field(field: int, body: bytes) -> bytes:
    """A field that holds bytes or another message."""
    return varint(field << 3 | _BYTES) + varint(len(body)) + body


def text_field(field: int, text: str) -> bytes:
    """A field that holds a string."""
    return bytes_field(field, text.encode())


def read_fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(number, value) of every field: an int, or bytes for all that has a length.

    Raises:
        ValueError: The message ends too early, or has a field of another kind.
    """
    at = 0
    while at < len(message):
        tag, at = read_varint(message, at)
        value, at = read_varint(message, at)
        if tag & 7 == _NUMBER:
            yield tag >> 3, value
        elif tag & 7 == _BYTES:
            if value > len(message) - at:
                raise ValueError("a field is longer than its message")
            yield tag >> 3, message[at : at + value]
            at += value
        else:
            raise ValueError(f"fields of wire type {tag & 7} are not read")


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """An integer, and where what follows it begins.

    Raises:
        ValueError: It does not end, or has more than 64 bits.
    """
    value = shift = 0
    while shift <= _LONGEST_SHIFT and at < len(data):
        byte = data[at]
        at += 1
        value |= (byte & _SEVEN_BITS) << shift
        if byte <= _SEVEN_BITS:
            return value, at
        shift += 7
    raise ValueError("a number does not end")
