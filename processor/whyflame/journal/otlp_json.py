"""OTLP requests as messages, and OTLP/JSON turned into the protobuf that frames hold.

OTLP/JSON is not proto3 JSON: ids are hexadecimal, enums are integers only, keys are lowerCamelCase
only, unknown keys are ignored; 64-bit integers may be strings or numbers. Integers out of range are
clamped instead of refused, so that one absurd number does not cost a whole batch: the dialects
recognise the limits as absurd.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from functools import cache
from typing import TYPE_CHECKING, Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, EncodeError

from whyflame.errors import PermanentError
from whyflame.journal.frame import Signal

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.descriptor import Descriptor
    from google.protobuf.message import Message

__all__ = ["content_to_protobuf", "parse_json", "request_class", "to_protobuf"]

_HEX_FIELDS = frozenset({"trace_id", "span_id", "parent_span_id"})
_INTEGERS = {
    FieldDescriptor.CPPTYPE_INT32: (-(1 << 31), (1 << 31) - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(1 << 63), (1 << 63) - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, (1 << 32) - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, (1 << 64) - 1),
    FieldDescriptor.CPPTYPE_ENUM: (-(1 << 31), (1 << 31) - 1),
}
_FLOATS = (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT)

if TYPE_CHECKING:
    _Setter = Callable[[Any, Any], None]
    _Convert = Callable[[Any], Any]


@cache
def request_class(signal: Signal) -> Any:
    """The Export...ServiceRequest message class of a signal."""
    match signal:
        case Signal.TRACES:
            from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
                ExportTraceServiceRequest,
            )

            return ExportTraceServiceRequest
        case Signal.LOGS:
            from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
                ExportLogsServiceRequest,
            )

            return ExportLogsServiceRequest
        case Signal.METRICS:
            from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
                ExportMetricsServiceRequest,
            )

            return ExportMetricsServiceRequest


def to_protobuf(signal: Signal, text: bytes | str) -> bytes:
    """The protobuf bytes of one OTLP/JSON request.

    Raises:
        PermanentError: The text is not OTLP/JSON; the message names the key, never its value.
    """
    return _encode(signal, parse_json(signal, text))


def content_to_protobuf(signal: Signal, content: object) -> bytes:
    """The same for JSON that is decoded already."""
    return _encode(signal, _fill_request(signal, content))


def parse_json(signal: Signal, text: bytes | str) -> Message:
    """The message of one OTLP/JSON request. Raises PermanentError like `to_protobuf`."""
    try:
        content = json.loads(text, parse_constant=_refuse_constant)
        return _fill_request(signal, content)
    except RecursionError as error:
        raise _malformed("values nest too deeply") from error
    except ValueError as error:
        raise _malformed(f"not JSON ({_without_content(error)})") from error


def _fill_request(signal: Signal, content: object) -> Message:
    message: Message = request_class(signal)()
    _fill(message, content, _plan(message.DESCRIPTOR), "request")
    return message


def _encode(signal: Signal, message: Message) -> bytes:
    """Serialised, and proven readable: decoding bounds the depth of nesting, encoding does not."""
    try:
        encoded: bytes = message.SerializeToString()
        request_class(signal).FromString(encoded)
    except (DecodeError, EncodeError) as error:
        raise _malformed("attribute values nest too deeply") from error
    return encoded


def _fill(message: Any, content: Any, plan: dict[str, _Setter], where: str) -> None:
    if not isinstance(content, dict):
        raise _malformed(f"{where} must be an object")
    for key, value in content.items():
        setter = plan.get(key)
        if setter is not None and value is not None:
            setter(message, value)


@cache
def _plan(descriptor: Descriptor) -> dict[str, _Setter]:
    """What to do with each lowerCamelCase key of a message type."""
    return {field.json_name: _setter(field) for field in descriptor.fields}


def _setter(field: FieldDescriptor) -> _Setter:
    if field.message_type is not None:
        return _message_list(field) if field.is_repeated else _message(field)
    convert = _conversion(field)
    if field.is_repeated:
        return _scalar_list(field, convert)
    name = field.name
    return lambda message, value: setattr(message, name, convert(value))


def _message(field: FieldDescriptor) -> _Setter:
    name, key, descriptor = field.name, field.json_name, field.message_type

    def set_message(message: Any, value: Any) -> None:
        target = getattr(message, name)
        target.SetInParent()  # an empty object is present, not absent
        _fill(target, value, _plan(descriptor), key)

    return set_message


def _message_list(field: FieldDescriptor) -> _Setter:
    name, key, descriptor = field.name, field.json_name, field.message_type

    def add_messages(message: Any, values: Any) -> None:
        target, plan = getattr(message, name), _plan(descriptor)
        for value in _as_list(values, key):
            _fill(target.add(), value, plan, key)

    return add_messages


def _scalar_list(field: FieldDescriptor, convert: _Convert) -> _Setter:
    name, key = field.name, field.json_name

    def add_scalars(message: Any, values: Any) -> None:
        getattr(message, name).extend(convert(value) for value in _as_list(values, key))

    return add_scalars


def _as_list(values: Any, key: str) -> list[Any]:
    if not isinstance(values, list):
        raise _malformed(f"{key} must be an array")
    return values


def _conversion(field: FieldDescriptor) -> _Convert:
    key, kind = field.json_name, field.cpp_type
    if kind in _INTEGERS:
        low, high = _INTEGERS[kind]
        is_enum = kind == FieldDescriptor.CPPTYPE_ENUM
        return lambda value: min(max(_integer(value, key, is_enum=is_enum), low), high)
    if kind in _FLOATS:
        return lambda value: _number(value, key)
    if kind == FieldDescriptor.CPPTYPE_BOOL:
        return lambda value: _typed(value, bool, key)
    if field.type == FieldDescriptor.TYPE_BYTES:
        decode = _from_hex if field.name in _HEX_FIELDS else _from_base64
        return lambda value: decode(value, key)
    return lambda value: _text(value, key)


def _integer(value: Any, key: str, *, is_enum: bool) -> int:
    if isinstance(value, str) and not is_enum:
        try:
            return int(value) if value.lstrip("-").isdecimal() else _integral(float(value), key)
        except ValueError as error:
            raise _malformed(f"{key} must be an integer") from error
    if isinstance(value, float):
        return _integral(value, key)
    if isinstance(value, bool) or not isinstance(value, int):
        raise _malformed(f"{key} must be an integer")
    return value


def _integral(value: float, key: str) -> int:
    if not math.isfinite(value) or not value.is_integer():
        raise _malformed(f"{key} must be an integer")
    return int(value)


def _number(value: Any, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise _malformed(f"{key} must be a number")
    try:
        return float(value)  # "NaN", "Infinity" and "-Infinity" are strings in JSON
    except OverflowError:
        return math.inf if isinstance(value, int) and value > 0 else -math.inf
    except ValueError as error:
        raise _malformed(f"{key} must be a number") from error


def _typed(value: Any, kind: type, key: str) -> Any:
    if not isinstance(value, kind):
        raise _malformed(f"{key} must be a {kind.__name__}")
    return value


def _text(value: Any, key: str) -> str:
    text: str = _typed(value, str, key)
    # Text cut in the middle of an emoji by JavaScript holds half a surrogate pair.
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _from_hex(value: Any, key: str) -> bytes:
    try:
        return binascii.unhexlify(_typed(value, str, key))
    except ValueError as error:
        raise _malformed(f"{key} must be hexadecimal") from error


def _from_base64(value: Any, key: str) -> bytes:
    text = _typed(value, str, key).replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError as error:
        raise _malformed(f"{key} must be base64") from error


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not allowed")


def _without_content(error: ValueError) -> str:
    """What is wrong, without quoting the sender's text."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.pos}"
    return "not UTF-8" if isinstance(error, UnicodeError) else "a number or constant is not valid"


def _malformed(message: str) -> PermanentError:
    return PermanentError(f"malformed OTLP/JSON: {message}", "malformed")
