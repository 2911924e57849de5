"""OTLP/JSON is read by its own rules, not by those of proto3 JSON."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from hypothesis import given, strategies as st

from whyflame.errors import PermanentError
from whyflame.journal import Signal
from whyflame.journal.otlp_json import parse_json, request_class, to_protobuf

TRACE_ID, SPAN_ID = "0AF7651916cd43dd8448eb211c80319c", "b7AD6b7169203331"


def span_of(**fields: Any) -> Any:
    """The one span of a request with these JSON fields."""
    body = {"resourceSpans": [{"scopeSpans": [{"spans": [fields]}]}]}
    message: Any = parse_json(Signal.TRACES, json.dumps(body))
    return message.resource_spans[0].scope_spans[0].spans[0]


def value_of(**value: Any) -> Any:
    """An attribute value given as JSON."""
    return span_of(attributes=[{"key": "k", "value": value}]).attributes[0].value


def test_ids_are_hexadecimal_in_any_case() -> None:
    """Trace, span and parent ids are hex; links too."""
    span = span_of(
        traceId=TRACE_ID,
        spanId=SPAN_ID,
        parentSpanId=SPAN_ID.lower(),
        links=[{"traceId": TRACE_ID, "spanId": SPAN_ID}],
    )
    assert span.trace_id == bytes.fromhex(TRACE_ID)
    assert span.span_id == span.parent_span_id == span.links[0].span_id == bytes.fromhex(SPAN_ID)
    assert span.links[0].trace_id == bytes.fromhex(TRACE_ID)


@pytest.mark.parametrize(
    "value", ["1700000000000000001", 1700000000000000001], ids=["string", "number"]
)
def test_64_bit_integers_come_as_strings_and_as_numbers(value: object) -> None:
    """Both forms give the same exact integer."""
    assert span_of(startTimeUnixNano=value).start_time_unix_nano == 1700000000000000001
    assert value_of(intValue=value).int_value == 1700000000000000001


def test_unknown_and_snake_case_keys_are_ignored() -> None:
    """Only lowerCamelCase names of the schema count; null means absent."""
    span = span_of(name="a", trace_id=TRACE_ID, somethingNew={"deep": [1]}, kind=None)
    assert (span.name, span.trace_id, span.kind) == ("a", b"", 0)


def test_enums_are_integers_only() -> None:
    """OTLP forbids enum names; an unknown number is kept."""
    assert span_of(kind=3).kind == 3
    with pytest.raises(PermanentError, match="kind must be an integer"):
        span_of(kind="SPAN_KIND_CLIENT")


def test_other_bytes_are_base64() -> None:
    """bytesValue is base64, standard or URL-safe, padded or not."""
    for text in ("+/8=", "-_8", "+/8"):
        assert value_of(bytesValue=text).bytes_value == b"\xfb\xff"


def test_every_kind_of_value_is_read() -> None:
    """All variants of AnyValue, empty containers included."""
    assert value_of(stringValue="x").string_value == "x"
    assert value_of(boolValue=True).bool_value is True
    assert math.isnan(value_of(doubleValue="NaN").double_value)
    assert value_of(doubleValue=2).double_value == 2.0
    assert value_of(arrayValue={}).WhichOneof("value") == "array_value"
    nested = value_of(
        kvlistValue={
            "values": [{"key": "a", "value": {"arrayValue": {"values": [{"intValue": 1}]}}}]
        }
    )
    assert nested.kvlist_value.values[0].value.array_value.values[0].int_value == 1


def test_integers_out_of_range_are_clamped() -> None:
    """One absurd number does not cost the batch; the limits are recognised as absurd later."""
    assert span_of(startTimeUnixNano=-5).start_time_unix_nano == 0
    assert span_of(startTimeUnixNano=10**30).start_time_unix_nano == (1 << 64) - 1
    assert value_of(intValue=str(10**30)).int_value == (1 << 63) - 1
    assert value_of(doubleValue=10**400).double_value == math.inf


def test_half_a_surrogate_pair_is_replaced() -> None:
    """Text that JavaScript cut inside an emoji costs one character, not the request."""
    assert value_of(stringValue="ok \ud83d").string_value == "ok ?"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "7",
        '{"resourceSpans": {}}',
        '{"resourceSpans": [7]}',
        '{"resourceSpans": [{"resource": {"droppedAttributesCount": NaN}}]}',
        '{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "xyz"}]}]}]}',
        '{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": 5}]}]}]}',
        '{"resourceSpans": [{"scopeSpans": [{"spans": [{"startTimeUnixNano": 1.5}]}]}]}',
        '{"resourceSpans": [{"scopeSpans": [{"spans": [{"startTimeUnixNano": true}]}]}]}',
        b'{"resourceSpans": "\xff"}',
        '{"a":' * 100_000,
        '{"a": ' + "9" * 5000 + "}",
    ],
    ids=range(13),
)
def test_what_is_not_otlp_json_is_refused(text: str | bytes) -> None:
    """Malformed input is a permanent error, whatever is wrong with it."""
    with pytest.raises(PermanentError) as caught:
        to_protobuf(Signal.TRACES, text)
    assert caught.value.reason == "malformed"


def test_values_that_nest_too_deeply_are_refused() -> None:
    """What protobuf cannot read back is refused on entry."""
    value: dict[str, Any] = {"intValue": 1}
    for _ in range(150):
        value = {"arrayValue": {"values": [value]}}
    body = {
        "resourceSpans": [
            {"scopeSpans": [{"spans": [{"attributes": [{"key": "k", "value": value}]}]}]}
        ]
    }
    with pytest.raises(PermanentError):
        to_protobuf(Signal.TRACES, json.dumps(body))


def test_the_message_never_quotes_the_sender() -> None:
    """Errors name keys, not values: a value may be content."""
    with pytest.raises(PermanentError) as caught:
        span_of(name={"secret": "hunter2"})
    assert "hunter2" not in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["resourceSpans", "scopeSpans", "spans", "attributes", "key", "value", "intValue",
             "stringValue", "traceId", "kind", "startTimeUnixNano", "arrayValue", "values"]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=20,
)  # fmt: skip


@given(JSON)
def test_any_json_is_read_or_refused(content: Any) -> None:
    """No input raises anything but PermanentError, and what is read is valid protobuf."""
    try:
        encoded = to_protobuf(Signal.TRACES, json.dumps(content))
    except PermanentError:
        return
    MessageToDict(request_class(Signal.TRACES).FromString(encoded))
