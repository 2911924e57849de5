"""One parse decides whether a body is a request of its signal."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from whyflame.errors import PermanentError
from whyflame.journal import Encoding, Signal
from whyflame.journal.otlp_json import request_class
from whyflame.journal.parts import MAX_PARTS
from whyflame.receive.validate import check
from whyflame.wire import bytes_field


def test_items_are_counted_over_all_groups() -> None:
    """Spans of every resource and scope count."""
    message = request_class(Signal.TRACES)()
    for count in (2, 0, 3):
        group = message.resource_spans.add()
        scope = group.scope_spans.add()
        for _ in range(count):
            scope.spans.add(name="a")
    checked = check(Signal.TRACES, Encoding.PROTOBUF, message.SerializeToString())
    assert checked.items == 5


@pytest.mark.parametrize("signal", list(Signal))
def test_an_empty_request_is_fine(signal: Signal) -> None:
    """Nothing to keep, nothing wrong."""
    assert check(signal, Encoding.PROTOBUF, b"").items == 0
    assert check(signal, Encoding.JSON, b"{}").payload == b""


@given(st.binary(max_size=100), st.sampled_from(Signal), st.sampled_from(Encoding))
def test_any_bytes_are_read_or_refused(body: bytes, signal: Signal, encoding: Encoding) -> None:
    """No body raises anything but PermanentError."""
    with suppress(PermanentError):
        assert check(signal, encoding, body).items >= 0


def test_json_becomes_the_protobuf_it_means() -> None:
    """The journal holds protobuf only."""
    body = b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a"}]}]}]}'
    checked = check(Signal.TRACES, Encoding.JSON, body)
    message = request_class(Signal.TRACES).FromString(checked.payload)
    assert message.resource_spans[0].scope_spans[0].spans[0].name == "a"
    assert checked.items == 1


@pytest.mark.parametrize("signal", list(Signal))
@pytest.mark.parametrize("encoding", list(Encoding))
def test_more_parts_than_are_read_at_a_time_are_refused(signal: Signal, encoding: Encoding) -> None:
    """Two bytes a span, or less in gzip, would be gigabytes of them once they are read."""
    number = MAX_PARTS + 1
    message = request_class(signal)()
    if encoding is Encoding.PROTOBUF:
        body = b"\x0a\x00" * number
    else:
        key = message.DESCRIPTOR.fields[0].json_name
        body = f'{{"{key}":[{",".join(["{}"] * number)}]}}'.encode()
    with pytest.raises(PermanentError, match="send smaller ones") as caught:
        check(signal, encoding, body)
    assert caught.value.reason == "too_large"


@pytest.mark.parametrize("signal", list(Signal))
def test_more_items_than_are_read_at_a_time_are_refused(signal: Signal) -> None:
    scope = b"\x12\x00" * (MAX_PARTS + 1)
    body = bytes_field(1, bytes_field(2, scope))
    with pytest.raises(PermanentError, match="send smaller ones"):
        check(signal, Encoding.PROTOBUF, body)


@pytest.mark.parametrize("filler", [b"{}", b"[]", b"[{}]"])
def test_json_of_too_many_values_is_refused(monkeypatch: pytest.MonkeyPatch, filler: bytes) -> None:
    """Each takes a hundred bytes of memory once it is read, known key or not."""
    monkeypatch.setattr("whyflame.receive.validate._MAX_JSON_VALUES", 50)
    with pytest.raises(PermanentError, match="send smaller ones"):
        check(Signal.LOGS, Encoding.JSON, b'{"x":[' + b",".join([filler] * 50) + b"]}")
    check(Signal.LOGS, Encoding.JSON, b'{"x":[' + b",".join([filler] * 20) + b"]}")
