"""The coverage report: what the totals rest on, and what telemetry did not say."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from whyflame.fold.where import Fragment
from whyflame.model import TOKEN_PARTS
from whyflame.store.totals import NO_USAGE, code_of

if TYPE_CHECKING:
    from whyflame.store.readable import Cursor, Readable

__all__ = ["EVERYTHING", "coverage"]

_DUBIOUS = "(SELECT span_key, dubious FROM spans WHERE dubious IS NOT NULL AND len(dubious) > 0)"

_Rows = Callable[[str], list[tuple[Any, ...]]]
"""Runs a query with the parameters of the filter."""

EVERYTHING = Fragment("")
"""The filter that excludes nothing, tenants included; for metrics."""


def coverage(store: Readable, condition: Fragment, tenant: str | None = None) -> dict[str, Any]:
    """What the totals rest on: dialects, merged views, what was not reported.

    Args:
        store: The open store.
        condition: SQL over `settled_now`, as for `totals`. tenant: Whose counters; None for all.
    """
    cursor = store.cursor()

    def rows(query: str) -> list[tuple[Any, ...]]:
        return cursor.execute(query, list(condition.params)).fetchall()

    base = f"(SELECT * FROM settled_now{condition.sql})"
    return {
        **_counted(store, rows, base),
        "by_dialect": _producers(store, rows, base),
        "merged_views": _reasons(store, rows, base, "same_as IS NOT NULL"),
        "not_counted": _reasons(store, rows, base, "same_as IS NULL"),
        "claimed_by_agents_not_counted": _claimed(rows, base),
        **_of_spans(rows, base),
        "counters": _counters(cursor, tenant),
    }


def _counted(store: Readable, rows: _Rows, base: str) -> dict[str, int]:
    """How much counts, and what is not known of it."""
    llm = code_of(store, "llm")
    (counted,) = rows(
        f"SELECT count(*) FILTER (counted), "
        f"count(*) FILTER (counted AND kind = {llm} AND {NO_USAGE}), "
        f"count(*) FILTER (counted AND kind = {llm} AND NOT ({NO_USAGE}) AND cost_nanousd IS NULL), "
        f"count(DISTINCT session) FILTER (counted), "
        f"count(DISTINCT session) FILTER (counted AND NOT session_known) FROM {base}"
    )
    names = (
        "operations",
        "calls_without_usage",
        "unpriced_calls",
        "sessions",
        "sessions_without_id",
    )
    return dict(zip(names, counted, strict=True))


def _claimed(rows: _Rows, base: str) -> dict[str, int | None]:
    """What agents and wrappers say that they used; it counts nowhere."""
    (claimed,) = rows(
        "SELECT count(*), sum(s.claimed_input)::BIGINT, sum(s.claimed_output)::BIGINT "
        f"FROM {base} o JOIN spans s USING (span_key) "
        "WHERE s.claimed_input IS NOT NULL OR s.claimed_output IS NOT NULL"
    )
    return dict(zip(("spans", "input_tokens", "output_tokens"), claimed, strict=True))


def _of_spans(rows: _Rows, base: str) -> dict[str, Any]:
    """What is wrong with spans as they were sent."""
    return {
        "orphan_spans": rows(
            f"SELECT count(*) FROM {base} o JOIN spans s USING (span_key) "
            "WHERE s.parent_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM spans p "
            "WHERE p.trace_key = s.trace_key AND p.span_id = s.parent_id)"
        )[0][0],
        "bad_values": dict(
            rows(
                "SELECT reason, count(*) FROM (SELECT unnest(s.dubious) AS reason "
                f"FROM {base} o JOIN {_DUBIOUS} s USING (span_key)) GROUP BY ALL ORDER BY 1"
            )
        ),
        "unknown_scopes": dict(
            rows(
                "SELECT coalesce(nullif(scope, ''), '(none)') AS scope, count(*) "
                "FROM spans s JOIN origins USING (origin) "
                f"WHERE dialect = 'other' AND s.trace_key IN (SELECT trace_key FROM {base}) "
                "GROUP BY ALL ORDER BY 2 DESC, 1"
            )
        ),
    }


def _reasons(store: Readable, rows: _Rows, base: str, condition: str) -> dict[str, int]:
    """Spans that do not count, by reason."""
    return {
        store.strings.value(why): number
        for why, number in rows(
            f"SELECT why, count(*) FROM {base} WHERE NOT counted AND why IS NOT NULL "
            f"AND {condition} GROUP BY ALL ORDER BY 2 DESC, 1"
        )
    }


def _counters(cursor: Cursor, tenant: str | None) -> dict[str, dict[str, int]]:
    """What never became a row: rejected requests, dropped spans, unknown scopes."""
    found: dict[str, dict[str, int]] = {}
    for name, label, amount in cursor.execute(
        "SELECT name, label, sum(amount)::BIGINT FROM counters WHERE ? IS NULL OR tenant = ? "
        "GROUP BY ALL ORDER BY ALL",
        [tenant, tenant],
    ).fetchall():
        found.setdefault(name, {})[label] = amount
    return found


def _producers(store: Readable, rows: _Rows, base: str) -> list[dict[str, Any]]:
    """What each instrumentation reports, and what it leaves out."""
    llm = code_of(store, "llm")
    keys = (
        "operations",
        "llm_calls",
        "calls_without_usage",
        "without_session",
        "calls_without_text",
    )
    no_usage = " AND ".join(f"o.{part} IS NULL" for part in TOKEN_PARTS)
    return [
        {
            "dialect": store.strings.value(dialect),
            "scope": scope,
            "version": version,
            **dict(zip(keys, counts, strict=True)),
        }
        for dialect, scope, version, *counts in rows(
            "SELECT o.dialect, scope, scope_version, count(*), "
            f"count(*) FILTER (o.kind = {llm}), "
            f"count(*) FILTER (o.kind = {llm} AND {no_usage}), "
            "count(*) FILTER (NOT o.session_known), "
            f"count(*) FILTER (o.kind = {llm} AND s.prompt_sha256 IS NULL "
            "AND coalesce(s.output_bytes, 0) = 0) "
            f"FROM {base} o JOIN spans s USING (span_key) JOIN origins USING (origin) WHERE o.counted "
            "GROUP BY ALL ORDER BY 4 DESC, 2, 3, 1"
        )
    ]
