"""What is looked for: hostile inputs at every door, and what must hold whatever is sent.

Every input is written to a file before it is tried, so that even one that kills the process is kept.
"""

from __future__ import annotations

import json
import socket
from collections import Counter
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, given, settings, strategies as st
from tests.content_strategies import spans
from tests.fuzz.inputs import (
    damage,
    heads,
    http_bodies,
    lines,
    log_requests,
    otlp_json,
    trace_requests,
)

from whyflame.config import AuthConfig, Config, ContentConfig, OtlpConfig
from whyflame.content import extract_all
from whyflame.content.features import extract_in_python
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
    from pathlib import Path
    from random import Random

    from whyflame.model import Span

PATIENCE_SECONDS = 0.3
# What is right gets its answer, on a busy machine too.
LONG_PATIENCE_SECONDS = 20.0
KNOWN_STATUSES = frozenset({100, 200, 400, 403, 404, 405, 408, 413, 415, 431, 503})
GOOD = (
    b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\n"
    b"Content-Length: 0\r\n\r\n"
)
SETTLE = settle_settings(Config())


def effort(examples: int) -> settings:
    """So many examples of each kind, ten seconds at most for one."""
    return settings(
        max_examples=examples,
        deadline=10_000,
        suppress_health_check=list(HealthCheck),
    )


class Entry:
    """Everything behind a request: check, dialects, features, bounds, store, settling.

    Args:
        folder: For the store; `last.bin` or `last.json` there is the newest input.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
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
        note(self._folder, signal.label, "json" if encoding is Encoding.JSON else "bin", body)
        try:
            payload = check(signal, encoding, body).payload
        except PermanentError:
            self.outcomes["refused"] += 1
            return
        read = Read()
        self.reader.read(signal, payload, tenant="", received_ns=10**18, into=read)
        # What a dialect throws goes aside as unreadable, so that the stage lives: a fault all the same.
        assert ("", "dead_letters", "unreadable") not in read.counters
        self.outcomes["dead" if read.counters else "read"] += 1
        for span in read.spans:
            assert len(span.name) <= 500
            assert all(len(text) <= 500 for text in span.extra.values())
            assert len(span.features or b"") < 16_384
        self.writer.append(read.spans, {}, read.counters)
        operations = settle(read.spans, SETTLE, {})
        assert len(operations) == len(read.spans)
        assert all((op.self_ns or 0) >= 0 for op in operations)

    def take_named(self, signal: str, kind: str, body: bytes) -> None:
        """As `take`, of an input that was kept under such a name."""
        encoding = Encoding.JSON if kind == "json" else Encoding.PROTOBUF
        self.take(Signal[signal.upper()], encoding, body)


class HttpDoor:
    """A real receiver with a small limit, and the bytes that are thrown at its HTTP port."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        otlp = OtlpConfig(
            grpc="127.0.0.1:0", http="127.0.0.1:0", max_request_bytes=1 << 16, auth=AuthConfig()
        )
        self._receiver = Receiver(Config(otlp=otlp), folder / "journal", "r0")
        self._address = self._receiver.start().http

    def talk(self, content: bytes, patience_seconds: float = PATIENCE_SECONDS) -> bytes:
        """The beginning of whatever comes back; a status that HTTP does not know is a fault."""
        note(self._folder, "http", "raw", content)
        host, _, port = self._address.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=patience_seconds) as peer:
            try:
                peer.sendall(content)
                answer = peer.recv(4096)
            except OSError:
                # It closed while we still talked, or waits for what a head promised.
                return b""
        if answer:
            assert int(answer.split(b" ", 2)[1]) in KNOWN_STATUSES, answer[:200]
        return answer

    def check_alive(self) -> None:
        """What is right is taken, each time."""
        answers = [self.talk(GOOD, LONG_PATIENCE_SECONDS)[:12] for _ in range(20)]
        assert answers == [b"HTTP/1.1 200"] * 20

    def close(self) -> None:
        self._receiver.close(2)


def note(folder: Path, signal: str, kind: str, content: bytes) -> None:
    """Keep the newest input, under the name that `test_inputs_found_before` reads."""
    (folder / "last").write_bytes(f"{signal} {kind}\n".encode() + content)


def read_note(last: Path) -> tuple[str, str, bytes]:
    """(signal, kind, content) of what `note` wrote."""
    head, _, content = last.read_bytes().partition(b"\n")
    signal, kind = head.decode().split()
    return signal, kind, content


def look_behind(entry: Entry, examples: int) -> None:
    """Traces, logs and OTLP/JSON through check, dialects, store and settling; texts into features."""

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

    @effort(examples)
    @given(st.lists(spans, max_size=4))
    def features(found: list[Span]) -> None:
        """The native part, where it is in use, gives what Python gives."""
        modes = ["features"] * len(found)
        assert extract_all(found, modes) == extract_in_python(found, modes)

    traces()
    logs()
    as_json()
    features()


def look_at_http(door: HttpDoor, examples: int) -> None:
    """Request lines, heads and bodies in any combination; whatever came, what is right is taken."""

    @effort(examples)
    @given(lines, heads, http_bodies)
    def talk(line: bytes, head: list[bytes], body: bytes) -> None:
        door.talk(b"\r\n".join((line, *head)) + b"\r\n\r\n" + body)

    talk()
    door.check_alive()
