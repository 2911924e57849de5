"""The structure of a request, looked at by the native part.

It accepts what it is sure of, in a third of the time of a parse and while other threads run; what is
unusual or wrong, and everything where the native part is not installed, is left to the parse, which says
what a request is.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from google.protobuf.descriptor import FieldDescriptor

from whyflame import native
from whyflame.journal import Signal
from whyflame.journal.otlp_json import request_class

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

__all__ = ["look_at"]

# As native/src/otlp.rs reads them: 32 bytes a message, one a field.
_WIDTH = 32
_VARINT, _FIXED64, _FIXED32, _BYTES, _TEXT, _UNDECIDED, _MESSAGES = 1, 2, 3, 4, 5, 6, 8
_KINDS = {
    FieldDescriptor.TYPE_BOOL: _VARINT,
    FieldDescriptor.TYPE_BYTES: _BYTES,
    FieldDescriptor.TYPE_DOUBLE: _FIXED64,
    FieldDescriptor.TYPE_ENUM: _VARINT,
    FieldDescriptor.TYPE_FIXED32: _FIXED32,
    FieldDescriptor.TYPE_FIXED64: _FIXED64,
    FieldDescriptor.TYPE_FLOAT: _FIXED32,
    FieldDescriptor.TYPE_INT32: _VARINT,
    FieldDescriptor.TYPE_INT64: _VARINT,
    FieldDescriptor.TYPE_SFIXED32: _FIXED32,
    FieldDescriptor.TYPE_SFIXED64: _FIXED64,
    FieldDescriptor.TYPE_SINT32: _VARINT,
    FieldDescriptor.TYPE_SINT64: _VARINT,
    FieldDescriptor.TYPE_STRING: _TEXT,
    FieldDescriptor.TYPE_UINT32: _VARINT,
    FieldDescriptor.TYPE_UINT64: _VARINT,
}
_LENGTH_FIRST = frozenset({_BYTES, _TEXT})
# What is counted, and which of its times is looked at.
_ITEMS = {Signal.TRACES: ("Span", "start_time_unix_nano"), Signal.LOGS: ("LogRecord", "")}


def look_at(signal: Signal, payload: bytes, times: tuple[int, int]) -> tuple[int, bool] | None:
    """How many items a request has, and whether the first of a scope begins outside of `times`.

    Returns:
        None where the request must be parsed to be judged.
    """
    part, schema = native.part, _schema(signal)
    if part is None or schema is None:
        return None
    found = part.look_at_request(schema, payload, *times)
    return None if found is None else (found[0], bool(found[1]))


@cache
def _schema(signal: Signal) -> Any:
    """The handle for a signal's requests, made from what the protobuf library knows of them."""
    if native.part is None or signal not in _ITEMS:
        return None
    item_name, time_name = _ITEMS[signal]
    messages = _messages(request_class(signal).DESCRIPTOR)
    rows = [_row(message, messages) for message in messages]
    item = next(at for at, message in enumerate(messages) if message.name == item_name)
    time = messages[item].fields_by_name[time_name].number if time_name else 0
    return native.part.request_schema(b"".join(rows), item, time)


def _messages(request: Descriptor) -> list[Descriptor]:
    """All that can occur in a request, which stands first."""
    found = [request]
    for message in found:
        inner = [field.message_type for field in message.fields if field.message_type is not None]
        found += [one for one in dict.fromkeys(inner) if one not in found]
    return found


def _row(message: Descriptor, messages: list[Descriptor]) -> bytes:
    row = bytearray(_WIDTH)
    for field in message.fields:
        # A number beyond the row cannot be told from an unknown one there: nothing is decided then.
        if field.number >= _WIDTH:
            return bytes([_UNDECIDED]) * _WIDTH
        row[field.number] = _kind(field, messages)
    return bytes(row)


def _kind(field: FieldDescriptor, messages: list[Descriptor]) -> int:
    if field.message_type is not None and field.type == FieldDescriptor.TYPE_MESSAGE:
        number = _MESSAGES + messages.index(field.message_type)
        return number if number < 256 else _UNDECIDED  # noqa: PLR2004 - a byte
    kind = _KINDS.get(field.type, _UNDECIDED)
    # Numbers that repeat may lie packed.
    return _UNDECIDED if field.is_repeated and kind not in _LENGTH_FIRST else kind
