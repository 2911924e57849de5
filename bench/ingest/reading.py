"""CPU of reading and counting spans: `python bench/ingest/reading.py`.

Prints microseconds a span for: the bare protobuf parse, reading without texts, reading with texts,
and deciding what counts (one settle group of the size given). CPU time, best of several rounds.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING, Any

from acks import make_request
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from whyflame.dialects import DialectSettings, Reader
from whyflame.settle.counting import count
from whyflame.settle.sessions import resolve_sessions

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 15


def best(work: Callable[[Any], object], inputs: list[Any], spans: int) -> float:
    """Lowest CPU microseconds a span over rounds and inputs."""
    lowest = float("inf")
    for _ in range(ROUNDS):
        for value in inputs:
            started = time.process_time()
            work(value)
            lowest = min(lowest, time.process_time() - started)
    return round(lowest / spans * 1e6, 2)


def settle(spans: list[Any]) -> None:
    """What settling does before lanes and steps."""
    resolve_sessions(count(spans))


def main() -> None:
    """Measures and prints one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--spans", type=int, default=512)
    parser.add_argument("--content-chars", type=int, default=3000)
    options = parser.parse_args()
    requests = [make_request(options.spans, seed, options.content_chars) for seed in range(4)]
    plain, full = Reader(DialectSettings(read_content=False)), Reader(DialectSettings())

    def read(reader: Reader) -> Callable[[bytes], object]:
        return lambda payload: reader.read_traces(payload, tenant="", received_ns=1)

    groups = [full.read_traces(payload, tenant="", received_ns=1) for payload in requests]
    figures = {
        "parse": best(ExportTraceServiceRequest.FromString, requests, options.spans),
        "read": best(read(plain), requests, options.spans),
        "read_with_content": best(read(full), requests, options.spans),
        "count": best(settle, groups, options.spans),
    }
    print(json.dumps({"spans": options.spans, "us_per_span": figures}))


if __name__ == "__main__":
    main()
