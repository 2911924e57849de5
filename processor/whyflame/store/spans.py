"""Appending spans: keys, repeats, and the journal position, in one transaction.

A span is (tenant, trace id, span id). Repeats are recognised in the window of open traces held in
memory; a trace that left the window (or arrives by import) is looked up in the store once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whyflame.model import Kind, Span
from whyflame.store.duck import append, transaction
from whyflame.store.span_rows import Origins, row_of
from whyflame.store.window import OpenTrace, SeenTraces, Window, pack, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import duckdb

    from whyflame.store.duck import Store

__all__ = ["AppendResult", "SpanWriter"]

WINDOW_TRACES = 50_000
# About 200 bytes each.
WINDOW_SPANS = 300_000
# So many origins are looked through for unused ones at the start.
MANY_ORIGINS = 50_000
# The provider SDK's own view of a call; a trace made only of such spans belongs to another trace.
PROVIDER_WIRE = 9
_CALLS = (Kind.LLM, Kind.EMBED)

_Seen = dict[tuple[int, str | None], list[Any]]
"""Rows of `traces_seen` by (trace key, session)."""


@dataclass(slots=True)
class AppendResult:
    """What one append did.

    Attributes:
        stored: Rows appended. repeated: Spans already known and not richer.
        superseded: Known spans replaced by a richer arrival.
        traces: Trace key -> (oldest, newest) receipt time of what is new, for the settle job.
    """

    stored: int = 0
    repeated: int = 0
    superseded: int = 0
    traces: dict[int, tuple[int, int]] = field(default_factory=dict)

    def add(self, other: AppendResult) -> None:
        """Count what another append did as well."""
        self.stored += other.stored
        self.repeated += other.repeated
        self.superseded += other.superseded
        for key, (oldest, newest) in other.traces.items():
            known = self.traces.get(key, (oldest, newest))
            self.traces[key] = (min(oldest, known[0]), max(newest, known[1]))


class SpanWriter:
    """The one appender of spans; used by one thread.

    Args:
        store: The open store.
        window_traces: How many traces are kept in memory to recognise repeats.
    """

    def __init__(self, store: Store, *, window_traces: int = WINDOW_TRACES) -> None:
        store.kept.clear()
        self._cursor = store.cursor()
        self._window = Window(window_traces, WINDOW_SPANS)
        self._next_span = _next_key(self._cursor, "spans", "span_key")
        self._next_trace = _next_key(self._cursor, "traces", "trace_key")
        _prune_origins(self._cursor)
        self._origins = Origins(_next_key(self._cursor, "origins", "origin"))
        self._seen_traces = self._load_seen()
        self._renews = False

    def renew(self, spans: Sequence[Span]) -> AppendResult:
        """Store spans that were read again by better rules, in the place of what they were."""
        self._renews = True
        try:
            return self.append(spans, {}, {})
        finally:
            self._renews = False

    def positions(self) -> dict[str, tuple[int, int]]:
        """Journal position by stream: (segment, byte offset) up to which all is stored."""
        rows = self._cursor.execute(
            "SELECT stream, max(segment), arg_max(byte_offset, (segment, byte_offset)) "
            "FROM journal_position GROUP BY stream"
        ).fetchall()
        return {stream: (segment, offset) for stream, segment, offset in rows}

    def append(
        self,
        spans: Sequence[Span],
        positions: Mapping[str, tuple[int, int]],
        counters: Mapping[tuple[str, str, str], int],
        meanwhile: Callable[[], object] | None = None,
    ) -> AppendResult:
        """Store spans, journal positions and counters, all or nothing.

        Args:
            spans: As read by the dialects; their keys are assigned here.
            positions: Stream -> (segment, byte offset) reached with these spans.
            counters: (tenant, name, label) -> amount to add to the coverage counters.
            meanwhile: What to do while all of it is committed; must not raise.
        """
        keys = (self._next_span, self._next_trace)
        touched = {(span.tenant, span.trace_id): None for span in spans}
        try:
            with transaction(self._cursor, meanwhile):
                result = self._append(spans, list(touched))
                append(
                    self._cursor,
                    "counters",
                    [(name, label, n, owner) for (owner, name, label), n in counters.items()],
                )
                self._write_positions(positions)
        except BaseException:
            # What the window learned is not in the store: forget the touched traces.
            self._next_span, self._next_trace = keys
            self._window.drop(touched)
            self._origins.forget()
            raise
        self._origins.confirm()
        self._window.count(result.stored - result.superseded)
        if self._seen_traces.is_full:
            self._seen_traces = self._load_seen()
        return result

    def _append(self, spans: Sequence[Span], names: list[tuple[str, bytes]]) -> AppendResult:
        result = AppendResult()
        traces, new_traces = self._open_traces(names)
        superseded: list[tuple[int, int, str]] = []
        seen: _Seen = {}
        kept: list[Span] = []
        for span in spans:
            trace = traces[span.tenant, span.trace_id]
            weight = _weigh(span.attributes_count, ended=span.end_ns is not None)
            known = trace.spans.get(span.span_id)
            if known is not None and not self._supersedes(known, weight, superseded, result):
                continue
            span.span_key, span.trace_key = self._next_span, trace.key
            trace.spans[span.span_id] = pack(self._next_span, weight)
            self._next_span += 1
            kept.append(span)
        # One step for all of them, then the next: 2 us a span less than all steps span by span.
        rows = list(map(row_of, kept, map(self._origins.number, kept)))
        for span in kept:
            _see(seen, span)
            _note_receipt(result.traces, span.trace_key, span.received_ns)
        append(self._cursor, "traces", new_traces)
        append(self._cursor, "origins", self._origins.fresh_rows())
        append(self._cursor, "spans", rows)
        append(self._cursor, "superseded", superseded)
        append(self._cursor, "traces_seen", [tuple(row) for row in seen.values()])
        result.stored, result.superseded = len(rows), len(superseded)
        return result

    def _supersedes(
        self,
        known: int,
        weight: int,
        superseded: list[tuple[int, int, str]],
        result: AppendResult,
    ) -> bool:
        """Whether a span that is known comes with more than it had; notes either."""
        key, had = unpack(known)
        if had >= weight and not self._renews:
            result.repeated += 1
            return False
        superseded.append((key, self._next_span, "renewed" if self._renews else "richer"))
        return True

    def _open_traces(
        self, names: list[tuple[str, bytes]]
    ) -> tuple[dict[tuple[str, bytes], OpenTrace], list[tuple[int, str, bytes]]]:
        """The traces of a batch, brought into the window; and rows for those that are new."""
        found = {name: self._window.get(name) for name in names}
        missing = [name for name, trace in found.items() if trace is None]
        known = self._look_up([name for name in missing if self._seen_traces.may_hold(name[1])])
        fresh: list[tuple[int, str, bytes]] = []
        traces = {name: trace for name, trace in found.items() if trace is not None}
        for name in missing:
            trace = known.get(name)
            if trace is None:
                trace = OpenTrace(self._next_trace)
                self._next_trace += 1
                self._seen_traces.add(name[1])
                fresh.append((trace.key, *name))
            traces[name] = trace
            self._window.add(name, trace)
        return traces, fresh

    def _look_up(self, names: list[tuple[str, bytes]]) -> dict[tuple[str, bytes], OpenTrace]:
        """Those of these traces that the store knows, with their spans."""
        if not names:
            return {}
        wanted = set(names)
        traces = {
            (tenant, trace_id): OpenTrace(key)
            for key, tenant, trace_id in self._cursor.execute(
                "SELECT trace_key, tenant, trace_id FROM traces WHERE trace_id IN "
                "(SELECT unnest(?::BLOB[]))",
                [[trace_id for _, trace_id in names]],
            ).fetchall()
            if (tenant, trace_id) in wanted
        }
        if traces:
            by_key = {trace.key: trace for trace in traces.values()}
            for trace_key, span_id, span_key, attributes, ended in self._cursor.execute(
                "SELECT trace_key, span_id, span_key, attributes_count, end_ns IS NOT NULL "
                "FROM spans WHERE trace_key IN (SELECT unnest(?::BIGINT[])) ORDER BY span_key",
                [list(by_key)],
            ).fetchall():
                by_key[trace_key].spans[span_id] = pack(span_key, _weigh(attributes, ended=ended))
        return traces

    def _load_seen(self) -> SeenTraces:
        cursor = self._cursor.execute("SELECT trace_id FROM traces")
        return SeenTraces(_values(cursor), self._next_trace)

    def _write_positions(self, positions: Mapping[str, tuple[int, int]]) -> None:
        for stream, (segment, offset) in positions.items():
            self._cursor.execute("DELETE FROM journal_position WHERE stream = ?", [stream])
            self._cursor.execute(
                "INSERT INTO journal_position VALUES (?, ?, ?)", [stream, segment, offset]
            )


def _values(cursor: duckdb.DuckDBPyConnection) -> Iterator[bytes]:
    while rows := cursor.fetchmany(10_000):
        for (value,) in rows:
            yield value


def _next_key(cursor: duckdb.DuckDBPyConnection, table: str, column: str) -> int:
    query = f"SELECT coalesce(max({column}) + 1, 0) FROM {table}"
    row = cursor.execute(query).fetchone()
    return int(row[0]) if row else 0


def _prune_origins(cursor: duckdb.DuckDBPyConnection) -> None:
    """Drop what spans of forgotten traces had in common (pods come and go)."""
    if _next_key(cursor, "origins", "origin") > MANY_ORIGINS:
        cursor.execute(
            "DELETE FROM origins WHERE origin NOT IN (SELECT origin FROM spans) "
            "AND origin < (SELECT max(origin) FROM origins)"
        )


def _weigh(attributes_count: int, *, ended: bool) -> int:
    # An ended span always says more than a pending one, however many attributes that had.
    return attributes_count + (1 << 20) if ended else attributes_count


def _note_receipt(traces: dict[int, tuple[int, int]], key: int, received_ns: int) -> None:
    known = traces.get(key)
    if known is None:
        traces[key] = (received_ns, received_ns)
    elif not known[0] <= received_ns <= known[1]:
        traces[key] = (min(known[0], received_ns), max(known[1], received_ns))


def _see(seen: _Seen, span: Span) -> None:
    """Note for each (trace, session) of the batch when it ran and whether it frames work."""
    hosts = span.wire < PROVIDER_WIRE or span.kind not in _CALLS
    start = span.start_ns if span.start_ns is not None else span.received_ns
    end = span.end_ns if span.end_ns is not None else start
    first, second = span.session or span.conversation or None, span.conversation
    for session in (first,) if not second or second == first else (first, second):
        row = seen.get((span.trace_key, session))
        if row is None:
            seen[span.trace_key, session] = [
                span.trace_key, span.tenant, span.service, span.instance, session, start, end, hosts,
            ]  # fmt: skip
            continue
        row[5] = min(row[5], start)
        row[6] = max(row[6], end)
        if hosts:
            row[7] = True
