"""The outbox tables: what was exported, what waits for delivery, and how delivery ended.

`take` marks operations as exported and stores the payloads made of them in one transaction, so a
crash leaves both or neither. `outbox_done` is append-only: an id has at most one final state, and
a payload is open until it has one. Payloads are deleted once delivered; marks stay.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whyflame.store.duck import append, transaction
from whyflame.store.outbox_batch import (
    BatchQuery,
    choose_operations,
    group_operations,
    mark_replaced,
    sum_tokens,
)
from whyflame.store.outbox_hold import NOTHING_HELD, Held, hold_back

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from whyflame.store.duck import Store

__all__ = [
    "Batch",
    "Built",
    "Drift",
    "NewRow",
    "OpenRow",
    "Outbox",
    "Taken",
]


@dataclass(frozen=True, slots=True)
class Batch:
    """Grouped operations, handed to the caller of `take` inside the transaction.

    Attributes:
        rows: A row per group: tenant, series ids, window end, span id in hex or "", frame ids,
            values.
        first_id: Outbox id of the first new payload; the others follow.
        carries: (tenant, series) -> nano-USD owed to that series.
    """

    rows: Sequence[Sequence[Any]]
    first_id: int
    carries: dict[tuple[str, str], int]


@dataclass(frozen=True, slots=True)
class NewRow:
    """A payload to be put into the outbox."""

    id: int
    tenant: str
    series: str
    time_ns: int
    size: int
    samples: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class Built:
    """What the caller made of a batch: payloads, and the carries that changed."""

    rows: list[NewRow]
    carries: dict[tuple[str, str], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OpenRow:
    """A payload that waits, without its bytes."""

    id: int
    tenant: str
    series: str
    time_ns: int
    size: int
    samples: int
    created_ns: int
    attempted: bool = False


@dataclass(frozen=True, slots=True)
class Taken:
    """What one `take` did.

    Attributes:
        rows: New payloads. generation: Pass as `after_generation` next time.
        operations: Operations marked as exported.
        replaced: Of these, how many stand for a view that had been exported before, and went
            into no payload. complete: False when more operations wait.
        held: Operations of runs that go on, left for later; pass on next time.
    """

    rows: tuple[OpenRow, ...]
    generation: int
    operations: int
    replaced: int
    complete: bool
    held: Held = NOTHING_HELD


@dataclass(frozen=True, slots=True)
class Drift:
    """Exported operations that would be exported differently today.

    Attributes:
        exported: Operations exported. moved: Now under another path.
        duplicates: Now found not to count. moved_tokens, duplicate_tokens: Their tokens.
        changed_tokens, changed_self_ns: By how much the figures of those that count differ now,
            up or down: late spans take self time from their parents.
    """

    exported: int
    moved: int
    moved_tokens: int
    duplicates: int
    duplicate_tokens: int
    changed_tokens: int = 0
    changed_self_ns: int = 0


class Outbox:
    """Reads and writes the outbox tables; used by one thread.

    Args:
        store: The open store.
    """

    def __init__(self, store: Store) -> None:
        self._cursor = store.cursor()

    def take(self, query: BatchQuery, now_ns: int, build: Callable[[Batch], Built]) -> Taken:
        """Mark new operations as exported and store what `build` makes of them, all or nothing.

        Args:
            query: Which operations, and how they are grouped.
            now_ns: Written as time of creation.
            build: Turns groups into payloads; must not use this outbox.
        """
        upto, complete = self._next_generation(query)
        is_due = bool(query.held.traces) and query.held.due_ns <= now_ns
        if upto <= query.after_generation and not is_due:
            return Taken((), query.after_generation, 0, 0, complete=True, held=query.held)
        with transaction(self._cursor):
            choose_operations(self._cursor, query, upto, again=is_due)
            held = hold_back(self._cursor, query.rule, upto, now_ns, query.exporter)
            replaced = mark_replaced(self._cursor, query.exporter, query.looks_after)
            batch = Batch(
                group_operations(self._cursor, query),
                self._next_id(),
                self._carries(query.exporter),
            )
            built = build(batch) if batch.rows else Built([])
            operations = self._mark(query.exporter, batch.first_id)
            self._write(query.exporter, batch.first_id, built.rows, now_ns)
            self._write_carries(query.exporter, batch.first_id, built.carries, now_ns)
        rows = tuple(_open_row(row, now_ns) for row in built.rows)
        held = held if is_due else query.held.joined(held)
        return Taken(rows, upto, operations + replaced, replaced, complete=complete, held=held)

    def _next_generation(self, query: BatchQuery) -> tuple[int, bool]:
        """The last generation of the next batch, and whether it is the newest."""
        rows = self._cursor.execute(
            "SELECT generation, sum(rows) OVER (ORDER BY generation) FROM (SELECT generation, "
            "count(*) AS rows FROM settled WHERE generation > ? AND counted GROUP BY generation) "
            "ORDER BY generation",
            [query.after_generation],
        ).fetchall()
        upto = query.after_generation
        for generation, rows_so_far in rows:
            if rows_so_far > query.max_operations and upto > query.after_generation:
                return upto, False
            upto = generation
        return upto, True

    def _mark(self, exporter: str, batch: int) -> int:
        return self._number(
            "INSERT INTO exported BY NAME SELECT ? AS exporter, span_key, generation, path_id, "
            "? AS batch, tokens, self_ns FROM export_batch",
            [exporter, batch],
        )

    def _next_id(self) -> int:
        return self._number(
            "SELECT 1 + greatest((SELECT coalesce(max(id), 0) FROM outbox), "
            "(SELECT coalesce(max(id), 0) FROM outbox_done))",
            [],
        )

    def _number(self, sql: str, parameters: Sequence[Any]) -> int:
        """The single number that a statement gives: a value, or how many rows it touched."""
        # `fetchall`, since DuckDB counts a result as open until a fetch came back empty.
        return int(self._cursor.execute(sql, parameters).fetchall()[0][0])

    def _carries(self, exporter: str) -> dict[tuple[str, str], int]:
        rows = self._cursor.execute(
            "SELECT tenant, series, remainder FROM carry WHERE exporter = ?", [exporter]
        ).fetchall()
        return {(tenant, series): remainder for tenant, series, remainder in rows}

    def _write(self, exporter: str, batch: int, rows: Sequence[NewRow], now_ns: int) -> None:
        append(
            self._cursor,
            "outbox",
            [
                (
                    row.id, exporter, batch, row.tenant, row.series, row.time_ns, row.size,
                    row.samples, row.payload, now_ns,
                )
                for row in rows
            ],
        )  # fmt: skip

    def _write_carries(
        self, exporter: str, batch: int, carries: dict[tuple[str, str], int], now_ns: int
    ) -> None:
        if not carries:
            return
        self._cursor.execute(
            "DELETE FROM carry WHERE exporter = ? AND (tenant, series) IN "
            "(SELECT unnest(?::VARCHAR[]), unnest(?::VARCHAR[]))",
            [exporter, [tenant for tenant, _ in carries], [series for _, series in carries]],
        )
        append(
            self._cursor,
            "carry",
            [(exporter, *key, remainder, batch, now_ns) for key, remainder in carries.items()],
        )

    def known_series(self, exporter: str, since_ns: int) -> set[tuple[str, str]]:
        """(tenant, series) that got a payload since then."""
        rows = self._cursor.execute(
            "SELECT tenant, series FROM carry WHERE exporter = ? AND updated_ns >= ?",
            [exporter, since_ns],
        ).fetchall()
        return set(rows)

    def open_rows(self, exporter: str) -> list[OpenRow]:
        """Payloads that wait, oldest first."""
        rows = self._cursor.execute(
            "SELECT id, tenant, series, time_ns, size, samples, created_ns, "
            "id IN (SELECT id FROM outbox_done WHERE state = 'attempted') "
            "FROM outbox WHERE exporter = ? AND id NOT IN "
            "(SELECT id FROM outbox_done WHERE state <> 'attempted') ORDER BY id",
            [exporter],
        ).fetchall()
        return [OpenRow(*row) for row in rows]

    def payloads(self, ids: Iterable[int]) -> dict[int, bytes]:
        """Bytes of payloads by id."""
        rows = self._cursor.execute(
            "SELECT id, payload FROM outbox WHERE id IN (SELECT unnest(?::BIGINT[]))", [list(ids)]
        ).fetchall()
        return {identifier: bytes(payload) for identifier, payload in rows}

    def finish(self, exporter: str, states: Sequence[tuple[int, str, str]], now_ns: int) -> None:
        """Record (id, state, reason) for payloads, in one transaction."""
        with transaction(self._cursor):
            self._finish(exporter, states, now_ns)

    def _finish(self, exporter: str, states: Sequence[tuple[int, str, str]], now_ns: int) -> None:
        append(
            self._cursor,
            "outbox_done",
            [(identifier, exporter, state, reason, now_ns) for identifier, state, reason in states],
        )

    def replace(
        self,
        exporter: str,
        old: OpenRow,
        state: str,
        make: Callable[[int], list[NewRow]],
        now_ns: int,
    ) -> list[OpenRow]:
        """Close a payload and put others in its place (`split`, `restamped`, `retried`).

        Args:
            exporter: Whose payload.
            old: The payload.
            state: Its final state.
            make: From the first free id to the new payloads.
            now_ns: Written as time; the new payloads keep the age of the old one.
        """
        with transaction(self._cursor):
            rows = make(self._next_id())
            self._write(exporter, rows[0].id if rows else 0, rows, old.created_ns)
            self._finish(exporter, [(old.id, state, "")], now_ns)
        return [_open_row(row, old.created_ns) for row in rows]

    def prune(self, exporter: str, max_dead_bytes: int, now_ns: int) -> int:
        """Delete delivered payloads; give up the oldest dead letters above the bound.

        Returns:
            How many dead letters were given up.
        """
        evicted = self._cursor.execute(
            "SELECT id FROM (SELECT id, sum(octet_length(payload)) OVER (ORDER BY id DESC) AS bytes "
            "FROM outbox WHERE exporter = ? AND id IN "
            "(SELECT id FROM outbox_done WHERE state = 'dead') AND id NOT IN "
            "(SELECT id FROM outbox_done WHERE state IN ('dropped', 'retried'))) WHERE bytes > ?",
            [exporter, max_dead_bytes],
        ).fetchall()
        with transaction(self._cursor):
            self._finish(exporter, [(row[0], "dropped", "evicted") for row in evicted], now_ns)
            self._cursor.execute(
                "DELETE FROM outbox WHERE exporter = ? AND id IN (SELECT id FROM outbox_done "
                "WHERE state NOT IN ('dead', 'attempted'))",
                [exporter],
            )
            # The newest entry stays: the next id is counted from it.
            self._cursor.execute(
                "DELETE FROM outbox_done WHERE exporter = ? AND done_ns < ? "
                "AND id NOT IN (SELECT id FROM outbox) "
                "AND id < (SELECT max(id) FROM outbox_done)",
                [exporter, now_ns - _KEEP_DONE_NS],
            )
        return len(evicted)

    def drift(self, exporter: str) -> Drift:
        """How much of what was exported would be exported differently today."""
        tokens = sum_tokens("s")
        moved, gone = "s.counted AND s.path_id <> e.path_id", "NOT s.counted"
        rows = self._cursor.execute(
            f"SELECT count(*), count(*) FILTER ({moved}), "
            f"coalesce(sum({tokens}) FILTER ({moved}), 0)::BIGINT, "
            f"count(*) FILTER ({gone}), coalesce(sum({tokens}) FILTER ({gone}), 0)::BIGINT, "
            f"coalesce(sum(abs({tokens} - e.tokens)) FILTER (s.counted), 0)::BIGINT, "
            "coalesce(sum(abs(s.self_ns - e.self_ns)) FILTER (s.counted), 0)::BIGINT "
            "FROM exported e LEFT JOIN settled_now s USING (span_key) "
            "WHERE e.exporter = ? AND e.batch IS NOT NULL",
            [exporter],
        ).fetchall()
        return Drift(*rows[0])


_KEEP_DONE_NS = 24 * 3600 * 1_000_000_000


def _open_row(row: NewRow, created_ns: int) -> OpenRow:
    return OpenRow(row.id, row.tenant, row.series, row.time_ns, row.size, row.samples, created_ns)
