"""The native look at a request agrees with the protobuf library, whatever the bytes."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given, settings, strategies as st
from tests.fuzz import inputs
from tests.native import require_native
from tests.otlp import any_value, key_values

from whyflame.errors import PermanentError
from whyflame.journal import Encoding, Signal
from whyflame.journal.otlp_json import request_class
from whyflame.receive import validate
from whyflame.receive.structure import look_at
from whyflame.receive.warnings import believed_times

NOW_NS = 1_780_000_000 * 10**9
TIMES = believed_times(NOW_NS)
SIGNALS = (Signal.TRACES, Signal.LOGS)
FOUND = sorted((Path(__file__).parents[2] / "fuzz" / "found").glob("*.bin"))


@pytest.fixture(autouse=True)
def _native() -> None:
    require_native()


def parsed(signal: Signal, body: bytes) -> tuple[int, bool] | None:
    """What the library says of it; None when it is no request."""
    try:
        message = request_class(signal).FromString(body)
    except DecodeError:
        return None
    warning = validate.warning_about(signal, message, NOW_NS)
    return validate._COUNT[signal](message), bool(warning)


def agrees(signal: Signal, body: bytes) -> bool:
    """Never more is accepted than the library does, nor counted otherwise. True when decided."""
    seen = look_at(signal, body, TIMES)
    assert seen is None or seen == parsed(signal, body)
    return seen is not None


def request(rng: random.Random) -> bytes:
    """A plain request with every kind of value."""
    message = request_class(Signal.TRACES)()
    for _ in range(rng.randint(0, 3)):
        group = message.resource_spans.add(schema_url="https://example.com/1")
        group.resource.attributes.extend(key_values({"service.name": "é" * rng.randint(0, 40)}))
        for _ in range(rng.randint(0, 3)):
            scope = group.scope_spans.add()
            scope.scope.name = "scope"
            for _ in range(rng.randint(0, 4)):
                _add_span(scope, rng)
    return bytes(message.SerializeToString())


def _add_span(scope: Any, rng: random.Random) -> None:
    begins = rng.choice([0, 1, NOW_NS, NOW_NS + 10**15, (1 << 64) - 1])
    span = scope.spans.add(trace_id=rng.randbytes(16), start_time_unix_nano=begins, kind=3)
    span.name = "x" * rng.randint(0, 100)
    span.status.code = 2
    span.events.add(name="event", time_unix_nano=5).attributes.add(key="k")
    span.links.add(trace_id=b"1", flags=256)
    values: dict[str, Any] = {
        "text": "a" * rng.randint(0, 300), "negative": -1, "number": 1.5, "truth": True,
        "list": [1, "two", [3.0]], "map": {"a": {"b": "c"}},
    }  # fmt: skip
    span.attributes.extend(key_values(values))


@pytest.mark.parametrize("seed", range(20))
def test_plain_requests_are_decided(seed: int) -> None:
    """Nothing that exporters send needs a parse."""
    assert agrees(Signal.TRACES, request(random.Random(seed)))


@given(st.binary(max_size=200), st.sampled_from(SIGNALS))
def test_any_bytes_are_judged_alike(body: bytes, signal: Signal) -> None:
    """Bytes at random, most of which are no request."""
    agrees(signal, body)


@settings(max_examples=50)
@given(inputs.trace_requests(), inputs.log_requests(), st.randoms(use_true_random=False))
def test_hostile_requests_are_judged_alike(
    spans: bytes, logs: bytes, chance: random.Random
) -> None:
    """Real shapes with absurd values, whole and damaged."""
    assert agrees(Signal.TRACES, spans) or b"[[[" in spans
    agrees(Signal.LOGS, logs)
    for _ in range(20):
        agrees(Signal.TRACES, inputs.damage(spans, chance))
        agrees(Signal.LOGS, inputs.damage(logs, chance))


@pytest.mark.parametrize("signal", SIGNALS)
@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.name)
def test_what_fuzzing_found_is_judged_alike(path: Path, signal: Signal) -> None:
    """Inputs that broke something once."""
    agrees(signal, path.read_bytes())


def test_every_cut_is_judged_alike() -> None:
    """A request that ends anywhere."""
    body = request(random.Random(3))[:3000]
    for size in range(len(body)):
        agrees(Signal.TRACES, body[:size])


@pytest.mark.parametrize("seed", range(30))
def test_damaged_requests_are_judged_alike(seed: int) -> None:
    """Bytes changed, left out, doubled, put in."""
    rng = random.Random(seed)
    whole = request(rng)
    for _ in range(200):
        agrees(Signal.TRACES, inputs.damage(whole, rng))


def varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(0x80 | value & 0x7F)
        value >>= 7
    found.append(value)
    return bytes(found)


def field(number: int, content: bytes) -> bytes:
    """A field that tells its length."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def in_a_span(content: bytes) -> bytes:
    return field(1, field(2, field(2, content)))


