"""Raw `AnyValue` bytes into Python values, decoded only when a dialect asks for them."""

from __future__ import annotations

import json
import math
import struct
from typing import Any

from whyflame.dialects.decode import decode_key_values

__all__ = [
    "MAX_COUNT",
    "cut_text",
    "is_int",
    "known_text",
    "read_any",
    "read_bool",
    "read_count",
    "read_dollars",
    "read_int",
    "read_json",
    "read_number",
    "read_once",
    "read_text",
]

_STRING, _BOOL, _INT, _DOUBLE, _ARRAY, _KEY_VALUES, _BYTES = (
    0x0A,
    0x10,
    0x18,
    0x21,
    0x2A,
    0x32,
    0x3A,
)
_MEMO_LIMIT = 65_536
_MEMO_BYTES = 96
_ONE_BYTE = 0x80
_DEPTH_LIMIT = 24

MAX_COUNT = 10**12
"""Larger token counts, and costs in nano-dollars beyond a billion dollars, are not believed."""

_MAX_NANOUSD = 10**18
_texts: dict[bytes, str] = {}
known_text = _texts.get
"""Text of a short raw value that was read before ("" for none); None when it has to be read."""


def _varint(raw: bytes, offset: int) -> tuple[int, int]:
    """(value, next offset) of the varint at `offset`."""
    value = shift = 0
    for byte in raw[offset : offset + 10]:
        value |= (byte & 0x7F) << shift
        offset += 1
        if byte < _ONE_BYTE:
            return value, offset
        shift += 7
    return value, len(raw)


def _body(raw: bytes) -> bytes:
    """The bytes behind tag and length."""
    length, offset = _length(raw)
    return raw[offset : offset + length]


def _length(raw: bytes) -> tuple[int, int]:
    """(length, offset) of what follows the tag: nearly always one or two bytes of length."""
    length = raw[1]
    if length < _ONE_BYTE:
        return length, 2
    if len(raw) > 2 and raw[2] < _ONE_BYTE:  # noqa: PLR2004 - tag and two bytes
        return length & 0x7F | raw[2] << 7, 3
    return _varint(raw, 1)


def read_int(raw: bytes) -> int:
    """The number of a raw integer value (tag `_INT`)."""
    size = len(raw)
    if size == 2:  # noqa: PLR2004 - tag and one byte: 0 to 127
        return raw[1]
    if size == 3 and raw[1] >= _ONE_BYTE > raw[2]:  # noqa: PLR2004 - to 16,383, as most counts of tokens
        return raw[1] & 0x7F | raw[2] << 7
    if size == 4 and raw[1] >= _ONE_BYTE and raw[2] >= _ONE_BYTE > raw[3]:  # noqa: PLR2004 - to 2,097,151
        return raw[1] & 0x7F | (raw[2] & 0x7F) << 7 | raw[3] << 14
    value, _ = _varint(raw, 1)
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def is_int(raw: bytes) -> bool:
    """True for an integer value."""
    return raw[:1] == b"\x18" and len(raw) > 1


def _double(raw: bytes) -> float:
    return float(struct.unpack_from("<d", raw, 1)[0]) if len(raw) >= 9 else math.nan  # noqa: PLR2004 - tag + 8


def read_text(raw: bytes) -> str | None:
    """Text of a string value, or of a number; None for empty, structured or boolean values."""
    if len(raw) <= _MEMO_BYTES:
        known = _texts.get(raw)
        if known is not None:
            return known or None
        text = read_once(raw)
        if len(_texts) >= _MEMO_LIMIT:
            _texts.clear()
        _texts[raw] = text or ""
        return text
    return read_once(raw)


