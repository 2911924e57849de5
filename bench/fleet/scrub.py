"""Takes out what tells about the machine the recording was made on."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
    from opentelemetry.proto.resource.v1.resource_pb2 import Resource
    from opentelemetry.proto.trace.v1.trace_pb2 import Span

HERE = str(Path(__file__).resolve().parent)
_RULES = (
    (re.compile(re.escape(HERE) + "/"), "app/"),
    (re.compile(r"/[\w./+-]*/site-packages/"), "site-packages/"),
    (re.compile(r"/[\w./+-]*/lib/(python3\.\d+)/"), r"\1/"),
    (re.compile(r"127\.0\.0\.1(:\d+)?"), "llm.example.test"),
)
_PRIVATE = ("host.", "process.", "os.")


def scrub_text(text: str) -> str:
    """Text without paths and addresses of this machine."""
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text


def _scrub_value(value: AnyValue) -> None:
    if value.HasField("string_value"):
        value.string_value = scrub_text(value.string_value)
    for item in value.array_value.values if value.HasField("array_value") else ():
        _scrub_value(item)


def _scrub_pairs(pairs: Iterable[KeyValue]) -> None:
    for pair in pairs:
        _scrub_value(pair.value)
        if pair.key == "server.port":
            pair.value.int_value = 443


def scrub_span(span: Span) -> None:
    """Clean one span and its events in place."""
    _scrub_pairs(span.attributes)
    span.status.message = scrub_text(span.status.message)
    for event in span.events:
        _scrub_pairs(event.attributes)


def scrub_resource(resource: Resource) -> None:
    """Drop host and process of the recorder in place."""
    kept = [pair for pair in resource.attributes if not pair.key.startswith(_PRIVATE)]
    del resource.attributes[:]
    resource.attributes.extend(kept)
