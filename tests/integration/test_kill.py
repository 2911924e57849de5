"""SIGKILL of every process under load: what was acknowledged is there once."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from tests.serving import EXPORT, Serving, wait_until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

ROUNDS = 3
SPANS = 32


def _body(trace: int) -> bytes:
    """One agent run as one request: an agent span and its model calls."""
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    scope.scope.name = "chaos"
    for number in range(SPANS):
        span = scope.spans.add(
            trace_id=trace.to_bytes(16, "big"),
            span_id=(number + 1).to_bytes(8, "big"),
            parent_span_id=b"" if number == 0 else (1).to_bytes(8, "big"),
            name="invoke_agent" if number == 0 else "chat m",
            start_time_unix_nano=10**18 + number * 1000,
            end_time_unix_nano=10**18 + number * 1000 + 500,
        )
        values = {"gen_ai.operation.name": "invoke_agent" if number == 0 else "chat"}
        for key, value in values.items():
            span.attributes.add(key=key).value.string_value = value
        if number:
            span.attributes.add(key="gen_ai.usage.input_tokens").value.int_value = 3
            span.attributes.add(key="gen_ai.usage.output_tokens").value.int_value = 2
            span.attributes.add(key="gen_ai.response.id").value.string_value = f"{trace}-{number}"
    return request.SerializeToString()


class _Load(threading.Thread):
    """Sends runs until the server is gone, and remembers which were acknowledged."""

    def __init__(self, address: str, first: int) -> None:
        super().__init__()
        self.address = address
        self.next = first
        self.acked: list[int] = []

    def run(self) -> None:
        with grpc.insecure_channel(self.address) as channel:
            call = channel.unary_unary(EXPORT.format("trace", "Trace"))
            while True:
                try:
                    call(_body(self.next), timeout=5)
                except grpc.RpcError:
                    self.next += 1
                    return
                self.acked.append(self.next)
                self.next += 1


def test_acknowledged_is_stored_once(tmp_path: Path) -> None:
    """After kills at arbitrary moments and restarts, every acknowledged call counts once."""
    serving, acked, tried = Serving(tmp_path / "d"), 0, 1
    for round_number in range(ROUNDS):
        serving.start()
        load = _Load(serving.grpc, tried)
        load.start()
        wait_until(lambda load=load, least=15 * (round_number + 1): len(load.acked) > least)
        serving.kill()
        load.join(30)
        acked += len(load.acked)
        tried = load.next
    with serving:
        serving.settle()
        (row,) = serving.totals()
    calls = SPANS - 1
    # A request that was journalled when the kill came before its answer may be there as well.
    assert acked * calls <= row["llm_calls"] <= (tried - 1) * calls
    assert row["llm_calls"] % calls == 0
    assert row["input_tokens"] == 3 * row["llm_calls"]
    assert row["output_tokens"] == 2 * row["llm_calls"]
