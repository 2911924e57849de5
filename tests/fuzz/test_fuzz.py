"""Whatever is sent: an answer, an end, and bounded memory. Inputs that once failed are kept in `found`.

`pytest tests/fuzz -m soak` looks for an hour; a failing input is printed by hypothesis and belongs
into `found/<signal>-<what>.bin`.
"""

from __future__ import annotations

import json
import resource
import socket
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from tests.fuzz.inputs import damage, json_values, log_requests, trace_requests

from whyflame.config import AuthConfig, Config, ContentConfig, OtlpConfig
from whyflame.dialects import Reader, dialect_settings
from whyflame.errors import PermanentError
from whyflame.index.dead_letters import DeadLetters
from whyflame.index.indexer import Read, SpanReader
from whyflame.journal import Encoding, Signal
from whyflame.receive import Receiver
from whyflame.receive.validate import check
from whyflame.settle.settings import settle_settings
from whyflame.settle.settle import settle
from whyflame.store.duck import Store
from whyflame.store.spans import SpanWriter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from whyflame.receive import Addresses

FOUND = sorted((Path(__file__).parent / "found").glob("*.bin"))
GROWTH_MIB = 300
PATIENCE_SECONDS = 0.3
BIG = b"beyond the limit"
SETTLE = settle_settings(Config())

short = [pytest.mark.slow, pytest.mark.timeout(300)]
long = [pytest.mark.soak, pytest.mark.timeout(3 * 3600)]


def effort(examples: int) -> Any:
    """Bounded: about a minute all together, whatever the profile; an hour with `-m soak`."""
    return settings(
        max_examples=examples,
        deadline=10_000,
        suppress_health_check=list(HealthCheck),
    )


class Entry:
    """Everything behind a request: check, dialects, features, bounds, store, settling."""

    def __init__(self, folder: Path) -> None:
        self.reader = SpanReader(
            Reader(dialect_settings({"team": "span.metadata"}, max_attributes=50)),
            ContentConfig(mode="excerpt"),
            DeadLetters(folder / "dead"),
        )
        self.store = Store(folder / "fuzz.duckdb")
        self.writer = SpanWriter(self.store)
        self.outcomes: Counter[str] = Counter()

    def take(self, signal: Signal, encoding: Encoding, body: bytes) -> None:
        """Everything but a PermanentError at the door is a fault."""
        try:
            payload = check(signal, encoding, body).payload
        except PermanentError:
            self.outcomes["refused"] += 1
            return
        read = Read()
        self.reader.read(signal, payload, tenant="", received_ns=10**18, into=read)
        self.outcomes["dead" if read.counters else "read"] += 1
        for span in read.spans:
            assert len(span.name) <= 500
            assert all(len(text) <= 500 for text in span.extra.values())
            assert len(span.features or b"") < 16_384
        self.writer.append(read.spans, {}, read.counters)
        operations = settle(read.spans, SETTLE, {})
        assert len(operations) == len(read.spans)
        assert all((op.self_ns or 0) >= 0 for op in operations)


