"""Spans as rows of `spans` and `origins`, and back."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from whyflame.model import Content, Kind, Span, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import duckdb
    from numpy.typing import NDArray

__all__ = ["Origins", "SpanRows", "read_rows", "read_spans", "row_of", "spans_of"]

_ORIGIN = (
    "signal", "name", "dialect", "scope", "scope_version", "service", "service_version",
    "environment", "instance", "host", "agent", "model", "request_model", "provider", "tool",
    "answered", "wire", "remote", "status", "error_type", "outcome", "usage_semantics", "resends",
    "skill", "path_group", "domain", "effect",
)  # fmt: skip
_PLAIN = (
    "span_key", "trace_key", "tenant", "kind", "trace_id", "span_id", "parent_id", "start_ns",
    "end_ns", "received_ns", "session", "conversation", "user", "agent_id", "call_id",
    "response_id", "input_uncached", "cache_read", "cache_write", "output_visible", "reasoning",
    "cost_nanousd", "claimed_input", "claimed_output", "features", "attributes_count",
)  # fmt: skip
# The columns of both tables, in their order; attributes of a span that stand there as they are.
_origin_of = attrgetter(*_ORIGIN)
_plain_of = attrgetter(*_PLAIN)
_COLUMNS = (
    *("user_hash" if name == "user" else name for name in _PLAIN),
    "origin", "links", "asked", "extra", "dubious",
    "prompt_sha256", "user_messages", "input_bytes", "output_bytes",
)  # fmt: skip
_SPAN_KEY, _TRACE_KEY = _COLUMNS.index("span_key"), _COLUMNS.index("trace_key")
_ORIGIN_NUMBER = _COLUMNS.index("origin")
_BLOBS = [
    _COLUMNS.index(name) for name in ("trace_id", "span_id", "parent_id", "features", "links")
]
_LISTS = frozenset({"asked", "dubious"})
_MEMO_LIMIT = 20_000
_KINDS = {kind.value: kind for kind in Kind}
_STATUSES = {status.value: status for status in Status}

_Origin = tuple[Any, ...]


class Origins:
    """Numbers for what spans have in common; one writer.

    The same combination may get a second number after a restart, or when there are so many that
    the memory of them is cleared: a number means one combination, that is all.

    Args:
        next_number: The first number that no stored row has.
    """

    def __init__(self, next_number: int) -> None:
        self._next = next_number
        self._numbers: dict[_Origin, int] = {}
        self._fresh: list[_Origin] = []

    def number(self, span: Span) -> int:
        """The number of the span's combination, new when unseen."""
        origin = _origin_of(span)
        number = self._numbers.get(origin)
        if number is None:
            number = self._numbers[origin] = self._next
            self._next += 1
            self._fresh.append(origin)
        return number

    def fresh_rows(self) -> list[_Origin]:
        """Rows of `origins` for the numbers given out since the last `confirm`."""
        first = self._next - len(self._fresh)
        return [(first + at, *origin) for at, origin in enumerate(self._fresh)]

    def confirm(self) -> None:
        """The transaction that stored the fresh rows has committed."""
        self._fresh.clear()
        if len(self._numbers) > _MEMO_LIMIT:
            self._numbers.clear()

    def forget(self) -> None:
        """The transaction failed: its numbers are free again."""
        for origin in self._fresh:
            del self._numbers[origin]
        self._next -= len(self._fresh)
        self._fresh.clear()


def row_of(span: Span, origin: int) -> tuple[Any, ...]:
    """The row of `spans` for a span with its keys."""
    content = span.content
    links = b"".join([t + s for t, s in span.links]) if span.links else None
    rest = (origin, links, span.asked or None, span.extra or None, span.dubious or None)
    if content is None:
        return (*_plain_of(span), *rest, None, None, None, None)
    if span.kind is Kind.TOOL:
        sizes = (content.arguments_bytes, content.result_bytes)
    else:
        sizes = (content.prompt_bytes, content.response_bytes)
    return (*_plain_of(span), *rest, content.prompt_sha256, content.user_messages, *sizes)


@dataclass(frozen=True, slots=True)
class SpanRows:
    """Spans as columns of plain values, cheap to read and to hand to another process.

    Attributes:
        columns: As in `_COLUMNS`; rows in order of arrival. Ids may be `bytearray`, which become
            `bytes` on the way to another process.
        origins: What spans have in common, by number.
    """

    columns: Sequence[list[Any]]
    origins: Mapping[int, _Origin]

    def __len__(self) -> int:
        return len(self.columns[0])

    def last_keys(self) -> dict[int, int]:
        """Trace key -> its newest span key."""
        return dict(zip(self.columns[_TRACE_KEY], self.columns[_SPAN_KEY], strict=True))


