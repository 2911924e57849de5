"""A request of a few hundred kilobytes cannot hold millions of spans."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from whyflame.errors import PermanentError
from whyflame.journal import Signal, parts
from whyflame.journal.otlp_json import request_class
from whyflame.journal.parts import GROUPS, ITEMS, check_parts
from whyflame.wire import bytes_field


@pytest.fixture(autouse=True)
def few_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "MAX_PARTS", 20)


def request(resources: int, scopes: int, spans: int) -> bytes:
    scope = bytes_field(2, b"") * spans
    resource = bytes_field(2, scope) * scopes
    return bytes_field(1, resource) * resources


@pytest.mark.parametrize("shape", [(1, 1, 18), (1, 3, 5), (2, 2, 3), (20, 0, 0), (1, 19, 0)])
def test_as_many_as_may_be_pass(shape: tuple[int, int, int]) -> None:
    check_parts(request(*shape))


@pytest.mark.parametrize("shape", [(1, 1, 19), (2, 2, 4), (21, 0, 0), (1, 20, 0), (9000, 0, 0)])
def test_one_more_is_refused(shape: tuple[int, int, int]) -> None:
    """Counted over all resources and scopes."""
    with pytest.raises(PermanentError, match="more than 20 spans") as caught:
        check_parts(request(*shape))
    assert caught.value.reason == "too_large"


def test_spans_are_left_to_whoever_counts_them() -> None:
    check_parts(request(1, 1, 5000), GROUPS)
    with pytest.raises(PermanentError):
        check_parts(request(1, 20, 0), GROUPS)


def test_fields_that_nobody_knows_count() -> None:
    """They have to be passed over as well."""
    with pytest.raises(PermanentError):
        check_parts(bytes_field(15, b"") * 21)


@pytest.mark.parametrize("depth", [GROUPS, ITEMS])
@given(body=st.binary(max_size=200))
def test_any_bytes_are_counted_or_passed(body: bytes, depth: int) -> None:
    """Those that are no request are judged by the parse."""
    with suppress(PermanentError):
        check_parts(body, depth)


def test_long_tags_and_all_kinds_of_fields_are_passed() -> None:
    message = request_class(Signal.TRACES)()
    span = message.resource_spans.add(schema_url="x").scope_spans.add().spans.add(name="a", flags=7)
    span.start_time_unix_nano = 5
    body = message.SerializeToString()
    odd = b"\x8a\x00\x00" + b"\x10\x05" + b"\x19" + bytes(8) + b"\x25" + bytes(4)
    check_parts(body + odd)
    with pytest.raises(PermanentError):
        check_parts(odd * 6)