@pytest.fixture(scope="module")
def entry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Entry]:
    """One for all inputs, as in a server; memory may grow by caches only."""
    made = Entry(tmp_path_factory.mktemp("fuzz"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield made
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    made.store.close()
    assert grown < GROWTH_MIB, f"{grown:.0f} MiB more"


def _look(entry: Entry, examples: int) -> None:
    @effort(examples)
    @given(trace_requests(), st.randoms(use_true_random=False), st.booleans())
    def traces(body: bytes, chance: Random, is_damaged: bool) -> None:
        damaged = damage(body, chance) if is_damaged else body
        entry.take(Signal.TRACES, Encoding.PROTOBUF, damaged)

    @effort(examples)
    @given(log_requests(), st.randoms(use_true_random=False), st.booleans())
    def logs(body: bytes, chance: Random, is_damaged: bool) -> None:
        damaged = damage(body, chance) if is_damaged else body
        entry.take(Signal.LOGS, Encoding.PROTOBUF, damaged)

    @effort(examples)
    @given(otlp_json(), st.randoms(use_true_random=False), st.booleans())
    def as_json(content: Any, chance: Random, is_damaged: bool) -> None:
        body = json.dumps(content).encode()
        damaged = damage(body, chance) if is_damaged else body
        entry.take(Signal.TRACES, Encoding.JSON, damaged)

    traces()
    logs()
    as_json()


def otlp_json() -> st.SearchStrategy[Any]:
    """OTLP/JSON with anything in any place."""
    wild = st.one_of(json_values, st.integers(), st.text(max_size=20))
    field = st.sampled_from(
        ("traceId", "spanId", "parentSpanId", "name", "kind", "startTimeUnixNano", "status",
         "endTimeUnixNano", "attributes", "events", "links", "flags", "droppedAttributesCount")
    )  # fmt: skip
    span = st.dictionaries(field, wild, max_size=8)
    usual = st.fixed_dictionaries(
        {"traceId": st.just("01" * 16), "spanId": st.just("02" * 8)},
        optional={
            "attributes": st.lists(
                st.fixed_dictionaries(
                    {"key": st.sampled_from(("gen_ai.operation.name", "session.id"))},
                    optional={"value": st.one_of(wild, st.dictionaries(
                        st.sampled_from(("stringValue", "intValue", "arrayValue", "doubleValue")),
                        wild, max_size=2))},
                ),
                max_size=3,
            ),
            "startTimeUnixNano": wild,
        },
    )  # fmt: skip
    spans = st.lists(st.one_of(span, usual), max_size=3)
    return st.one_of(
        wild,
        spans.map(lambda found: {"resourceSpans": [{"scopeSpans": [{"spans": found}]}]}),
    )


@pytest.mark.parametrize(
    "examples", [pytest.param(150, marks=short), pytest.param(40_000, marks=long)]
)
def test_nothing_hostile_breaks_the_way_into_the_store(entry: Entry, examples: int) -> None:
    """Refused, put aside, or stored; never a crash, a hang or a row without bounds."""
    _look(entry, examples)
    assert entry.outcomes["read"] > examples
    assert entry.outcomes["refused"] > examples / 10


@pytest.mark.parametrize("file", FOUND, ids=[file.stem for file in FOUND])
def test_inputs_found_before(tmp_path: Path, file: Path) -> None:
    """What once broke something does not any more."""
    made = Entry(tmp_path)
    signal = Signal[file.stem.partition("-")[0].upper()]
    made.take(signal, Encoding.PROTOBUF, file.read_bytes())
    made.store.close()


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Addresses]:
    """A receiver with a small limit."""
    folder = tmp_path_factory.mktemp("http")
    otlp = OtlpConfig(
        grpc="127.0.0.1:0", http="127.0.0.1:0", max_request_bytes=1 << 16, auth=AuthConfig()
    )
    receiver = Receiver(Config(otlp=otlp), folder / "journal", "r0")
    yield receiver.start()
    receiver.close(2)


heads = st.lists(
    st.sampled_from(
        (b"Content-Type: application/x-protobuf", b"Content-Type: application/json",
         b"Content-Type: \xff", b"Content-Encoding: gzip", b"Content-Encoding: deflate",
         b"Content-Encoding: zstd", b"Content-Length: 5", b"Content-Length: -1",
         b"Content-Length: 99999999999999999999", b"Transfer-Encoding: chunked", b"Expect: 100-continue",
         b"Authorization: Bearer \xc3\x28", b"X: " + b"y" * 9000, b"Host: a", b"Host: localhost", b"Connection: close")
    ),
    max_size=5,
)  # fmt: skip
lines = st.sampled_from(
    (b"POST /v1/traces HTTP/1.1", b"POST /v1/logs HTTP/1.1", b"GET /v1/traces HTTP/1.1",
     b"POST /v1/%2e%2e/x HTTP/1.1", b"POST /v1/traces HTTP/9.9", b"PRI * HTTP/2.0", b"\x16\x03\x01")
)  # fmt: skip
bodies = st.one_of(
    trace_requests(), st.binary(max_size=200), json_values.map(lambda v: json.dumps(v).encode()),
    st.just(b"\x1f\x8b\x08\x00" + bytes(50)), st.just(b"5\r\nhello\r\n0\r\n\r\n"), st.just(BIG),
)  # fmt: skip


def _talk(address: str, content: bytes) -> bytes:
    """The beginning of whatever comes back."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS) as peer:
        try:
            peer.sendall(content)
            return peer.recv(4096)
        except OSError:
            # It closed while we still talked, or waits for what a head promised.
            return b""


@pytest.mark.parametrize(
    "examples", [pytest.param(100, marks=short), pytest.param(20_000, marks=long)]
)
def test_nothing_hostile_breaks_http(addresses: Addresses, examples: int) -> None:
    """Every request line, head and body gets an answer that HTTP knows, or the connection closes."""

    @effort(examples)
    @given(lines, heads, bodies)
    def talk(line: bytes, head: list[bytes], body: bytes) -> None:
        sent = bytes(1 << 17) if body == BIG else body
        content = b"\r\n".join((line, *head)) + b"\r\n\r\n" + sent
        answer = _talk(addresses.http, content)
        if answer:
            status = int(answer.split(b" ", 2)[1])
            assert status in {100, 200, 400, 403, 404, 405, 408, 413, 415, 431, 503}, answer[:200]

    talk()
    # It still takes what is right.
    good = (
        b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\n"
    )
    answers = {_talk(addresses.http, good + b"Content-Length: 0\r\n\r\n")[:12] for _ in range(20)}
    assert b"HTTP/1.1 200" in answers
