"""Writing what settling found: one generation of rows for every trace of a group."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from whyflame.model import MEASURES
from whyflame.store.duck import append, transaction
from whyflame.store.marks import mark_tuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyflame.model import Operation
    from whyflame.store.duck import Store
    from whyflame.store.marks import MarkRow
    from whyflame.store.unsettled import Group

__all__ = ["SettledWriter"]

NOT_AGENT_WORK = "not_agent_work"
_MEMO_LIMIT = 20_000
# Columns of `settled` in their order: those that hardly change within a lane, those that say what
# was done, and the measures.
_lane_strings = attrgetter(
    "span.tenant", "span.service", "span.environment", "span.service_version", "agent", "session",
    "lane", "lane_parent", "root", "outcome", "span.dialect", "user",
)  # fmt: skip
_work_strings = attrgetter(
    "kind", "leaf", "model", "provider", "tool", "skill", "status", "error_type",
    "span.path_group", "span.domain", "span.effect", "why",
)  # fmt: skip
_measures = attrgetter(*MEASURES)


class SettledWriter:
    """The one writer of `settled`, `generations`, `marks` and the dictionaries; one thread.

    Args:
        store: The open store.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._cursor = store.cursor()
        self._paths = store.paths
        self._codes: dict[tuple[str | None, ...], tuple[int | None, ...]] = {}
        row = self._cursor.execute(
            "SELECT coalesce(max(generation), 0) FROM generations"
        ).fetchone()
        self._generation = int(row[0]) if row else 0

    @property
    def generation(self) -> int:
        """The newest generation; it grows with every group written."""
        return self._generation

    def write(
        self,
        group: Group,
        operations: Sequence[Operation],
        marks: Sequence[MarkRow],
        now_ns: int,
    ) -> int:
        """Append one generation for the traces of a group; drop traces without agent work.

        Returns:
            How many spans were dropped because their trace holds no agent work.
        """
        generation = self._generation + 1
        # A trace may hold nothing but second views of calls counted elsewhere; it is work all the same.
        working = {op.span.trace_key for op in operations if op.why != NOT_AGENT_WORK}
        dropped = [key for key in group.trace_keys if key not in working]
        strings, paths = self._store.strings, self._paths
        try:
            rows = [self._row(op, generation) for op in operations if op.why != NOT_AGENT_WORK]
            last = _last_keys(group, operations)
            with transaction(self._cursor):
                append(self._cursor, "settled", rows)
                append(
                    self._cursor,
                    "generations",
                    [(key, generation, now_ns, last.get(key, -1)) for key in group.trace_keys],
                )
                append(
                    self._cursor,
                    "marks",
                    [mark_tuple(self._store, mark, generation, now_ns) for mark in marks],
                )
                count = self._drop(dropped)
                strings.flush(self._cursor)
                paths.flush(self._cursor)
        except BaseException:
            strings.forget()
            paths.forget()
            self._codes.clear()
            raise
        strings.confirm()
        paths.confirm()
        self._generation = generation
        return count

    def _drop(self, keys: list[int]) -> int:
        if not keys:
            return 0
        among = "FROM spans WHERE trace_key IN (SELECT unnest(?::BIGINT[]))"
        counts = self._cursor.execute(
            f"SELECT tenant, count(*) {among} GROUP BY tenant ORDER BY tenant", [keys]
        ).fetchall()
        if counts:
            self._cursor.execute(f"DELETE {among}", [keys])
        rows = [("dropped_spans", NOT_AGENT_WORK, count, tenant) for tenant, count in counts]
        append(self._cursor, "counters", rows)
        return sum(count for _, count in counts)

    def _row(self, op: Operation, generation: int) -> tuple[Any, ...]:
        span = op.span
        return (
            span.span_key, span.trace_key, generation, op.counted, op.same_as, op.session_known,
            op.run, op.turn, op.step, op.seq, op.lane_parent_step, self._paths.code(op.path),
            *self._codes_of(_lane_strings(op)), *self._codes_of(_work_strings(op)),
            span.start_ns, span.end_ns, *_measures(op), span.extra or None,
        )  # fmt: skip

    def _codes_of(self, values: tuple[str | None, ...]) -> tuple[int | None, ...]:
        """Ids of strings that come together again and again: one look-up instead of a dozen."""
        codes = self._codes.get(values)
        if codes is None:
            if len(self._codes) >= _MEMO_LIMIT:
                self._codes.clear()
            code = self._store.strings.code
            codes = self._codes[values] = tuple(
                [None if value is None else code(str(value)) for value in values]
            )
        return codes


def _last_keys(group: Group, operations: Sequence[Operation]) -> dict[int, int]:
    """Newest span key seen for each trace, so that a restart knows what is still unsettled."""
    last: dict[int, int] = {}
    for span in group.spans:
        last[span.trace_key] = max(last.get(span.trace_key, -1), span.span_key)
    for op in operations:
        key = op.span.trace_key
        last[key] = max(last.get(key, -1), op.span.span_key)
    return last
