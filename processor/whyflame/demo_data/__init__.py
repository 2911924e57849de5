"""The bundled fleet: OTLP requests recorded from really instrumented agents, and what they hold.

`bench/fleet/` makes both files; nothing here knows how.
"""

from __future__ import annotations

import json
import lzma
import struct
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["manifest", "requests"]

_RECORDING = "fleet.otlp.xz"
_MANIFEST = "manifest.json"
_SIGNALS = ("traces", "logs", "metrics")
_HEAD = struct.Struct(">BI")


def requests() -> Iterator[tuple[str, bytes]]:
    """Yield (signal, request body) in the order in which the fleet sent them.

    A body is an `Export<Signal>ServiceRequest`. The file is inflated while it is read, so the
    cost is a window of memory, not the whole recording.
    """
    path = resources.files(__name__).joinpath(_RECORDING)
    with path.open("rb") as packed, lzma.open(packed) as frames:
        while head := frames.read(_HEAD.size):
            signal, length = _HEAD.unpack(head)
            yield _SIGNALS[signal], frames.read(length)


def manifest() -> dict[str, Any]:
    """What is true about the recording, counted by the model server and the tools themselves.

    Keys: `totals` (as in a row of `whyflame totals`), `sessions` (totals, agent, task, version and
    outcome of each), `by_task`, `by_phase`, `by_agent`, `by_outcome`, `by_version`,
    `by_outcome_phase` (totals, tokens, tool seconds; widest first), `recording` (requests, spans,
    bytes, begin and end, packages).
    """
    text = resources.files(__name__).joinpath(_MANIFEST).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
