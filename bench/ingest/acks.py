"""How many spans a second are acknowledged durably: `python bench/ingest/acks.py [--address H:P]`.

Starts a receiver of its own unless an address is given, replays realistic requests (512 spans of
about 3.6 KB) over 2 channels with 2 in flight each, and prints one JSON line a repetition.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import multiprocessing
import os
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import grpc
from secured import Secured

EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
WORDS = (
    "the agent inspects repository files runs tests compares branches before it edits the "
    "configuration token request failed with status while parsing response from upstream service"
).split()


def make_request(spans: int, seed: int, content_chars: int) -> bytes:
    """One ExportTraceServiceRequest of alternating model and tool calls."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    rng = random.Random(seed)
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    _put(group.resource.attributes, {"service.name": "bench", "host.name": "node-1"})
    scope = group.scope_spans.add()
    scope.scope.name = "opentelemetry.instrumentation.openai_v2"
    trace_id = rng.randbytes(16)
    at = 1_780_000_000_000_000_000 + seed * 10**12
    for number in range(spans):
        text = " ".join(rng.choice(WORDS) for _ in range(max(1, content_chars // 7)))
        span = scope.spans.add(
            trace_id=trace_id, span_id=rng.randbytes(8), kind=3, start_time_unix_nano=at
        )
        at += rng.randint(10**6, 10**9)
        span.end_time_unix_nano = at
        span.name = "chat gpt-5" if number % 2 else "execute_tool bash"
        _put(span.attributes, _attributes(rng, is_chat=bool(number % 2), text=text))
    return bytes(request.SerializeToString())


def _attributes(rng: random.Random, *, is_chat: bool, text: str) -> dict[str, Any]:
    common = {"gen_ai.conversation.id": "c-1", "gen_ai.agent.name": "coder", "user.id": "u-1"}
    if not is_chat:
        return common | {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "bash",
            "gen_ai.tool.call.arguments": json.dumps({"cmd": text[:300]}),
            "gen_ai.tool.call.result": text,
        }
    return common | {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-5",
        "gen_ai.response.model": "gpt-5-2026-05",
        "gen_ai.usage.input_tokens": rng.randint(500, 40000),
        "gen_ai.usage.output_tokens": rng.randint(20, 1500),
        "gen_ai.input.messages": json.dumps([{"role": "user", "content": text}]),
    }


def _put(target: Any, attributes: dict[str, Any]) -> None:
    for key, value in attributes.items():
        pair = target.add(key=key)
        if isinstance(value, int):
            pair.value.int_value = value
        else:
            pair.value.string_value = value


def drive(
    address: str, requests: list[bytes], count: int, channels: int, inflight: int,
    secured: Secured,
) -> dict:  # fmt: skip
    """Send `count` requests in a closed loop; latencies in ms."""
    opened = [_channel(address, secured) for _ in range(channels)]
    metadata = (("authorization", f"Bearer {secured.token}"),) if secured.token else None
    calls = [channel.unary_unary(EXPORT) for channel in opened]

    def worker(number: int) -> list[float]:
        call, taken = calls[number % channels], []
        for at in range(number, count, channels * inflight):
            began = time.perf_counter()
            body = requests[at % len(requests)]
            call(body, timeout=60, wait_for_ready=True, metadata=metadata)
            taken.append((time.perf_counter() - began) * 1000)
        return taken

    worker_count = channels * inflight
    with concurrent.futures.ThreadPoolExecutor(worker_count) as pool:
        began = time.perf_counter()
        latencies = sorted(ms for part in pool.map(worker, range(worker_count)) for ms in part)
        seconds = time.perf_counter() - began
    for channel in opened:
        channel.close()
    return {
        "requests_s": round(len(latencies) / seconds, 1),
        "mb_s": round(len(latencies) / seconds * len(requests[0]) / 1e6, 1),
        "p50_ms": round(statistics.median(latencies), 2),
        "p99_ms": round(latencies[int(len(latencies) * 0.99)], 2),
    }


def _channel(address: str, secured: Secured) -> grpc.Channel:
    options = [("grpc.max_send_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]
    if secured.credentials is None:
        return grpc.insecure_channel(address, options=options)
    return grpc.secure_channel(address, secured.credentials, options=options)


def cpu_seconds(pid: int | None) -> float:
    """User and system time of a process so far; 0 for one we did not start."""
    if pid is None:
        return 0.0
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def serve(directory: str, settings: dict[str, Any], pipe: Any) -> None:
    """A receiver process that never refuses for pending bytes (nothing indexes here)."""
    from whyflame.config import AuthConfig, Config, OtlpConfig, TlsConfig
    from whyflame.receive import run_receiver

    otlp = OtlpConfig(
        grpc="127.0.0.1:0",
        http="127.0.0.1:0",
        max_pending_bytes=1 << 50,
        tls=TlsConfig(**settings.get("tls", {})),
        auth=AuthConfig(**settings.get("auth", {})),
    )
    run_receiver(Config(otlp=otlp), Path(directory), "r0", lambda found: pipe.send(found.grpc))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address")
    parser.add_argument("--spans", type=int, default=512)
    parser.add_argument("--content-chars", type=int, default=2900)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--channels", type=int, default=2)
    parser.add_argument("--inflight", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--tls", action="store_true", help="of a receiver of its own")
    parser.add_argument("--token", action="store_true", help="a bearer token in every request")
    options = parser.parse_args()
    requests = [make_request(options.spans, seed, options.content_chars) for seed in range(8)]
    with tempfile.TemporaryDirectory() as directory:
        address, receiver = options.address, None
        secured = Secured.make(Path(directory), tls=options.tls, token=options.token)
        if address is None:
            context = multiprocessing.get_context("spawn")
            ours, theirs = context.Pipe()
            receiver = context.Process(
                target=serve, args=(directory, secured.settings, theirs), daemon=True
            )
            receiver.start()
            address = ours.recv()
        pid = receiver.pid if receiver else None
        for _ in range(options.repeat):
            before = cpu_seconds(pid)
            result = drive(
                address, requests, options.count, options.channels, options.inflight, secured
            )
            spans = options.count * options.spans
            print(
                json.dumps(
                    {
                        "spans_s": round(result["requests_s"] * options.spans),
                        "bytes_span": len(requests[0]) // options.spans,
                        "receiver_cpu_us_span": round((cpu_seconds(pid) - before) / spans * 1e6, 2),
                    }
                    | result
                ),
                flush=True,
            )
        if receiver is not None:
            receiver.terminate()
            receiver.join()


if __name__ == "__main__":
    main()
