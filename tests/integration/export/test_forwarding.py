"""Forwarding of received requests: bytes, outages, restarts, bounds."""

from __future__ import annotations

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from tests import otlp
from tests.doubles.otlp import Got, OtlpSink
from tests.integration.export.world import SECOND, Clock

from whyflame.errors import ConfigError, PermanentError
from whyflame.export import (
    Forwarder,
    Forwarding,
    ReceivedRequest,
    TooLargeError,
    UnavailableError,
    build_forwarder,
)
from whyflame.export.fake import InlineExecutor
from whyflame.index.dead_letters import DeadLetters
from whyflame.journal import Encoding, Frame, Position, Signal, pending_bytes
from whyflame.journal.frame import HEADER_BYTES
from whyflame_exporters.forward import ForwardExporter
from whyflame_exporters.profile_ids import PROFILE_ID, mark_agent_roots

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whyflame.export import BoundForwarder

HOUR = 3600 * SECOND


class Station:
    """A forwarding stage on a folder, with a clock of its own; `restart` is a kill."""

    def __init__(self, folder: Path, options: dict[str, Any]) -> None:
        self.folder, self.options, self.clock = folder, options, Clock()
        self._forwarding: Forwarding | None = None
        self.restart()

    @property
    def dead(self) -> list[Path]:
        return sorted((self.folder / "out" / "dead-letters").rglob("*.binpb"))

    def restart(self) -> None:
        if self._forwarding is not None:
            self.close()
        bound = build_forwarder("out", "forward", self.options)
        self._forwarding = Forwarding(
            self.folder, [bound], self._keep_for, self.clock, InlineExecutor, Random(1)
        )
        self._forwarding.start()

    def _keep_for(self, bound: BoundForwarder) -> Any:
        return DeadLetters(self.folder / bound.name / "dead-letters").keep

    def put(self, *bodies: bytes, signal: Signal = Signal.TRACES, tenant: str = "") -> None:
        assert self._forwarding is not None
        self._forwarding.put(
            [
                Frame("r0", tenant, signal, Encoding.PROTOBUF, self.clock(), body, Position(1, 1))
                for body in bodies
            ]
        )

    def step(self) -> None:
        assert self._forwarding is not None
        for step in self._forwarding.steps():
            step()

    def run(self, seconds: int = 300) -> None:
        """So much time passes, a step each second."""
        for _ in range(seconds):
            self.step()
            self.clock.advance(1)

    def waiting(self) -> int:
        return pending_bytes(self.folder / "out" / "traces")

    def close(self) -> None:
        assert self._forwarding is not None
        self._forwarding.stop()
        self._forwarding.close()


@pytest.fixture
def sink() -> Iterator[OtlpSink]:
    with OtlpSink() as started:
        yield started


@pytest.fixture
def station(sink: OtlpSink, tmp_path: Path) -> Iterator[Station]:
    made = Station(tmp_path, {"url": sink.grpc_url})
    yield made
    made.close()


def body(number: int) -> bytes:
    """A request, with a field that no version of OTLP knows."""
    return otlp.traces(otlp.Row("s", f"span {number}", id=number + 1)) + b"\xfa\x3f\x03new"


def test_bytes_arrive_unchanged_and_once(station: Station, sink: OtlpSink) -> None:
    bodies = [body(number) for number in range(20)]
    station.put(*bodies, tenant="a")
    logs = otlp.logs("s", {"event.name": "x"})
    station.put(logs, signal=Signal.LOGS)
    station.run(10)
    assert sorted(sink.bodies("traces")) == sorted(bodies)
    assert Got("logs", None, logs) in sink.got
    assert {got.tenant for got in sink.got if got.signal == "traces"} == {"a"}
    assert station.waiting() == 0
    station.restart()
    station.run(10)
    assert len(sink.got) == 21


def test_signals_that_were_not_asked_for_stay_here(station: Station, sink: OtlpSink) -> None:
    station.put(b"", signal=Signal.METRICS)
    station.run(3)
    assert sink.attempts == []


def test_an_endpoint_that_is_away_is_said_once_and_its_return_too(
    station: Station, sink: OtlpSink, caplog: pytest.LogCaptureFixture
) -> None:
    sink.fail_next("unavailable", times=8, message="no such host")
    station.put(body(1))
    station.run()
    assert [record.getMessage() for record in caplog.records] == [
        "forwarder out cannot deliver, and tries on: UNAVAILABLE: no such host",
        "forwarder out goes on",
    ]


def test_an_outage_loses_nothing(station: Station, sink: OtlpSink) -> None:
    """Errors are tried again with the same bytes, one request at a time until it works again."""
    sink.fail_next("unavailable", times=8)
    station.put(*[body(number) for number in range(5)])
    station.run(120)
    assert sorted(sink.bodies("traces")) == sorted(body(number) for number in range(5))
    assert len(sink.attempts) == 13


