"""Which traces wait to be settled, and what must be settled together with them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from whyflame.store.span_rows import SpanRows, read_rows, spans_of
from whyflame.store.waiting import Times, Waiting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from whyflame.model import Span
    from whyflame.store.duck import Store

__all__ = ["Group", "Unsettled"]

# Traces that overlap through provider-SDK spans can chain without end in a busy process.
MAX_GROUP_TRACES = 20_000
# Settled together, when nothing joins more: bounds memory (3 KB a span), shares the price of the
# queries. A session is never divided.
GROUP_TRACES = 1_000
GROUP_SPANS = 16_384
# Held in memory, 250 bytes each; the store knows the others.
WAITING_TRACES = 100_000
MAX_ROUNDS = 4
MIRROR_SLACK_NS = 3_600_000_000_000


@dataclass(slots=True)
class Group:
    """Everything one settle pass sees.

    Attributes:
        spans: All current spans of the traces.
        trace_keys: The traces; each gets a new generation.
        last_keys: Newest span key of each that was read; empty when not looked at.
        earlier_runs: (tenant, session) -> runs that lie wholly before the loaded part.
    """

    spans: list[Span] = field(default_factory=list)
    trace_keys: list[int] = field(default_factory=list)
    earlier_runs: dict[tuple[str, str], int] = field(default_factory=dict)
    last_keys: dict[int, int] = field(default_factory=dict)

    def take(self, read: SpanRows) -> None:
        """The spans of these traces, as they were read."""
        self.spans = spans_of(read)
        self.last_keys = read.last_keys()


@dataclass(frozen=True, slots=True)
class _Session:
    """Waiting traces that are settled together, and how many spans they have."""

    keys: list[int]
    spans: int


class Unsettled:
    """Traces with spans newer than their generation.

    The indexer's thread adds, the settle job's thread takes.

    Args:
        store: The open store; traces left unsettled by an earlier process are found at once.
        gap_ns: Silence that separates two runs of a session.
        most: Traces held in memory. When more wait, those that came later are found in the store
            again once half of these are settled.
    """

    def __init__(self, store: Store, *, gap_ns: int, most: int = WAITING_TRACES) -> None:
        self._cursor = store.cursor()
        self._gap_ns = gap_ns
        self._most = most
        self._waiting = Waiting(most)
        # Sessions found ready by the last look at all that waits, not taken yet.
        self._ready: deque[_Session] = deque()
        self._find_waiting()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, traces: Mapping[int, Times]) -> None:
        """New spans arrived: trace key -> (oldest, newest) receipt time."""
        self._waiting.add(traces)

    def put_back(self, taken: Mapping[int, Times]) -> None:
        """What `take_ready` gave could not be settled."""
        self._waiting.put_back(taken)

    def oldest_received_ns(self) -> int | None:
        """Receipt time of the oldest span that is not settled yet."""
        return self._waiting.oldest_received_ns()

    def _find_waiting(self) -> None:
        """Look in the store for traces with spans newer than their generation; oldest first."""
        # First, since what is stored from here on may be missed by the question below.
        self._waiting.begin_again()
        rows = self._cursor.execute(
            "SELECT s.trace_key, min(s.received_ns) AS oldest, max(s.received_ns), count(*) OVER () "
            "FROM spans s LEFT JOIN (SELECT trace_key, max(last_span_key) AS last FROM generations "
            "GROUP BY trace_key) g USING (trace_key) "
            "WHERE s.span_key > coalesce(g.last, -1) GROUP BY s.trace_key "
            "ORDER BY oldest, s.trace_key LIMIT ?",
            [self._most + 1],
        ).fetchall()
        self._waiting.add({key: (oldest, newest) for key, oldest, newest, _ in rows[: self._most]})
        for _, oldest, _, found in rows[self._most :]:
            self._waiting.leave_out(found - self._most, oldest)

    def take_ready(
        self, now_ns: int, *, idle_ns: int, hold_ns: int, limit: int = GROUP_TRACES
    ) -> dict[int, Times]:
        """Take traces whose session has been quiet, or which waited too long.

        Returns:
            What was taken, to `put_back` if settling fails. At most about `limit` traces and
            GROUP_SPANS spans, whole sessions only.
        """
        taken = self._take(now_ns, idle_ns, hold_ns, limit)
        if not taken:
            if self._waiting.is_low:
                self._find_waiting()
            waiting = self._waiting.keys()
            # One look for many calls: it goes over everything that waits.
            self._ready.extend(self._sessions_of(waiting) if waiting else ())
            taken = self._take(now_ns, idle_ns, hold_ns, limit)
        return taken

    def _take(self, now_ns: int, idle_ns: int, hold_ns: int, limit: int) -> dict[int, Times]:
        """From what the last look found, as far as it is ready still."""
        taken: dict[int, Times] = {}
        spans = 0
        while self._ready and len(taken) < limit and spans < GROUP_SPANS:
            session = self._ready.popleft()
            times = self._waiting.take(session.keys, now_ns, idle_ns=idle_ns, hold_ns=hold_ns)
            if times:
                taken.update(times)
                spans += session.spans
        return taken

    def _sessions_of(self, keys: list[int]) -> list[_Session]:
        """The waiting traces, grouped so that traces sharing a session stand together."""
        groups = _Groups(keys)
        first: dict[tuple[str, str], int] = {}
        for trace_key, tenant, session in self._cursor.execute(
            "SELECT DISTINCT trace_key, tenant, session FROM traces_seen "
            "WHERE session IS NOT NULL AND trace_key IN (SELECT unnest(?::BIGINT[])) ORDER BY ALL",
            [keys],
        ).fetchall():
            other = first.setdefault((tenant, session), trace_key)
            groups.join(trace_key, other)
        sizes = dict(
            self._cursor.execute(
                "SELECT trace_key, count(*) FROM spans "
                "WHERE trace_key IN (SELECT unnest(?::BIGINT[])) GROUP BY trace_key",
                [keys],
            ).fetchall()
        )
        return [
            _Session(together, sum(sizes.get(key, 0) for key in together))
            for together in groups.lists()
        ]

    def traces_of(self, session: str | None, tenant: str = "") -> list[int]:
        """Keys of all traces of a tenant, or of those that settled into one session."""
        if session is None:
            rows = self._cursor.execute(
                "SELECT DISTINCT trace_key FROM spans WHERE tenant = ? ORDER BY 1", [tenant]
            ).fetchall()
        else:
            rows = self._cursor.execute(
                "SELECT DISTINCT trace_key FROM settled_now WHERE session = "
                "(SELECT id FROM strings WHERE value = ?) AND tenant = "
                "(SELECT id FROM strings WHERE value = ?) ORDER BY 1",
                [session, tenant],
            ).fetchall()
        return [row[0] for row in rows]

    def groups(self, keys: list[int], limit: int = GROUP_TRACES) -> Iterator[Group]:
        """Groups that cover these traces, whole sessions each, every trace once."""
        done: set[int] = set()
        ready: list[int] = []
        spans = 0
        for session in [*self._sessions_of(keys), _Session([], GROUP_SPANS)]:
            ready += [key for key in session.keys if key not in done]
            spans += session.spans
            if ready and (len(ready) >= limit or spans >= GROUP_SPANS):
                group = self.load(ready)
                done.update(group.trace_keys)
                ready, spans = [], 0
                yield group

    def load(self, ready: Iterable[int]) -> Group:
        """The traces, and all that must be looked at with them, with their spans."""
        group = self.find(ready)
        group.take(self.rows(group))
        return group

    def rows(self, group: Group) -> SpanRows:
        """The current spans of a group."""
        return read_rows(
            self._cursor,
            "trace_key IN (SELECT unnest(?::BIGINT[])) "
            "AND span_key NOT IN (SELECT span_key FROM superseded)",
            [group.trace_keys],
        )

    def find(self, ready: Iterable[int]) -> Group:
        """The traces, and all that must be looked at with them, without their spans."""
        group = Group(trace_keys=sorted(ready))
        for _ in range(MAX_ROUNDS):
            before = len(group.trace_keys)
            found = set(group.trace_keys)
            found |= self._same_session(group)
            found |= self._mirrors(group.trace_keys)
            found |= self._provider_traces(group.trace_keys)
            if len(found) == before or len(found) > MAX_GROUP_TRACES:
                break
            group.trace_keys = sorted(found)
        return group

    def _same_session(self, group: Group) -> set[int]:
        """Traces of the same sessions, as far as no gap lies between."""
        rows = self._cursor.execute(
            "WITH mine AS (SELECT DISTINCT tenant, session FROM traces_seen WHERE session IS NOT "
            "NULL AND trace_key IN (SELECT unnest(?::BIGINT[]))) "
            "SELECT tenant, session, trace_key, min(start_ns), max(end_ns) "
            "FROM traces_seen JOIN mine USING (tenant, session) GROUP BY ALL ORDER BY 1, 2, 4, 3",
            [group.trace_keys],
        ).fetchall()
        sessions: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
        for tenant, session, key, start, end in rows:
            sessions.setdefault((tenant, session), []).append((key, start, end))
        mine, found = set(group.trace_keys), set[int]()
        for name, traces in sessions.items():
            runs = _runs(traces, self._gap_ns)
            wanted = [number for number, run in enumerate(runs) if mine.intersection(run)]
            group.earlier_runs[name] = wanted[0]
            for run in runs[wanted[0] : wanted[-1] + 1]:
                found.update(run)
        return found

    def _mirrors(self, keys: list[int]) -> set[int]:
        """Traces that hold a call with the same response id (gateways)."""
        rows = self._cursor.execute(
            "WITH mine AS (SELECT tenant, response_id, min(start_ns) - ? AS lo, "
            "max(start_ns) + ? AS hi FROM spans WHERE response_id IS NOT NULL "
            "AND trace_key IN (SELECT unnest(?::BIGINT[])) GROUP BY ALL) "
            "SELECT DISTINCT s.trace_key FROM spans s JOIN mine m USING (tenant, response_id) "
            "WHERE s.start_ns BETWEEN m.lo AND m.hi",
            [MIRROR_SLACK_NS, MIRROR_SLACK_NS, keys],
        ).fetchall()
        return {row[0] for row in rows}

    def _provider_traces(self, keys: list[int]) -> set[int]:
        """Traces of the same process and time made only of provider-SDK spans, and their hosts."""
        span = self._cursor.execute(
            "SELECT min(start_ns), max(end_ns) FROM traces_seen "
            "WHERE trace_key IN (SELECT unnest(?::BIGINT[]))",
            [keys],
        ).fetchone()
        if span is None or span[0] is None:
            return set()
        # The time range first: its zone maps leave most of a large store unread. Then only the
        # processes that have such traces at all, which are few.
        rows = self._cursor.execute(
            "WITH seen AS MATERIALIZED (SELECT trace_key, tenant, service, instance, "
            "min(start_ns) AS start_ns, max(end_ns) AS end_ns, bool_or(hosts) AS hosts "
            "FROM traces_seen WHERE end_ns >= ? AND start_ns <= ? GROUP BY ALL) "
            "SELECT * FROM seen WHERE EXISTS (SELECT 1 FROM seen g WHERE NOT g.hosts "
            "AND g.tenant = seen.tenant AND g.service = seen.service "
            "AND g.instance IS NOT DISTINCT FROM seen.instance)",
            list(span),
        ).fetchall()
        mine, found = set(keys), set[int]()
        for hosts, guests in _by_process(rows):
            found |= _overlapping(hosts, guests, mine)
        return found


_Timed = list[tuple[int, int, int]]
"""(trace key, start, end)."""


def _by_process(rows: list[tuple[Any, ...]]) -> Iterable[tuple[_Timed, _Timed]]:
    """Traces that frame work, and traces of provider-SDK spans only, by process."""
    processes: dict[tuple[Any, ...], tuple[_Timed, _Timed]] = {}
    for key, tenant, service, instance, start, end, hosts in rows:
        sides = processes.setdefault((tenant, service, instance), ([], []))
        sides[0 if hosts else 1].append((key, start, end))
    return processes.values()


def _overlapping(hosts: _Timed, guests: _Timed, mine: set[int]) -> set[int]:
    """Keys on the other side of whatever is ours, where the times overlap."""
    if not hosts or not guests:
        return set()
    keys, starts, ends = (np.array(column) for column in zip(*hosts, strict=True))
    are_mine = np.isin(keys, list(mine))
    found: set[int] = set()
    for key, start, end in guests:
        overlaps = (starts <= end) & (ends >= start)
        if key in mine:
            found.update(keys[overlaps].tolist())
        elif (overlaps & are_mine).any():
            found.add(key)
    return found


class _Groups:
    """Disjoint sets of traces."""

    def __init__(self, keys: Iterable[int]) -> None:
        self._parent = {key: key for key in keys}

    def _root(self, key: int) -> int:
        while self._parent[key] != key:
            self._parent[key] = self._parent[self._parent[key]]
            key = self._parent[key]
        return key

    def join(self, left: int, right: int) -> None:
        self._parent[self._root(left)] = self._root(right)

    def lists(self) -> list[list[int]]:
        members: dict[int, list[int]] = {}
        for key in self._parent:
            members.setdefault(self._root(key), []).append(key)
        return list(members.values())


def _runs(traces: list[tuple[int, int, int]], gap_ns: int) -> list[list[int]]:
    """Trace keys by run; `traces` are (key, start, end) ordered by start."""
    runs: list[list[int]] = []
    latest = 0
    for key, start, end in traces:
        if not runs or start - latest > gap_ns:
            runs.append([])
        runs[-1].append(key)
        latest = max(latest, end)
    return runs
