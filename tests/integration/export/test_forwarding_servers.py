"""One whyflame forwards to another, which is away at first, and the first one is killed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from tests import corpus, otlp
from tests.built import BUILD_SECONDS
from tests.collector import collecting, free_port
from tests.doubles.otlp import OtlpSink
from tests.serving import Serving, differences, wait_until

from whyflame.dialects import read_traces
from whyflame.export import ReceivedRequest
from whyflame.journal import pending_bytes
from whyflame_exporters.forward import ForwardExporter

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.peer, pytest.mark.timeout(180 + BUILD_SECONDS)]

SCENARIO = "langchain-openinference-on"


def forwarding_to(port: int, **options: Any) -> dict[str, Any]:
    block = {"type": "forward", "url": f"http://127.0.0.1:{port}", **options}
    return {"exporters": {"peer": block}}


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_outage_kill_and_restart_lose_nothing(tmp_path: Path, protocol: str) -> None:
    """The peer's totals are those of what was acknowledged, whoever was away when."""
    case = corpus.cases()[SCENARIO]
    port = free_port()
    settings = {"otlp": {protocol: f"127.0.0.1:{port}"}}
    first = Serving(tmp_path / "first", forwarding_to(port, protocol=protocol)).start()
    try:
        first.send(case.requests())
        wait_until(lambda: first.pending() == 0)
        first.kill()
        assert pending_bytes(tmp_path / "first" / "forward" / "peer" / "traces") > 0
        with Serving(tmp_path / "second", settings) as second:
            first.start()
            spool = tmp_path / "first" / "forward" / "peer" / "traces"
            wait_until(lambda: pending_bytes(spool) == 0, 100)
            for serving in (first, second):
                serving.settle()
                (row,) = serving.totals()
                assert differences(row, case.expected["totals"]) == {}
        assert first.stop() == 0
    finally:
        first.stop()


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_a_real_collector_takes_both_signals(tmp_path: Path, compression: str) -> None:
    """Nothing is refused, and every span and log record goes through."""
    log = otlp.logs("s", {"event.name": "x"}, {"event.name": "y"})
    rows = [otlp.Row("s", f"span {number}", id=number) for number in range(1, 6)]
    with OtlpSink() as sink:
        target = {"endpoint": sink.grpc_url.removeprefix("http://"), "tls": {"insecure": True}}
        with collecting(tmp_path, {"otlp": target}) as address:
            options = {"url": f"http://{address}", "compression": compression}
            exporter = ForwardExporter("out", options)
            exporter.start()
            assert exporter.forward(ReceivedRequest("traces", "", otlp.traces(*rows), 1)) == 0
            assert exporter.forward(ReceivedRequest("logs", "", log, 1)) == 0
            exporter.close(1)
            wait_until(lambda: sink.bodies("traces") and sink.bodies("logs"))
        spans = read_traces(sink.bodies("traces")[0], tenant="", received_ns=1)
        assert [span.name for span in spans] == [row.name for row in rows]
        # The Collector writes fields in an order of its own.
        request = ExportLogsServiceRequest.FromString(sink.bodies("logs")[0])
        records = request.resource_logs[0].scope_logs[0].log_records
        assert [record.attributes[0].value.string_value for record in records] == ["x", "y"]
