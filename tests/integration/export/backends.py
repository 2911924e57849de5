"""Every exporter that ships, with a backend to send to."""

from __future__ import annotations

import time
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whyflame.export import Payload
from whyflame.export.fake import MemoryExporter
from whyflame.export.payloads import compress
from whyflame.export.reshape import unpack
from whyflame.fold.pprof import PprofOptions, encode_message
from whyflame.fold.profile import Profile, SampleType, build_profile
from whyflame_exporters.pyroscope import PyroscopeExporter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.doubles.pyroscope import Double

    from whyflame.export import Exporter

LABELS = (("__name__", "agent"), ("agent", "planner"), ("service_name", "shop"))


def make_payload(number: int, tenant: str = "") -> Payload:
    """A payload with a time of its own; 120 tokens."""
    time_ns = time.time_ns() - 1_000_000 * (1000 + number)
    empty = Profile(
        sample_types=(
            SampleType("operations", "count"),
            SampleType("cost", "microusd"),
            SampleType("duration", "nanoseconds"),
            SampleType("tokens", "count"),
        ),
        frames=(),
        offsets=array("q", [0]),
        frame_ids=array("i"),
        values=tuple(array("q") for _ in range(4)),
        default="tokens",
        time_ns=time_ns,
        duration_ns=15_000_000_000,
    )
    rows = [
        (("planner", "plan trip", "call gpt-5"), (), (1, 2, 3, 100)),
        (("planner", "book hotel", "run search"), (), (1, 0, 5, 20)),
    ]
    profile = build_profile(rows, like=empty)
    message = encode_message(profile, PprofOptions(name="agent", mapping="shop"))
    return Payload(number, "out", tenant, LABELS, time_ns, compress(message), len(message), 2)


@dataclass(frozen=True)
class Backend:
    """One exporter and how to see what arrived.

    Attributes:
        factory: As an entry point names it.
        options: Options for the double or a folder.
        count: Tokens that arrived.
    """

    name: str
    factory: Callable[[str, dict[str, Any]], Exporter]
    options: Callable[[Double, Path], dict[str, Any]]
    count: Callable[[Double, dict[str, Any], Any, bool], int]
    survives: bool = True

    def tokens(
        self, double: Double, options: dict[str, Any], exporter: Any, *, distinct: bool = False
    ) -> int:
        return self.count(double, options, exporter, distinct)

    def expected(self, payloads: int) -> int:
        """Tokens after so many payloads, each through an exporter of its own."""
        return (payloads if self.survives else 1) * 120


def _in_double(double: Double, *_: object) -> int:
    return double.sums().get("tokens", 0)


def _in_memory(_: Double, __: object, exporter: MemoryExporter, distinct: bool) -> int:
    accepted = set(exporter.accepted) if distinct else exporter.accepted
    return sum(unpack(payload.body)[0].total("tokens") for payload in accepted)


BACKENDS = [
    Backend("memory", MemoryExporter, lambda *_: {}, _in_memory, survives=False),
    Backend("pyroscope", PyroscopeExporter, lambda double, _: {"url": double.url}, _in_double),
    Backend(
        "pyroscope-json-gzip",
        PyroscopeExporter,
        lambda double, _: {"url": double.url, "encoding": "json", "compression": "gzip"},
        _in_double,
    ),
]
