"""Appending spans: keys, repeats, and the journal position, in one transaction.

A span is (tenant, trace id, span id). Repeats are recognised in the window of open traces held in
memory; a trace that left the window (or arrives by import) is looked up in the store once.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whyflame.model import Content, Kind, Span, Status
from whyflame.store.duck import append, transaction

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import duckdb

    from whyflame.store.duck import Store

__all__ = ["SPAN_COLUMNS", "AppendResult", "SpanWriter", "span_from_row"]

WINDOW_TRACES = 50_000
# The provider SDK's own view of a call; a trace made only of such spans belongs to another trace.
PROVIDER_WIRE = 9

SPAN_COLUMNS = (
    "span_key, trace_key, tenant, signal, trace_id, span_id, parent_id, links, start_ns, end_ns, "
    "received_ns, name, kind, dialect, scope, scope_version, service, service_version, "
    "environment, instance, host, session, conversation, user_hash, agent, agent_id, model, "
    "request_model, provider, tool, call_id, asked, response_id, answered, wire, remote, status, "
    "error_type, outcome, input_uncached, cache_read, cache_write, output_visible, reasoning, "
    "cost_nanousd, claimed_input, claimed_output, usage_semantics, resends, skill, path_group, "
    "domain, effect, prompt_sha256, user_messages, input_bytes, output_bytes, features, extra, "
    "dubious, attributes_count"
)


@dataclass(slots=True)
class _OpenTrace:
    key: int
    # span id -> (span key, how much it says); the richer arrival stays
    spans: dict[bytes, tuple[int, int]] = field(default_factory=dict)


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


class SpanWriter:
    """The one appender of spans; used by one thread.

    Args:
        store: The open store.
        window_traces: How many traces are kept in memory to recognise repeats.
    """

    def __init__(self, store: Store, *, window_traces: int = WINDOW_TRACES) -> None:
        self._cursor = store.cursor()
        self._window: OrderedDict[tuple[str, bytes], _OpenTrace] = OrderedDict()
        self._window_traces = window_traces
        self._next_span = _next_key(self._cursor, "spans", "span_key")
        self._next_trace = _next_key(self._cursor, "traces", "trace_key")

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
    ) -> AppendResult:
        """Store spans, journal positions and counters, all or nothing.

        Args:
            spans: As read by the dialects; their keys are assigned here.
            positions: Stream -> (segment, byte offset) reached with these spans.
            counters: (tenant, name, label) -> amount to add to the coverage counters.
        """
        keys = (self._next_span, self._next_trace)
        undo: list[tuple[str, bytes]] = []
        try:
            with transaction(self._cursor):
                result = self._append(spans, undo)
                append(
                    self._cursor,
                    "counters",
                    [(name, label, n, owner) for (owner, name, label), n in counters.items()],
                )
                self._write_positions(positions)
        except BaseException:
            # What the window learned is not in the store: forget the touched traces.
            self._next_span, self._next_trace = keys
            for trace in undo:
                self._window.pop(trace, None)
            raise
        self._shrink()
        return result

    def _append(self, spans: Sequence[Span], undo: list[tuple[str, bytes]]) -> AppendResult:
        result = AppendResult()
        new_traces = self._open_traces(spans, undo)
        rows: list[tuple[Any, ...]] = []
        superseded: list[tuple[int, int, str]] = []
        seen: dict[tuple[int, str | None], list[Any]] = {}
        for span in spans:
            trace = self._window[span.tenant, span.trace_id]
            known = trace.spans.get(span.span_id)
            weight = _weight(span)
            if known is not None and known[1] >= weight:
                result.repeated += 1
                continue
            span.span_key, span.trace_key = self._next_span, trace.key
            self._next_span += 1
            if known is not None:
                superseded.append((known[0], span.span_key, "richer"))
            trace.spans[span.span_id] = (span.span_key, weight)
            rows.append(_row(span))
            _see(seen, span)
            oldest, newest = result.traces.get(trace.key, (span.received_ns, span.received_ns))
            result.traces[trace.key] = (
                min(oldest, span.received_ns),
                max(newest, span.received_ns),
            )
        append(self._cursor, "traces", new_traces)
        append(self._cursor, "spans", rows)
        append(self._cursor, "superseded", superseded)
        append(self._cursor, "traces_seen", [tuple(row) for row in seen.values()])
        result.stored, result.superseded = len(rows), len(superseded)
        return result

    def _open_traces(
        self, spans: Sequence[Span], undo: list[tuple[str, bytes]]
    ) -> list[tuple[int, str, bytes]]:
        """Bring every trace of the batch into the window; returns rows for new traces."""
        names = dict.fromkeys((span.tenant, span.trace_id) for span in spans)
        undo.extend(names)
        missing = []
        for name in names:
            if name in self._window:
                self._window.move_to_end(name)
            else:
                missing.append(name)
        known = self._look_up(missing)
        fresh = []
        for name in missing:
            trace = known.get(name)
            if trace is None:
                trace = _OpenTrace(self._next_trace)
                self._next_trace += 1
                fresh.append((trace.key, *name))
            self._window[name] = trace
        return fresh

    def _look_up(self, names: list[tuple[str, bytes]]) -> dict[tuple[str, bytes], _OpenTrace]:
        """Traces the store knows already, with their spans."""
        if not names or self._next_trace == 0:
            return {}
        keys = {
            (tenant, bytes(trace_id)): _OpenTrace(key)
            for key, tenant, trace_id in self._cursor.execute(
                "SELECT trace_key, tenant, trace_id FROM traces WHERE trace_id IN "
                "(SELECT unnest(?::BLOB[]))",
                [[trace_id for _, trace_id in names]],
            ).fetchall()
        }
        if keys:
            by_key = {trace.key: trace for trace in keys.values()}
            for trace_key, span_id, span_key, attributes, ended in self._cursor.execute(
                "SELECT trace_key, span_id, span_key, attributes_count, end_ns IS NOT NULL "
                "FROM spans WHERE trace_key IN (SELECT unnest(?::BIGINT[])) ORDER BY span_key",
                [list(by_key)],
            ).fetchall():
                by_key[trace_key].spans[bytes(span_id)] = (span_key, _weigh(attributes, ended))
        return keys

    def _write_positions(self, positions: Mapping[str, tuple[int, int]]) -> None:
        for stream, (segment, offset) in positions.items():
            self._cursor.execute("DELETE FROM journal_position WHERE stream = ?", [stream])
            self._cursor.execute(
                "INSERT INTO journal_position VALUES (?, ?, ?)", [stream, segment, offset]
            )

    def _shrink(self) -> None:
        while len(self._window) > self._window_traces:
            self._window.popitem(last=False)


def _next_key(cursor: duckdb.DuckDBPyConnection, table: str, column: str) -> int:
    query = f"SELECT coalesce(max({column}) + 1, 0) FROM {table}"
    row = cursor.execute(query).fetchone()
    return int(row[0]) if row else 0


def _weigh(attributes_count: int, ended: bool) -> int:  # noqa: FBT001 - a row's column
    # An ended span always says more than a pending one, however many attributes that had.
    return attributes_count + (1 << 20 if ended else 0)


def _weight(span: Span) -> int:
    return _weigh(span.attributes_count, span.end_ns is not None)


def _see(seen: dict[tuple[int, str | None], list[Any]], span: Span) -> None:
    """Note for each (trace, session) of the batch when it ran and whether it frames work."""
    hosts = not (span.kind in {Kind.LLM, Kind.EMBED} and span.wire >= PROVIDER_WIRE)
    start = span.start_ns if span.start_ns is not None else span.received_ns
    end = span.end_ns if span.end_ns is not None else start
    for session in _sessions(span):
        row = seen.get((span.trace_key, session))
        if row is None:
            seen[span.trace_key, session] = [
                span.trace_key, span.tenant, span.service, span.instance, session, start, end, hosts,
            ]  # fmt: skip
        else:
            row[5], row[6], row[7] = min(row[5], start), max(row[6], end), row[7] or hosts


def _sessions(span: Span) -> Iterable[str | None]:
    found = [name for name in (span.session, span.conversation) if name]
    return found or [None]


def _row(span: Span) -> tuple[Any, ...]:
    content = span.content
    input_bytes, output_bytes = _sizes(content, span.kind)
    return (
        span.span_key, span.trace_key, span.tenant, span.signal, span.trace_id, span.span_id,
        span.parent_id, b"".join(t + s for t, s in span.links) or None,
        span.start_ns, span.end_ns, span.received_ns, span.name, span.kind.value, span.dialect,
        span.scope, span.scope_version, span.service, span.service_version, span.environment,
        span.instance, span.host, span.session, span.conversation, span.user, span.agent,
        span.agent_id, span.model, span.request_model, span.provider, span.tool, span.call_id,
        list(span.asked) or None, span.response_id, span.answered, span.wire, span.remote,
        span.status.value, span.error_type, span.outcome, span.input_uncached, span.cache_read,
        span.cache_write, span.output_visible, span.reasoning, span.cost_nanousd,
        span.claimed_input, span.claimed_output, span.usage_semantics, span.resends, span.skill,
        span.path_group, span.domain, span.effect,
        content.prompt_sha256 if content else None, content.user_messages if content else None,
        input_bytes, output_bytes, span.features, span.extra or None, list(span.dubious) or None,
        span.attributes_count,
    )  # fmt: skip


def _sizes(content: Content | None, kind: Kind) -> tuple[int | None, int | None]:
    if content is None:
        return None, None
    if kind is Kind.TOOL:
        return content.arguments_bytes, content.result_bytes
    return content.prompt_bytes, content.response_bytes


def span_from_row(row: tuple[Any, ...]) -> Span:
    """A span as it was appended; of the content only hashes, counts and sizes remain."""
    (
        span_key, trace_key, tenant, signal, trace_id, span_id, parent_id, links, start_ns, end_ns,
        received_ns, name, kind, dialect, scope, scope_version, service, service_version,
        environment, instance, host, session, conversation, user, agent, agent_id, model,
        request_model, provider, tool, call_id, asked, response_id, answered, wire, remote, status,
        error_type, outcome, input_uncached, cache_read, cache_write, output_visible, reasoning,
        cost_nanousd, claimed_input, claimed_output, usage_semantics, resends, skill, path_group,
        domain, effect, prompt_sha256, user_messages, input_bytes, output_bytes, features, extra,
        dubious, attributes_count,
    ) = row  # fmt: skip
    is_tool = kind == "tool"
    return Span(
        tenant, signal, bytes(trace_id), bytes(span_id), bytes(parent_id) if parent_id else None,
        start_ns, end_ns, name, Kind(kind), dialect, scope, scope_version, service,
        service_version, environment, instance, host, _links(links), session, conversation, user,
        agent, agent_id, model, request_model, provider, tool, call_id, tuple(asked or ()),
        response_id, answered, wire, remote, Status(status), error_type, outcome, input_uncached,
        cache_read, cache_write, output_visible, reasoning, cost_nanousd, claimed_input,
        claimed_output, usage_semantics, resends, skill, path_group, domain, effect,
        Content(
            prompt_sha256=prompt_sha256, user_messages=user_messages,
            prompt_bytes=None if is_tool else input_bytes,
            response_bytes=None if is_tool else output_bytes,
            arguments_bytes=input_bytes if is_tool else None,
            result_bytes=output_bytes if is_tool else None,
        ),
        bytes(features) if features is not None else None, dict(extra or {}),
        tuple(dubious or ()), attributes_count, received_ns, span_key, trace_key,
    )  # fmt: skip


def _links(packed: bytes | None) -> tuple[tuple[bytes, bytes], ...]:
    if not packed:
        return ()
    return tuple((packed[i : i + 16], packed[i + 16 : i + 24]) for i in range(0, len(packed), 24))