def test_a_restart_during_an_outage_loses_nothing(station: Station, sink: OtlpSink) -> None:
    sink.fail_next("unavailable", times=3)
    station.put(*[body(number) for number in range(4)])
    station.step()
    station.restart()
    station.put(body(4))
    station.run(120)
    assert {got.body for got in sink.got} == {body(number) for number in range(5)}


def test_wrong_credentials_pause_until_they_are_mended(station: Station, sink: OtlpSink) -> None:
    sink.fail_next("unauthenticated", times=3)
    station.put(*[body(number) for number in range(3)])
    station.run(55)
    assert sink.got == []
    station.run(60)
    assert len(sink.got) == 3


def test_what_the_endpoint_refuses_is_kept_with_the_reason(
    station: Station, sink: OtlpSink
) -> None:
    sink.fail_next("invalid_argument")
    station.put(body(1), body(2))
    station.run(5)
    assert sink.bodies("traces") == [body(2)]
    (letter,) = station.dead
    assert letter.name.startswith("refused.traces.")
    assert letter.read_bytes() == body(1)


def test_a_request_that_always_fails_does_not_hold_up_the_others(
    station: Station, sink: OtlpSink
) -> None:
    sink.poison = body(0)
    station.put(*[body(number) for number in range(20)])
    station.run(60)
    assert len(sink.got) == 19
    station.put(body(20))
    station.run(1200)
    (letter,) = station.dead
    assert letter.name.startswith("fails_always.")
    assert station.waiting() == 0


def test_what_was_never_accepted_becomes_a_dead_letter(station: Station, sink: OtlpSink) -> None:
    sink.fail_next("unavailable", times=10_000)
    station.put(body(1))
    station.run(10)
    station.clock.advance(25 * 3600)
    station.run(2)
    assert [letter.name.split(".")[0] for letter in station.dead] == ["expired"]


def test_a_full_spool_takes_no_more(sink: OtlpSink, tmp_path: Path) -> None:
    """The bound holds; what is in the spool goes out, and there is room again."""
    size = len(body(1)) + HEADER_BYTES
    station = Station(tmp_path, {"url": sink.grpc_url, "max_spool_bytes": 4 * size})
    sink.fail_next("unavailable", times=1)
    station.step()
    station.put(*[body(number) for number in range(10)])
    assert station.waiting() == 4 * size
    station.run(60)
    assert len(sink.got) == 4
    station.put(body(11))
    station.run(5)
    assert sink.bodies("traces")[-1] == body(11)
    station.close()


def test_a_signal_that_the_endpoint_does_not_know_leaves_the_other_alone(tmp_path: Path) -> None:
    with OtlpSink(signals=("traces",)) as sink:
        station = Station(tmp_path, {"url": sink.grpc_url})
        station.put(otlp.logs("s", {"event.name": "x"}), signal=Signal.LOGS)
        station.put(*[body(number) for number in range(5)])
        station.run(5)
        assert len(sink.bodies("traces")) == 5
        station.close()


def test_a_position_that_a_power_failure_cut_off_begins_at_the_oldest(
    station: Station, sink: OtlpSink
) -> None:
    station.put(body(1))
    station.run(3)
    station.close()
    (station.folder / "out" / "traces" / "applied.json").write_text("")
    station._forwarding = None
    station.restart()
    station.put(body(2))
    station.run(3)
    assert set(sink.bodies("traces")) == {body(1), body(2)}


@pytest.mark.parametrize("protocol", ["grpc", "http"])
@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_protocols(sink: OtlpSink, protocol: str, compression: str) -> None:
    url = sink.grpc_url if protocol == "grpc" else sink.http_url + "/prefix"
    options = {"url": url, "protocol": protocol, "compression": compression, "tenant_id": "fixed"}
    exporter = ForwardExporter("out", options)
    assert isinstance(exporter, Forwarder)
    exporter.start()
    assert exporter.forward(ReceivedRequest("traces", "a", body(1), 1)) == 0
    sink.refused_records = 3
    assert exporter.forward(ReceivedRequest("logs", "a", b"", 1)) == 3
    assert sink.got == [Got("traces", "fixed", body(1)), Got("logs", "fixed", b"")]
    sink.fail_next("unavailable")
    with pytest.raises(UnavailableError):
        exporter.forward(ReceivedRequest("traces", "", body(1), 1))
    sink.fail_next("invalid_argument")
    with pytest.raises(PermanentError):
        exporter.forward(ReceivedRequest("traces", "", body(1), 1))
    exporter.close(1)
    exporter.close(1)


