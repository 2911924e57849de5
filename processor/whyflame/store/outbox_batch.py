"""Which operations a batch exports, and their sums by series, window and stack.

Works on two temporary tables of the calling cursor, inside its transaction: `export_batch`, the
operations of the batch, and `export_replaced`, those of them that were exported as another view.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whyflame.fields import FIELDS, TOKEN_PARTS
from whyflame.fold.names import Role
from whyflame.store.outbox_hold import NOTHING_HELD, Held, HoldRule

if TYPE_CHECKING:
    import duckdb

    from whyflame.fold.measures import Measure
    from whyflame.fold.projection import Column

__all__ = [
    "BatchQuery",
    "choose_operations",
    "group_operations",
    "mark_replaced",
    "sum_tokens",
]


@dataclass(frozen=True, slots=True)
class BatchQuery:
    """Which operations to take and how to group them.

    Attributes:
        exporter: Name of the configured exporter.
        series: Fields that become labels. frames: Fields that become frames.
        measures: What is summed.
        after_generation: Generations up to this one were taken before.
        max_operations: About how many operations one batch takes.
        window_ns: Width of a window. closed_ns: End of the newest window that may be used;
            operations that end later are put into it.
        span_links: What groups carry as span id: "root", "operation" or "off".
        rule: Which operations wait for a later batch. held: What waited so far.
    """

    exporter: str
    series: tuple[Column, ...]
    frames: tuple[Column, ...]
    measures: tuple[Measure, ...]
    after_generation: int
    max_operations: int
    window_ns: int
    closed_ns: int
    span_links: str = "off"
    rule: HoldRule = field(default_factory=HoldRule)
    held: Held = NOTHING_HELD

    @property
    def looks_after(self) -> int:
        """The newest generation before all that the batch may hold."""
        if not self.held.traces:
            return self.after_generation
        return min(self.after_generation, self.held.generation - 1)


# For spans of the traces of a batch, the outermost agent span that each lies in. Arrivals of one
# span are one row with one parent, so that the walk meets each once, whatever was sent.
_AGENT_ROOTS = """
WITH RECURSIVE here AS MATERIALIZED (
  SELECT trace_key, span_id, min(parent_id) AS parent_id, min(start_ns) AS start_ns,
    bool_or(kind = 'agent') AS is_agent, list(span_key) AS span_keys FROM spans
  WHERE trace_key IN (SELECT trace_key FROM settled WHERE generation > {after})
  GROUP BY trace_key, span_id
), below AS (
  SELECT trace_key, span_id, CASE WHEN is_agent THEN span_id END AS root FROM here top
  WHERE NOT EXISTS (
    FROM here h WHERE h.trace_key = top.trace_key AND h.span_id = top.parent_id
  )
  UNION ALL
  SELECT h.trace_key, h.span_id, coalesce(b.root, CASE WHEN h.is_agent THEN h.span_id END)
  FROM below b JOIN here h ON h.trace_key = b.trace_key AND h.parent_id = b.span_id
), firsts AS (
  SELECT trace_key, arg_min(span_id, (NOT is_agent, start_ns)) AS first FROM here
  GROUP BY trace_key
)
SELECT unnest(span_keys) AS link_key, lower(hex(coalesce(root, first))) AS link
FROM here JOIN firsts USING (trace_key) LEFT JOIN below USING (trace_key, span_id)
"""

# Span id to label samples with, and what to join for it. The root of an operation is the outermost
# agent span that it lies in; of one that lies in none it is the first agent span of the trace, and
# of a trace without any its first span.
_LINKS = {
    "off": ("''", ""),
    "operation": (
        "coalesce(lower(hex(l.link_id)), '')",
        (
            "LEFT JOIN (SELECT span_key AS link_key, span_id AS link_id FROM spans) l"
            " ON l.link_key = s.span_key"
        ),
    ),
    "root": (
        "coalesce(l.link, '')",
        f"LEFT JOIN ({_AGENT_ROOTS}) l ON l.link_key = s.span_key",
    ),
}


def choose_operations(
    cursor: duckdb.DuckDBPyConnection, query: BatchQuery, upto: int, *, again: bool = False
) -> None:
    """Newest counted operations of these generations as a table; `again` adds what waited."""
    since = query.looks_after if again else query.after_generation
    keys = [*query.series, *query.frames]
    columns = [f"{_key(column)} AS k{number}" for number, column in enumerate(keys)]
    values = [f"{measure.expression} AS v{n}" for n, measure in enumerate(query.measures)]
    parameters = [column.field for column in keys if column.role is Role.TEXT]
    link, join = _LINKS[query.span_links]
    sql = (
        "CREATE OR REPLACE TEMP TABLE export_batch AS "
        "SELECT s.span_key, s.trace_key, s.generation, s.tenant, s.session, s.run, s.path_id, "
        "coalesce(s.end_ns, s.start_ns, ?) AS placed_ns, "
        f"s.self_ns, {sum_tokens('s')} AS tokens, "
        f"{link} AS link, {', '.join([*columns, *values])} "
        "FROM settled s JOIN current_generation g USING (trace_key, generation) "
        f"{join.format(after=since)} "
        "WHERE s.generation > ? AND s.generation <= ? AND s.counted "
        "AND (s.generation > ? OR s.trace_key IN (SELECT unnest(?::BIGINT[])))"
    )
    generations = [since, upto, query.after_generation, list(query.held.traces)]
    cursor.execute(sql, [query.closed_ns - 1, *parameters, *generations])


def mark_replaced(cursor: duckdb.DuckDBPyConnection, exporter: str, after_generation: int) -> int:
    """Mark, without exporting, operations another view of which was exported before."""
    cursor.execute(
        "CREATE OR REPLACE TEMP TABLE export_replaced AS "
        "WITH RECURSIVE older AS ("
        "  SELECT r.span_key, r.by_span_key AS now_key FROM superseded r"
        "  WHERE r.by_span_key IN (SELECT span_key FROM export_batch) "
        "  UNION "
        "  SELECT r.span_key, o.now_key FROM superseded r JOIN older o"
        "  ON r.by_span_key = o.span_key"
        "), views AS ("
        "  SELECT span_key, now_key FROM older UNION ALL "
        # Views of one call are settled together, so in these generations too.
        "  SELECT s.span_key, s.same_as FROM settled s WHERE s.generation > ?"
        "  AND NOT s.counted AND s.same_as IN (SELECT span_key FROM export_batch)"
        ") SELECT DISTINCT v.now_key AS span_key FROM views v JOIN exported e"
        "  ON e.exporter = ? AND e.span_key = v.span_key",
        [after_generation, exporter],
    )
    marked = cursor.execute(
        "INSERT INTO exported BY NAME SELECT ? AS exporter, span_key, generation, path_id "
        "FROM export_batch WHERE span_key IN (SELECT span_key FROM export_replaced)",
        [exporter],
    ).fetchall()
    cursor.execute(
        "DELETE FROM export_batch WHERE span_key IN (SELECT span_key FROM export_replaced)"
    )
    return int(marked[0][0])


def group_operations(cursor: duckdb.DuckDBPyConnection, query: BatchQuery) -> list[tuple[Any, ...]]:
    """A row per tenant, series, window and stack: ids, then sums."""
    series, count = len(query.series), len(query.series) + len(query.frames)
    keys = [f"k{number}" for number in range(count)]
    sums = [f"coalesce(sum(v{n}), 0)::BIGINT" for n in range(len(query.measures))]
    selected = [
        "tenant",
        *keys[:series],
        "least((placed_ns // ? + 1) * ?, ?) AS window_end",
        "link",
        *keys[series:],
        *sums,
    ]
    return cursor.execute(
        f"SELECT {', '.join(selected)} FROM export_batch GROUP BY ALL",
        [query.window_ns, query.window_ns, query.closed_ns],
    ).fetchall()


def sum_tokens(table: str) -> str:
    """SQL: all tokens of an operation, 0 when it reported none."""
    return " + ".join(f"coalesce({table}.{part}, 0)" for part in TOKEN_PARTS)


def _key(column: Column) -> str:
    """A column without NULL, since the unknown is -1 or empty for whoever reads ids."""
    if column.role is Role.TEXT:
        return "coalesce(s.extra[?], '')"
    return f"coalesce(s.{FIELDS[column.field].column}, -1)"
