"""OTLP protobuf bytes into spans and log records whose attributes are looked up on demand.

`repeated KeyValue {key = 1, value = 2}` has the wire format of proto3 `map<string, bytes>`. Reading
it as such lets upb find a key in C and leaves every value that nobody asks for undecoded; fields no
dialect reads (trace state, flags, dropped counts) are not in the descriptor at all. An attribute
that is repeated keeps its last value, as the convention says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from whyflame.errors import PermanentError

if TYPE_CHECKING:
    from collections.abc import Callable

_PACKAGE = "whyflame.otlp.lean"
_FIELD = descriptor_pb2.FieldDescriptorProto
_BYTES, _STRING, _INT32, _FIXED64 = (
    _FIELD.TYPE_BYTES,
    _FIELD.TYPE_STRING,
    _FIELD.TYPE_INT32,
    _FIELD.TYPE_FIXED64,
)

# message -> ((field, number, type), ...); a type that is a string names a message of this table,
# a leading "*" makes it repeated, "?" is bytes that know whether they were sent. "attributes" is
# added as a map where a number is given.
_MESSAGES: tuple[tuple[str, int | None, tuple[tuple[str, int, int | str], ...]], ...] = (
    ("Status", None, (("message", 2, _BYTES), ("code", 3, _INT32))),
    ("Event", 3, (("time", 1, _FIXED64), ("name", 2, _STRING))),
    ("Link", None, (("trace_id", 1, _BYTES), ("span_id", 2, _BYTES))),
    (
        "Span",
        9,
        (
            ("trace_id", 1, _BYTES),
            ("span_id", 2, _BYTES),
            ("parent_id", 4, _BYTES),
            ("name", 5, _STRING),
            ("kind", 6, _INT32),
            ("start", 7, _FIXED64),
            ("end", 8, _FIXED64),
            ("events", 11, "*Event"),
            ("links", 13, "*Link"),
            ("status", 15, "?"),  # two bytes mostly: a message of its own costs 0.4 us to ask
        ),
    ),
    (
        "LogRecord",
        6,
        (
            ("time", 1, _FIXED64),
            ("severity", 2, _INT32),
            ("body", 5, _BYTES),
            ("trace_id", 9, _BYTES),
            ("span_id", 10, _BYTES),
            ("observed", 11, _FIXED64),
            ("event_name", 12, _STRING),
        ),
    ),
    ("Scope", None, (("name", 1, _STRING), ("version", 2, _STRING))),
    ("Resource", 1, ()),
    ("ScopeSpans", None, (("scope", 1, "Scope"), ("spans", 2, "*Span"))),
    ("ResourceSpans", None, (("resource", 1, "Resource"), ("scopes", 2, "*ScopeSpans"))),
    ("Traces", None, (("resources", 1, "*ResourceSpans"),)),
    ("ScopeLogs", None, (("scope", 1, "Scope"), ("records", 2, "*LogRecord"))),
    ("ResourceLogs", None, (("resource", 1, "Resource"), ("scopes", 2, "*ScopeLogs"))),
    ("Logs", None, (("resources", 1, "*ResourceLogs"),)),
    ("KeyValue", None, (("key", 1, _STRING), ("value", 2, _BYTES))),
    ("KeyValues", None, (("pairs", 1, "*KeyValue"),)),
    ("Values", None, (("values", 1, "*Raw"),)),
    ("Raw", None, ()),
)


def _add_map(message: descriptor_pb2.DescriptorProto, number: int) -> None:
    entry = message.nested_type.add(name="AttributesEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=_STRING, label=_FIELD.LABEL_OPTIONAL)
    entry.field.add(name="value", number=2, type=_BYTES, label=_FIELD.LABEL_OPTIONAL)
    message.field.add(
        name="attributes",
        number=number,
        type=_FIELD.TYPE_MESSAGE,
        label=_FIELD.LABEL_REPEATED,
        type_name=f".{_PACKAGE}.{message.name}.AttributesEntry",
    )


def _add_field(
    message: descriptor_pb2.DescriptorProto, name: str, number: int, kind: int | str
) -> None:
    if isinstance(kind, int):
        message.field.add(name=name, number=number, type=kind, label=_FIELD.LABEL_OPTIONAL)
        return
    if kind == "?":
        message.oneof_decl.add(name=f"_{name}")
        message.field.add(
            name=name, number=number, type=_BYTES, label=_FIELD.LABEL_OPTIONAL,
            proto3_optional=True, oneof_index=0,
        )  # fmt: skip
        return
    label = _FIELD.LABEL_REPEATED if kind.startswith("*") else _FIELD.LABEL_OPTIONAL
    target = f".{_PACKAGE}.{kind.removeprefix('*')}"
    message.field.add(
        name=name, number=number, type=_FIELD.TYPE_MESSAGE, label=label, type_name=target
    )


def _build() -> Callable[[str], Any]:
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{_PACKAGE}.proto", package=_PACKAGE, syntax="proto3"
    )
    for name, attributes, fields in _MESSAGES:
        message = file.message_type.add(name=name)
        if attributes is not None:
            _add_map(message, attributes)
        for field in fields:
            _add_field(message, *field)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return lambda name: message_factory.GetMessageClass(
        pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")
    )


_message = _build()
_TRACES = _message("Traces")
_LOGS = _message("Logs")
_KEY_VALUES = _message("KeyValues")
_STATUS = _message("Status")


def decode_traces(payload: bytes) -> Any:
    """`ExportTraceServiceRequest` bytes -> message with `.resources[].scopes[].spans[]`.

    Raises:
        PermanentError: The bytes are not this message.
    """
    return _decode(_TRACES, payload)


def decode_logs(payload: bytes) -> Any:
    """`ExportLogsServiceRequest` bytes -> message with `.resources[].scopes[].records[]`.

    Raises:
        PermanentError: The bytes are not this message.
    """
    return _decode(_LOGS, payload)


def decode_key_values(payload: bytes) -> dict[str, bytes]:
    """`KeyValueList` bytes -> raw value by key; empty when undecodable.

    In order of arrival, since texts are made of it: a map's order differs from process to process.
    """
    try:
        return {pair.key: pair.value for pair in _KEY_VALUES.FromString(payload).pairs}
    except DecodeError:
        return {}


def decode_status(payload: bytes) -> tuple[int, bytes]:
    """(code, message) of a span's status.

    Raises:
        PermanentError: The bytes are no status.
    """
    status = _decode(_STATUS, payload)
    return status.code, status.message


def _decode(message: Any, payload: bytes) -> Any:
    try:
        return message.FromString(payload)
    except DecodeError as error:
        raise PermanentError("not an OTLP request", reason="undecodable") from error