def test_a_message_above_the_servers_limit_is_too_large(sink: OtlpSink) -> None:
    sink.fail_next("resource_exhausted", message="Received message larger than max (9 vs. 4)")
    exporter = ForwardExporter("out", {"url": sink.grpc_url})
    exporter.start()
    with pytest.raises(TooLargeError):
        exporter.forward(ReceivedRequest("traces", "", body(1), 1))
    exporter.close(1)


AGENT = {"openinference.span.kind": "AGENT"}


def test_profile_ids_are_set_on_the_first_agent_spans(sink: OtlpSink) -> None:
    """The outermost agent span of each trace gets its own id; everything else stays."""
    oi = "openinference.instrumentation.langchain"
    rows = [
        otlp.Row(oi, "request", {"openinference.span.kind": "CHAIN"}, id=1),
        otlp.Row(oi, "planner", AGENT, id=2, parent=1),
        otlp.Row(oi, "model", {"openinference.span.kind": "LLM"}, id=3, parent=2),
        otlp.Row(oi, "helper", AGENT, id=4, parent=3),
        otlp.Row(oi, "other", AGENT, trace=2, id=5),
    ]
    exporter = ForwardExporter("out", {"url": sink.grpc_url, "profile_ids": True})
    exporter.start()
    sent, plain = otlp.traces(*rows), body(9)
    for request in (sent, plain):
        exporter.forward(ReceivedRequest("traces", "", request, 1))
    exporter.close(1)
    marked, unmarked = sink.bodies("traces")
    assert unmarked == plain
    found = {}
    request = ExportTraceServiceRequest.FromString(marked)
    for resource in request.resource_spans:
        for span in resource.scope_spans[0].spans:
            for attribute in list(span.attributes):
                if attribute.key == "pyroscope.profile.id":
                    found[span.name] = attribute.value.string_value
                    span.attributes.remove(attribute)
    assert found == {"planner": "0000000000000002", "other": "0000000000000005"}
    assert request == ExportTraceServiceRequest.FromString(sent)


LOCAL, REMOTE = 0x100, 0x300


@pytest.mark.parametrize(
    ("flags", "expected"),
    [(LOCAL, {"root"}), (REMOTE, {"root", "agent"}), (0, {"root", "agent"})],
)
def test_an_agent_with_more_above_it_in_its_process_has_no_profile_id(
    flags: int, expected: set[str]
) -> None:
    """What stands above it may be an agent, whose samples its own are. Old SDKs do not say."""
    oi = "openinference.instrumentation.langchain"
    request = ExportTraceServiceRequest.FromString(
        otlp.traces(
            otlp.Row(oi, "chain", {"openinference.span.kind": "CHAIN"}, id=2, parent=1),
            otlp.Row(oi, "agent", AGENT, id=3, parent=2),
            otlp.Row(oi, "root", AGENT, trace=2, id=4),
        )
    )
    for resource in request.resource_spans:
        for span in resource.scope_spans[0].spans:
            span.flags = LOCAL if span.name == "agent" else flags
    marked = ExportTraceServiceRequest.FromString(mark_agent_roots(request.SerializeToString()))
    assert expected == {
        span.name
        for resource in marked.resource_spans
        for span in resource.scope_spans[0].spans
        if any(attribute.key == PROFILE_ID for attribute in span.attributes)
    }


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("out", {}),
        ("out", {"url": "http://x:1", "stack": ["path"]}),
        ("out", {"url": "http://x:1", "signals": ["spans"]}),
        ("a/b", {"url": "http://x:1"}),
    ],
)
def test_wrong_options_name_the_block(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"exporters\\.{name}"):
        build_forwarder(name, "forward", options)


FAULTS = st.sampled_from(["unavailable", "internal", "resource_exhausted", "unauthenticated"])
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(1, 6)),
        st.tuples(st.just("fail"), FAULTS),
        st.tuples(st.just("run"), st.integers(1, 90)),
        st.tuples(st.just("kill"), st.just(0)),
    ),
    max_size=12,
)


@pytest.mark.slow
@given(EVENTS)
def test_whatever_happens_every_request_arrives(events: list[tuple[str, Any]]) -> None:
    """Over faults and kills at any moment, all requests arrive, with the bytes they came with."""
    with OtlpSink() as sink, TemporaryDirectory() as folder:
        station = Station(Path(folder), {"url": sink.grpc_url})
        sent: list[bytes] = []
        for name, value in events:
            if name == "put":
                fresh = [body(len(sent) + number) for number in range(value)]
                station.put(*fresh)
                sent += fresh
            elif name == "fail":
                sink.fail_next(value)
            elif name == "run":
                station.run(value)
            else:
                station.restart()
        station.run(400)
        assert set(sink.bodies("traces")) == set(sent)
        assert station.dead == []
        assert station.waiting() == 0
        station.close()
