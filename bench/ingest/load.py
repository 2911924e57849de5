"""The load client: sends a workload over gRPC in a closed or paced loop, bounded, loopback only.

`python bench/ingest/load.py --target 127.0.0.1:4317 --seconds 10` prints one JSON line.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import statistics
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import grpc
from workload import Workload

EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
LOOPBACK = ("127.0.0.1:", "localhost:", "[::1]:")
ENDLESS = 10**9
MADE_BEFORE_BYTES = 2 << 30
"""What may be made before a run begins; the rest is made on the way, at a third of a us a span."""


@dataclass(slots=True)
class Plan:
    """How to send.

    Attributes:
        requests: Stop after so many. seconds: Stop after so long; whichever comes first.
        channels, inflight: Connections, and requests at a time on each.
        spans_a_second: Pace; 0 sends as fast as answers come.
        first: Number of the first request, so that two runs send different ids.
        pause: Seconds to wait when the server asks to slow down.
        token: Bearer token; "" sends none.
    """

    requests: int = ENDLESS
    seconds: float = ENDLESS
    channels: int = 2
    inflight: int = 2
    spans_a_second: float = 0.0
    first: int = 0
    pause: float = 0.05
    token: str = ""


@dataclass(slots=True)
class Outcome:
    """What the server answered.

    Attributes:
        acked: Requests acknowledged. refused: Answers that asked to try again, by status.
        latencies: Seconds, of acknowledged requests.
    """

    acked: int = 0
    sent_bytes: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    latencies: list[float] = field(default_factory=list)
    began: float = 0.0
    ended: float = 0.0
    cpu_seconds: float = 0.0

    def figures(self, spans: int) -> dict[str, Any]:
        """As one JSON object; `spans` a request."""
        seconds = max(self.ended - self.began, 1e-9)
        ordered = sorted(self.latencies) or [0.0]
        return {
            "acked_spans": self.acked * spans,
            "acked_spans_s": round(self.acked * spans / seconds),
            "seconds": round(seconds, 2),
            "mb_s": round(self.sent_bytes / seconds / 1e6, 1),
            "ack_p50_ms": round(statistics.median(ordered) * 1e3, 2),
            "ack_p99_ms": round(ordered[int(len(ordered) * 0.99)] * 1e3, 2),
            "ack_max_ms": round(ordered[-1] * 1e3, 2),
            "refused": self.refused,
            "client_cpu_us_span": round(self.cpu_seconds / max(1, self.acked * spans) * 1e6, 2),
        }


class Client:
    """Sends one plan.

    Args:
        target: host:port on this machine. workload: What to send. plan: How.
        credentials: For TLS; None sends in the clear.
    """

    def __init__(
        self, target: str, workload: Workload, plan: Plan,
        credentials: grpc.ChannelCredentials | None = None,
    ) -> None:  # fmt: skip
        if not target.startswith(LOOPBACK):
            raise SystemExit(f"{target}: this client only sends to this machine")
        self._target, self._workload, self._plan = target, workload, plan
        self._credentials = credentials
        self._numbers = itertools.count()
        self._made: dict[int, bytes] = {}
        self._lock = threading.Lock()
        self.outcome = Outcome()

    def run(self) -> Outcome:
        """Send until the plan ends; a burst is made before its time begins to count."""
        self._make()
        options = [
            ("grpc.max_send_message_length", -1), ("grpc.use_local_subchannel_pool", 1),
        ]  # fmt: skip
        channels = [self._channel(options) for _ in range(self._plan.channels)]
        for channel in channels:
            grpc.channel_ready_future(channel).result(timeout=30)
        workers = [
            threading.Thread(target=self._work, args=(channel.unary_unary(EXPORT),))
            for channel in channels
            for _ in range(self._plan.inflight)
        ]
        before = resource.getrusage(resource.RUSAGE_SELF)
        self.outcome.began = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        after = resource.getrusage(resource.RUSAGE_SELF)
        for channel in channels:
            channel.close()
        self.outcome.cpu_seconds = (
            after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        )
        return self.outcome

    def _channel(self, options: list[tuple[str, int]]) -> grpc.Channel:
        if self._credentials is None:
            return grpc.insecure_channel(self._target, options=options)
        return grpc.secure_channel(self._target, self._credentials, options=options)

    def _make(self) -> None:
        """What a closed loop of so many requests sends, as far as memory allows."""
        if self._plan.spans_a_second or self._plan.requests == ENDLESS:
            return
        size = self._workload.bytes_a_span * self._workload.spans
        for number in range(min(self._plan.requests, int(MADE_BEFORE_BYTES / size))):
            self._made[number] = self._request(number)

    def _request(self, number: int) -> bytes:
        return self._workload.request(self._plan.first + number, time.time_ns())

    def _work(self, call: Any) -> None:
        plan, metadata = self._plan, None
        if plan.token:
            metadata = (("authorization", f"Bearer {plan.token}"),)
        while (number := self._next()) is not None:
            payload = self._made.pop(number, None) or self._request(number)
            while True:
                began = time.perf_counter()
                try:
                    call(payload, timeout=60, metadata=metadata)
                except grpc.RpcError as error:
                    if not self._may_retry(error):
                        raise
                    time.sleep(plan.pause)
                    continue
                self._note(began, len(payload))
                break

    def _next(self) -> int | None:
        """The number of the next request, when its time has come; None at the end."""
        plan, elapsed = self._plan, time.perf_counter() - self.outcome.began
        number = next(self._numbers)
        due = number * self._workload.spans / plan.spans_a_second if plan.spans_a_second else 0.0
        if number >= plan.requests or max(due, elapsed) >= plan.seconds:
            return None
        if due > elapsed:
            time.sleep(due - elapsed)
        return number

    def _may_retry(self, error: grpc.RpcError) -> bool:
        name = error.code().name
        with self._lock:
            self.outcome.refused[name] = self.outcome.refused.get(name, 0) + 1
        elapsed = time.perf_counter() - self.outcome.began
        return name in {"UNAVAILABLE", "RESOURCE_EXHAUSTED"} and elapsed < self._plan.seconds + 60

    def _note(self, began: float, size: int) -> None:
        now = time.perf_counter()
        with self._lock:
            self.outcome.acked += 1
            self.outcome.sent_bytes += size
            self.outcome.latencies.append(now - began)
            self.outcome.ended = now


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--target", required=True)
    parser.add_argument("--spans", type=int, default=512, help="spans a request")
    parser.add_argument("--no-content", action="store_true")
    parser.add_argument("--requests", type=int, default=ENDLESS)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--channels", type=int, default=2)
    parser.add_argument("--inflight", type=int, default=2)
    parser.add_argument("--rate", type=float, default=0.0, help="spans a second; 0: all that goes")
    options = parser.parse_args()
    workload = Workload(spans=options.spans, content=not options.no_content)
    plan = Plan(
        options.requests, options.seconds, options.channels, options.inflight, options.rate,
        first=time.time_ns() // 10**6 % (1 << 31),
    )  # fmt: skip
    outcome = Client(options.target, workload, plan).run()
    print(json.dumps({"bytes_span": round(workload.bytes_a_span)} | outcome.figures(options.spans)))


if __name__ == "__main__":
    main()