ODD = {
    "overlong tag": b"\xaa\x00" + varint(1) + b"a",
    "overlong length": b"\x2a\x81\x00a",
    "longest tag": b"\xaa\x80\x80\x80\x00" + b"\x01a",
    "field 0": b"\x02\x01a",
    "number of eleven bytes": b"\x30" + b"\x80" * 10 + b"\x01",
    "number of ten bytes": b"\x30" + b"\xff" * 9 + b"\x01",
    "number beyond 64 bits": b"\x30" + b"\xff" * 9 + b"\x7f",
    "empty group": b"\x9b\x06\x9c\x06",
    "group without an end": b"\x9b\x06",
    "end without a group": b"\x9c\x06",
    "wire type 6": b"\x2e",
    "wire type 7": b"\x2f",
    "name as a number": b"\x28\x05",
    "time as a text": b"\x3a\x01a",
    "time of four bytes": b"\x3d1234",
    "unknown text that is none": field(500, b"\xff\xfe"),
    "unknown number": b"\xa0\x1f\x05",
    "cut text": b"\x2a\x05ab",
    "huge length": b"\x2a\xff\xff\xff\xff\x0f",
    "name that is no text": field(5, b"\xff"),
    "surrogate": field(5, b"\xed\xa0\x80"),
    "overlong character": field(5, b"\xc0\xaf"),
    "character beyond Unicode": field(5, b"\xf4\x90\x80\x80"),
    "long text with one bad end": field(5, b"a" * 100 + b"\xc3"),
    "id that is no text": field(1, b"\xff\xfe"),
    "two times": b"\x39" + bytes(8) + b"\x39" + bytes(7) + b"\x01",
}


@pytest.mark.parametrize("name", ODD)
def test_odd_wire_formats_are_judged_alike(name: str) -> None:
    """Alone, at the top, and in a span between others."""
    agrees(Signal.TRACES, ODD[name])
    agrees(Signal.TRACES, in_a_span(ODD[name]))
    agrees(Signal.TRACES, in_a_span(b"\x2a\x01a") + in_a_span(ODD[name] + b"\x2a\x01a"))


@pytest.mark.parametrize("depth", [1, 10, 20, 28, 30, 40, 45, 46, 47, 48, 49, 50, 60, 99, 100, 101])
def test_nesting_is_judged_alike(depth: int) -> None:
    """Values in values: deep ones are left to the library, which has a bound."""
    value = any_value("x").SerializeToString()
    for _ in range(depth):
        value = field(5, field(1, value))
    agrees(Signal.TRACES, in_a_span(field(9, field(1, b"k") + field(2, value))))


@given(st.binary(max_size=100), st.sampled_from(SIGNALS))
def test_answers_do_not_show_who_looked(body: bytes, signal: Signal) -> None:
    """The same items and warnings, the same refusals."""
    answers = []
    for look in (look_at, lambda *_: None):
        with pytest.MonkeyPatch.context() as patch, suppress(PermanentError):
            patch.setattr(validate, "look_at", look)
            answers.append(validate.check(signal, Encoding.PROTOBUF, body))
    assert len(answers) in {0, 2}
    assert len(set(map(repr, answers))) <= 1


def test_metrics_are_left_to_the_library() -> None:
    """They are accepted and not used."""
    assert look_at(Signal.METRICS, b"", TIMES) is None