def read_rows(
    cursor: duckdb.DuckDBPyConnection, condition: str, parameters: Iterable[object] = ()
) -> SpanRows:
    """Spans as they lie in the store, in order of arrival.

    Args:
        cursor: Of the asking thread.
        condition: SQL over the columns of `spans`, with `parameters`.
    """
    # Arrays cost a third of rows. They come in the order in which they were stored, which is that
    # of arrival but for what was rewritten; sorting all of it again would cost a third more.
    arrays = cursor.execute(
        f"SELECT {', '.join(_COLUMNS)} FROM spans WHERE {condition}", list(parameters)
    ).fetchnumpy()
    keys = arrays["span_key"]
    if (keys[1:] < keys[:-1]).any():
        order = keys.argsort()
        arrays = {name: array[order] for name, array in arrays.items()}
    columns = [_values(name, array) for name, array in arrays.items()]
    return SpanRows(columns, _read_origins(cursor, set(columns[_ORIGIN_NUMBER])))


def _values(name: str, array: NDArray[Any]) -> list[Any]:
    values: list[Any] = array.tolist()
    if name in _LISTS:
        # They are arrays: of the numbers and texts in this table only lists become such.
        return [None if value is None else tuple(value) for value in values]
    return values


def spans_of(read: SpanRows) -> list[Span]:
    """Spans as they were appended.

    Of the content only hashes, counts and sizes remain. Spans share what they have in common.
    """
    columns = list(read.columns)
    for place in _BLOBS:
        columns[place] = _as_bytes(columns[place])
    columns[_ORIGIN_NUMBER] = [read.origins[number] for number in columns[_ORIGIN_NUMBER]]
    return list(map(_span_of, *columns))


def _as_bytes(values: list[Any]) -> list[bytes | None]:
    """Those of another process are so already."""
    if not any(type(value) is bytearray for value in values):
        return values
    return [None if value is None else bytes(value) for value in values]


def read_spans(
    cursor: duckdb.DuckDBPyConnection, condition: str, parameters: Iterable[object] = ()
) -> list[Span]:
    """`read_rows` as spans."""
    return spans_of(read_rows(cursor, condition, parameters))


def _read_origins(
    cursor: duckdb.DuckDBPyConnection, numbers: set[int | None]
) -> Mapping[int, _Origin]:
    found = cursor.execute(
        f"SELECT origin, {', '.join(_ORIGIN)} FROM origins "
        "WHERE origin IN (SELECT unnest(?::INTEGER[]))",
        [sorted(number for number in numbers if number is not None)],
    ).fetchall()
    return {number: tuple(origin) for number, *origin in found}


def _span_of(  # noqa: PLR0913, PLR0917 - a column each
    span_key: int, trace_key: int, tenant: str, kind: str, trace_id: bytes, span_id: bytes,
    parent_id: bytes | None, start_ns: int | None, end_ns: int | None, received_ns: int,
    session: str | None, conversation: str | None, user: str | None, agent_id: str | None,
    call_id: str | None, response_id: str | None, input_uncached: int | None,
    cache_read: int | None, cache_write: int | None, output_visible: int | None,
    reasoning: int | None, cost_nanousd: int | None, claimed_input: int | None,
    claimed_output: int | None, features: bytes | None, attributes_count: int, origin: _Origin,
    links: bytes | None, asked: tuple[str, ...] | None, extra: dict[str, str] | None,
    dubious: tuple[str, ...] | None, prompt_sha256: str | None, user_messages: int | None,
    input_bytes: int | None, output_bytes: int | None,
) -> Span:  # fmt: skip
    (
        signal, name, dialect, scope, scope_version, service, service_version, environment,
        instance, host, agent, model, request_model, provider, tool, answered, wire, remote,
        status, error_type, outcome, usage_semantics, resends, skill, path_group, domain, effect,
    ) = origin  # fmt: skip
    # Positional: keywords of sixty fields cost as much as reading the row.
    if kind == "tool":
        content = Content(
            None, None, None, None, None, None, input_bytes, output_bytes, user_messages,
            prompt_sha256,
        )  # fmt: skip
    else:
        content = Content(
            None, None, None, None, input_bytes, output_bytes, None, None, user_messages,
            prompt_sha256,
        )  # fmt: skip
    return Span(
        tenant, signal, trace_id, span_id, parent_id, start_ns, end_ns, name, _KINDS[kind],
        dialect, scope, scope_version, service, service_version, environment, instance, host,
        _links(links) if links else (), session, conversation, user, agent, agent_id, model,
        request_model, provider, tool, call_id, asked or (), response_id,
        answered, wire, remote, _STATUSES[status], error_type, outcome, input_uncached, cache_read,
        cache_write, output_visible, reasoning, cost_nanousd, claimed_input, claimed_output,
        usage_semantics, resends, skill, path_group, domain, effect, content, features,
        extra or {}, dubious or (), attributes_count, received_ns, span_key, trace_key,
    )  # fmt: skip


def _links(packed: bytes) -> tuple[tuple[bytes, bytes], ...]:
    return tuple((packed[i : i + 16], packed[i + 16 : i + 24]) for i in range(0, len(packed), 24))