def read_once(raw: bytes) -> str | None:
    """`read_text` of a value that hardly comes again: an id, or a long text."""
    size = len(raw)
    if size < 2:  # noqa: PLR2004 - no value or an empty one
        return None
    tag = raw[0]
    if tag == _STRING:
        if raw[1] == size - 2 < _ONE_BYTE:  # nearly every id, without two calls
            return raw[2:].decode("utf-8", "replace") or None
        return _body(raw).decode("utf-8", "replace") or None
    if tag == _INT:
        return str(read_int(raw))
    if tag == _DOUBLE:
        return repr(_double(raw))
    return None


def cut_text(raw: bytes, limit: int) -> tuple[str, int] | None:
    """(first `limit` characters, bytes of the whole) of a string value; None for others."""
    if len(raw) < 2 or raw[0] != _STRING:  # noqa: PLR2004
        return None
    length, offset = _length(raw)
    most = 4 * limit  # no character takes more bytes
    if length <= most:
        return raw[offset : offset + length].decode("utf-8", "replace")[:limit], length
    return raw[offset : offset + most].decode("utf-8", "ignore")[:limit], length


def read_any(raw: bytes, depth: int = 0) -> Any:
    """The value as Python object: str, bool, int, float, list, dict, bytes or None."""
    if len(raw) < 2 or depth > _DEPTH_LIMIT:  # noqa: PLR2004
        return "" if raw[:1] == b"\n" else None
    tag = raw[0]
    if tag == _STRING:
        return _body(raw).decode("utf-8", "replace")
    if tag == _BOOL:
        return raw[1] != 0
    if tag == _INT:
        return read_int(raw)
    if tag == _DOUBLE:
        return _double(raw)
    if tag == _ARRAY:
        return [read_any(item, depth + 1) for item in _items(_body(raw))]
    if tag == _KEY_VALUES:
        pairs = decode_key_values(_body(raw))
        return {key: read_any(value, depth + 1) for key, value in pairs.items()}
    return _body(raw) if tag == _BYTES else None


def _items(body: bytes) -> list[bytes]:
    """The raw values of an `ArrayValue`."""
    items, offset = [], 0
    while offset < len(body):
        if body[offset] != _STRING:  # field 1, length-delimited: the only field there is
            break
        length, start = _varint(body, offset + 1)
        items.append(body[start : start + length])
        offset = start + length
    return items


def read_json(raw: bytes) -> Any:
    """Like `read_any`, but text that holds JSON is parsed; None when it does not."""
    value = read_any(raw)
    if not isinstance(value, str):
        return value
    if not value or value[0] not in '[{"0123456789-tfn':
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def read_number(value: Any) -> float | int | str:
    """An int or float out of a value of any type; else the reason why not (`DUBIOUS_REASONS`)."""
    if isinstance(value, bool):
        return "number_boolean"
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        text = value.strip()
        if text.lower() in {"true", "false"}:
            return "number_boolean"
        try:
            value = int(text) if text.lstrip("+-").isdecimal() and len(text) < 40 else float(text)  # noqa: PLR2004
        except ValueError:
            return "number_not_numeric"
    if isinstance(value, float) and not math.isfinite(value):
        return "number_not_finite"
    return value if isinstance(value, (int, float)) else "number_not_numeric"


def read_count(value: Any) -> int | str:
    """A token count, or the reason why the value is none."""
    number = read_number(value)
    if isinstance(number, str):
        return number
    if number < 0:
        return "number_negative"
    if number > MAX_COUNT:
        return "number_too_large"
    return int(number) if number == int(number) else "number_not_numeric"


def read_dollars(value: Any) -> int | str:
    """US dollars as nano-dollars, or the reason why the value is none."""
    number = read_number(value)
    if isinstance(number, str):
        return number
    if number < 0:
        return "number_negative"
    nano = round(number * 1e9)
    return nano if nano <= _MAX_NANOUSD else "number_too_large"


def read_bool(raw: bytes) -> bool | None:
    """A boolean, also when sent as the text "true" or "false"."""
    value = read_any(raw)
    if isinstance(value, bool):
        return value
    text = str(value).lower()
    return True if text == "true" else False if text == "false" else None
