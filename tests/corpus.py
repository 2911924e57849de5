"""The captured requests of real producers, with what a correct profiler counts in them.

A compressed copy of the reference corpus lies in `tests/golden`, so that a clone can run the tests;
beside it captures of further producers and versions, made against a model server whose every figure
is known (`model_truth`; `not_visible` says what the producer does not tell).
"""

from __future__ import annotations

import io
import json
import tarfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from whyflame.dialects import read_logs, read_traces
from whyflame.journal.frame import Signal
from whyflame.journal.otlp_json import to_protobuf

if TYPE_CHECKING:
    from whyflame.model import Span

_GOLDEN = Path(__file__).parent / "golden"
REFERENCE = _GOLDEN / "corpus.tar.xz"
ARCHIVES = (REFERENCE, _GOLDEN / "captures.tar.xz")


@dataclass(slots=True)
class Case:
    """One scenario or fault: requests in order of arrival, as (signal, protobuf bytes)."""

    name: str
    expected: dict[str, Any] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)

    def requests(self) -> list[tuple[str, bytes]]:
        """Traces and logs requests; metrics never count."""
        found = []
        for name, content in sorted(self.files.items()):
            signal = next((word for word in ("traces", "logs") if word in name), None)
            if signal:
                is_json = name.endswith(".json")
                kind = Signal.TRACES if signal == "traces" else Signal.LOGS
                found.append((signal, to_protobuf(kind, content) if is_json else content))
        return found


@cache
def cases() -> dict[str, Case]:
    """Every case by name."""
    found: dict[str, Case] = {}
    for archive in ARCHIVES:
        found |= _read(archive)
    return found


@cache
def _read(archive: Path) -> dict[str, Case]:
    found: dict[str, Case] = {}
    with tarfile.open(fileobj=io.BytesIO(archive.read_bytes()), mode="r:xz") as members:
        for member in members:
            if member.isfile():
                _add(found, Path(member.name), members.extractfile(member))
    return found


def _add(found: dict[str, Case], path: Path, opened: IO[bytes] | None) -> None:
    assert opened is not None
    case = found.setdefault(path.parent.name, Case(path.parent.name))
    content = opened.read()
    if path.name == "expected.json":
        case.expected = json.loads(content)
    else:
        case.files[path.name] = content


def names() -> list[str]:
    """Names of all cases, for parameters."""
    return sorted(cases())


def reference_names() -> list[str]:
    """Names of the cases of the reference folder alone."""
    return sorted(_read(REFERENCE))


def read_requests(requests: list[tuple[str, bytes]]) -> list[Span]:
    """Spans of requests, numbered in order of arrival as the indexer does."""
    spans: list[Span] = []
    for signal, payload in requests:
        read = read_traces if signal == "traces" else read_logs
        spans += read(payload, tenant="", received_ns=1)
    for key, span in enumerate(spans, start=1):
        span.span_key = key
    return spans
