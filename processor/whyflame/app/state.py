"""What the threads of the store process share."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["State"]


@dataclass(slots=True)
class State:
    """Flags and locks; each thread reads them anew."""

    stopping: threading.Event = field(default_factory=threading.Event)
    receivers_ready: bool = False
    # Where OTLP is received, with real port numbers: {"grpc": ..., "http": ...}.
    receiving: dict[str, str] = field(default_factory=dict)
    # The store must be opened again: there is nothing to wind up.
    broken: bool = False
    # One settle pass at a time: the periodic one, or one that a command asked for.
    settling: threading.Lock = field(default_factory=threading.Lock)
    # Payloads are numbered by one thread at a time: the export stage, or a change by hand.
    exporting: threading.Lock = field(default_factory=threading.Lock)
    # Seconds since somebody asked the store something.
    unasked: Callable[[], float] = lambda: 0.0
