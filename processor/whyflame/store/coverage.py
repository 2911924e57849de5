"""The coverage report: what the totals rest on, and what telemetry did not say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from whyflame.fields import TOKEN_PARTS
from whyflame.fold.where import Fragment
from whyflame.store.orphans import count_orphans
from whyflame.store.totals import NO_USAGE, code_of

if TYPE_CHECKING:
    from whyflame.store.readable import Cursor, Readable

__all__ = ["EVERYTHING", "count_lost", "coverage", "coverage_numbers"]

_CLAIMS = "(claimed_input IS NOT NULL OR claimed_output IS NOT NULL)"
_REMARKABLE = f"{_CLAIMS} OR (dubious IS NOT NULL AND len(dubious) > 0)"

_HAS_TEXT = "s.prompt_sha256 IS NOT NULL OR coalesce(s.output_bytes, 0) > 0"
# Calls whose text another view of them has.
_TOLD_ELSEWHERE = (
    "SELECT v.same_as FROM settled_now v JOIN spans s USING (span_key) "
    f"WHERE v.same_as IS NOT NULL AND ({_HAS_TEXT})"
)

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
    rows, base = _asker(cursor, condition), _base(condition)
    return {
        **_counted(store, rows, base),
        "by_dialect": _producers(store, rows, base),
        **_uncounted(store, rows, base),
        **_remarked(cursor, rows, base),
        "orphan_spans": count_orphans(store, cursor, condition),
        "unknown_scopes": _unknown_scopes(rows, base),
        "counters": count_lost(cursor, tenant),
    }


def coverage_numbers(store: Readable) -> dict[str, int]:
    """The part of the report that metrics show, of all tenants; reasons are summed.

    Without what producers report and leave out, which joins all operations to their spans.
    """
    cursor = store.cursor()
    rows, base = _asker(cursor, EVERYTHING), _base(EVERYTHING)
    reasons: dict[str, dict[str, int]] = {
        **_uncounted(store, rows, base),
        "bad_values": _remarked(cursor, rows, base)["bad_values"],
        "unknown_scopes": _unknown_scopes(rows, base),
    }
    return {
        **_counted(store, rows, base),
        "orphan_spans": count_orphans(store, cursor, EVERYTHING),
        **{name: sum(found.values()) for name, found in reasons.items()},
    }


def _asker(cursor: Cursor, condition: Fragment) -> _Rows:
    return lambda query: cursor.execute(query, list(condition.params)).fetchall()


def _base(condition: Fragment) -> str:
    return f"(SELECT * FROM settled_now{condition.sql})"


def _counted(store: Readable, rows: _Rows, base: str) -> dict[str, int]:
    """How much counts, and what is not known of it."""
    sums = "coalesce(sum(number), 0)::BIGINT, count(session), count(session) FILTER (unknown)"
    ((operations, sessions, without_id),) = rows(
        f"SELECT {sums} FROM (SELECT session, count(*) AS number, "
        f"bool_or(NOT session_known) AS unknown FROM {base} WHERE counted GROUP BY session)"
    )
    # Almost every call tells its input and has a price: the others are few.
    ((without_usage, unpriced),) = rows(
        f"SELECT count(*) FILTER ({NO_USAGE}), "
        f"count(*) FILTER (NOT ({NO_USAGE}) AND cost_nanousd IS NULL) FROM {base} "
        f"WHERE counted AND kind = {code_of(store, 'llm')} "
        f"AND ({TOKEN_PARTS[0]} IS NULL OR cost_nanousd IS NULL)"
    )
    return {
        "operations": operations,
        "calls_without_usage": without_usage,
        "unpriced_calls": unpriced,
        "sessions": sessions,
        "sessions_without_id": without_id,
    }


def _remarked(cursor: Cursor, rows: _Rows, base: str) -> dict[str, Any]:
    """What agents and wrappers say that they used, which counts nowhere; and values as sent."""
    claimed: dict[str, int | None] = {"spans": 0, "input_tokens": None, "output_tokens": None}
    reasons: Counter[str] = Counter()
    # Where no span has any of it, its columns are known to be empty without being read.
    if cursor.execute(f"SELECT count(*) FROM spans WHERE {_REMARKABLE}").fetchall()[0][0]:
        for dubious, spans, *amounts in rows(
            f"SELECT dubious, count(*), count(*) FILTER ({_CLAIMS}), sum(claimed_input)::BIGINT, "
            "sum(claimed_output)::BIGINT FROM (SELECT span_key, claimed_input, claimed_output, "
            f"dubious FROM spans WHERE {_REMARKABLE}) JOIN (SELECT span_key FROM {base}) "
            "USING (span_key) GROUP BY dubious"
        ):
            for reason in dubious or ():
                reasons[reason] += spans
            for key, amount in zip(claimed, amounts, strict=True):
                if amount is not None:
                    claimed[key] = (claimed[key] or 0) + amount
    return {
        "claimed_by_agents_not_counted": claimed,
        "bad_values": dict(sorted(reasons.items())),
    }


def _unknown_scopes(rows: _Rows, base: str) -> dict[str, int]:
    """Spans of no known instrumentation, by scope."""
    return dict(
        rows(
            "SELECT coalesce(nullif(scope, ''), '(none)') AS scope, count(*) "
            "FROM spans s JOIN origins USING (origin) "
            f"WHERE dialect = 'other' AND s.trace_key IN (SELECT trace_key FROM {base}) "
            "GROUP BY ALL ORDER BY 2 DESC, 1"
        )
    )


def _uncounted(store: Readable, rows: _Rows, base: str) -> dict[str, dict[str, int]]:
    """Spans that do not count, by reason: views of calls that do, and others."""
    conditions = {"merged_views": "same_as IS NOT NULL", "not_counted": "same_as IS NULL"}
    return {
        name: {
            store.strings.value(why): number
            for why, number in rows(
                f"SELECT why, count(*) FROM {base} WHERE NOT counted AND why IS NOT NULL "
                f"AND {condition} GROUP BY ALL ORDER BY 2 DESC, 1"
            )
        }
        for name, condition in conditions.items()
    }


def count_lost(cursor: Cursor, tenant: str | None) -> dict[str, dict[str, int]]:
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
            f"count(*) FILTER (o.kind = {llm} AND NOT ({_HAS_TEXT}) "
            f"AND o.span_key NOT IN ({_TOLD_ELSEWHERE})) "
            f"FROM {base} o JOIN spans s USING (span_key) JOIN origins USING (origin) WHERE o.counted "
            "GROUP BY ALL ORDER BY 4 DESC, 2, 3, 1"
        )
    ]
