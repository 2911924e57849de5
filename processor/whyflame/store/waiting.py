"""Traces that wait to be settled: as many as may be held in memory, and how many more there are."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Times", "Waiting"]

Times = tuple[int, int]
"""Receipt times of the oldest and of the newest span of a trace that is not settled."""


class Waiting:
    """One thread adds, another takes; a lock covers the map.

    Args:
        most: Traces held. Once there are more, all that come later are left out until `begin_again`,
            so that nobody is overtaken.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._times: dict[int, Times] = {}
        self._left_out = 0
        self._oldest_left_out: int | None = None
        self._newest_key = -1

    def __len__(self) -> int:
        """All that wait; of those that are left out, traces that had been settled before are not counted."""
        return len(self._times) + self._left_out

    @property
    def is_low(self) -> bool:
        """Traces were left out, and there is room for them again."""
        return self._oldest_left_out is not None and len(self._times) <= self._most // 2

    def add(self, traces: Mapping[int, Times]) -> None:
        """New spans arrived, by trace key."""
        with self._lock:
            for key, (oldest, newest) in traces.items():
                known = self._times.get(key)
                if known is not None:
                    self._times[key] = (min(oldest, known[0]), max(newest, known[1]))
                elif self._oldest_left_out is None and len(self._times) < self._most:
                    self._times[key] = (oldest, newest)
                else:
                    # Keys grow: a smaller one is a trace that has been counted.
                    self._leave_out(int(key > self._newest_key), oldest)
                self._newest_key = max(self._newest_key, key)

    def put_back(self, traces: Mapping[int, Times]) -> None:
        """What was taken could not be settled: it is held again, also where there is no room."""
        with self._lock:
            for key, (oldest, newest) in traces.items():
                known = self._times.get(key, (oldest, newest))
                self._times[key] = (min(oldest, known[0]), max(newest, known[1]))

    def begin_again(self) -> None:
        """Forget that anything was left out: all that waits is about to be looked up in the store."""
        with self._lock:
            self._left_out, self._oldest_left_out = 0, None

    def leave_out(self, traces: int, oldest: int) -> None:
        """So many more wait in the store."""
        with self._lock:
            self._leave_out(traces, oldest)

    def _leave_out(self, traces: int, oldest: int) -> None:
        self._left_out += traces
        known = self._oldest_left_out
        self._oldest_left_out = oldest if known is None else min(known, oldest)

    def keys(self) -> list[int]:
        """Of those that are held."""
        with self._lock:
            return list(self._times)

    def take(
        self, keys: Iterable[int], now_ns: int, *, idle_ns: int, hold_ns: int
    ) -> dict[int, Times]:
        """Those of these traces that wait, if all are quiet or one has waited too long."""
        with self._lock:
            times = {key: self._times[key] for key in keys if key in self._times}
            if not times or not _is_ready(times, now_ns, idle_ns, hold_ns):
                return {}
            for key in times:
                del self._times[key]
            return times

    def oldest_received_ns(self) -> int | None:
        """Receipt time of the oldest span that waits."""
        with self._lock:
            held = min((oldest for oldest, _ in self._times.values()), default=None)
            left = self._oldest_left_out
        return min((time for time in (held, left) if time is not None), default=None)


def _is_ready(times: Mapping[int, Times], now_ns: int, idle_ns: int, hold_ns: int) -> bool:
    quiet = now_ns - max(newest for _, newest in times.values()) >= idle_ns
    return quiet or now_ns - min(oldest for oldest, _ in times.values()) >= hold_ns
