"""The coverage report by the shortest statements: joins of everything with everything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyflame.store.totals import NO_USAGE, code_of

if TYPE_CHECKING:
    from whyflame.fold.where import Fragment
    from whyflame.store.duck import Store

__all__ = ["plain_coverage"]


def plain_coverage(store: Store, condition: Fragment) -> dict[str, Any]:
    """What `coverage` must say of the rows that pass, its slow way."""
    base = f"(SELECT * FROM settled_now{condition.sql})"

    def rows(query: str) -> list[tuple[Any, ...]]:
        return store.cursor().execute(query, list(condition.params)).fetchall()

    llm = code_of(store, "llm")
    (counted,) = rows(
        f"SELECT count(*) FILTER (counted), "
        f"count(*) FILTER (counted AND kind = {llm} AND {NO_USAGE}), "
        f"count(*) FILTER (counted AND kind = {llm} AND NOT ({NO_USAGE}) AND cost_nanousd IS NULL), "
        f"count(DISTINCT session) FILTER (counted), "
        f"count(DISTINCT session) FILTER (counted AND NOT session_known) FROM {base}"
    )
    (claimed,) = rows(
        "SELECT count(*), sum(s.claimed_input)::BIGINT, sum(s.claimed_output)::BIGINT "
        f"FROM {base} o JOIN spans s USING (span_key) "
        "WHERE s.claimed_input IS NOT NULL OR s.claimed_output IS NOT NULL"
    )
    ((orphans,),) = rows(
        f"SELECT count(*) FROM {base} o JOIN spans s USING (span_key) "
        "WHERE s.parent_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM spans p "
        "WHERE p.trace_key = s.trace_key AND p.span_id = s.parent_id)"
    )
    dubious = rows(
        "SELECT reason, count(*) FROM (SELECT unnest(s.dubious) AS reason "
        f"FROM {base} o JOIN spans s USING (span_key)) GROUP BY ALL ORDER BY 1"
    )
    return {
        "operations": counted[0],
        "calls_without_usage": counted[1],
        "unpriced_calls": counted[2],
        "sessions": counted[3],
        "sessions_without_id": counted[4],
        "claimed_by_agents_not_counted": dict(
            zip(("spans", "input_tokens", "output_tokens"), claimed, strict=True)
        ),
        "orphan_spans": orphans,
        "bad_values": dict(dubious),
    }
