"""Requests to the double, made without any code of whyflame."""

from __future__ import annotations

import base64
import gzip
import time
from typing import Any

import httpx
from tests.doubles.pyroscope.server import PUSH_PATH, Double
from tests.doubles.pyroscope.wire import Profile, PushRequest

TYPES = (
    ("operations", "count"),
    ("cost", "microusd"),
    ("duration", "nanoseconds"),
    ("tokens", "count"),
)
LABELS = {"__name__": "agent", "service_name": "s"}


class Fixture:
    """A pprof message under construction: the fixture P of the checks, and variations."""

    def __init__(self, time_ns: int | None = None, *, period: bool = True) -> None:
        self.message = Profile(time_nanos=time.time_ns() if time_ns is None else time_ns)
        self.message.string_table.append(b"")
        for name, unit in TYPES:
            self.message.sample_type.add(type=self.string(name), unit=self.string(unit))
        if period:
            self.message.period = 1
            self.message.period_type.type = self.string("agent")
            self.message.period_type.unit = self.string("count")
        self.message.mapping.add(id=1, has_functions=True)

    def string(self, text: str | bytes) -> int:
        data = text.encode() if isinstance(text, str) else text
        table = list(self.message.string_table)
        if data not in table:
            self.message.string_table.append(data)
            return len(table)
        return table.index(data)

    def location(self, name: str | bytes) -> int:
        number = len(self.message.location) + 1
        self.message.function.add(id=number, name=self.string(name))
        self.message.location.add(id=number, mapping_id=1).line.add(function_id=number)
        return number

    def sample(
        self, stack: list[str], values: tuple[int, ...] = (1, 2, 3, 4), **labels: str
    ) -> Fixture:
        """A sample; `stack` is root first."""
        locations = [self.location(name) for name in reversed(stack)]
        sample = self.message.sample.add(location_id=locations, value=values)
        for name, value in labels.items():
            sample.label.add(key=self.string(name), str=self.string(value))
        return self

    def encode(self) -> bytes:
        encoded: bytes = self.message.SerializeToString()
        return encoded


def profile(time_ns: int | None = None) -> bytes:
    """The fixture P."""
    return Fixture(time_ns).sample(["agent", "plan"]).sample(["agent", "act"]).encode()


def padded(size: int, time_ns: int | None = None) -> bytes:
    """A valid profile of about so many bytes."""
    fixture = Fixture(time_ns).sample(["agent"])
    for number in range(size // 60_000 + 1):
        fixture.message.string_table.append(b"%06d" % number + b"x" * 59_990)
    return fixture.encode()


def series(labels: dict[str, str] | list[tuple[str, str]], *profiles: bytes) -> dict[str, Any]:
    """One series of a JSON request."""
    pairs = labels.items() if isinstance(labels, dict) else labels
    return {
        "labels": [{"name": name, "value": value} for name, value in pairs],
        "samples": [
            {"ID": f"id-{number}", "rawProfile": base64.b64encode(content).decode()}
            for number, content in enumerate(profiles)
        ],
    }


def push(
    double: Double,
    *profiles: bytes,
    labels: dict[str, str] | list[tuple[str, str]] = LABELS,
    headers: dict[str, str] | None = None,
) -> httpx.Response:
    """Push profiles of one series as JSON."""
    return push_json(double, {"series": [series(labels, *profiles)]}, headers)


def push_json(
    double: Double, body: dict[str, Any], headers: dict[str, str] | None = None
) -> httpx.Response:
    return httpx.post(double.url + PUSH_PATH, json=body, headers=headers or {}, trust_env=False)


def push_body(*profiles: bytes) -> bytes:
    """A request with profiles of one series."""
    request = PushRequest()
    added = request.series.add()
    for name, value in LABELS.items():
        added.labels.add(name=name, value=value)
    for content in profiles:
        added.samples.add(raw_profile=content)
    body: bytes = request.SerializeToString()
    return body


def push_proto(double: Double, *profiles: bytes, **headers: str) -> httpx.Response:
    """Push profiles of one series as protobuf."""
    body = push_body(*profiles)
    if headers.get("content_encoding") == "gzip":
        body = gzip.compress(body)
    sent = {"Content-Type": "application/proto"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.post(double.url + PUSH_PATH, content=body, headers=sent, trust_env=False)
