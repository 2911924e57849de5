"""Sessions as lists and trees: what ran, in which order, inside which task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyflame.errors import NothingMatched
from whyflame.fold.measures import MEASURE_BY_NAME

if TYPE_CHECKING:
    from whyflame.fold.where import Fragment
    from whyflame.store.readable import Readable

__all__ = ["list_sessions", "show_session"]

_TOKENS = MEASURE_BY_NAME["tokens"]


def list_sessions(store: Readable, condition: Fragment, limit: int) -> dict[str, Any]:
    """Sessions with their sums, the one that ended last first.

    Args:
        store: The open store. condition: WHERE clause over `operations`.
        limit: How many rows to return; how many more there are is said.
    """
    value = store.strings.value
    rows = (
        store.cursor()
        .execute(
            "SELECT session, any_value(session_known), min(start_ns), max(end_ns), "
            "count(DISTINCT run), list(DISTINCT agent) FILTER (agent IS NOT NULL), "
            "any_value(root), any_value(outcome), sum(operations)::BIGINT, "
            f"{_TOKENS.nullable_sum_expression}, sum(cost_nanousd)::BIGINT, sum(errors)::BIGINT, "
            f"sum(self_ns)::BIGINT FROM operations{condition.sql} "
            "GROUP BY session ORDER BY max(end_ns) DESC NULLS LAST, session LIMIT ?",
            [*condition.params, limit],
        )
        .fetchall()
    )
    sessions = [
        {
            "session": value(session),
            "session_known": known,
            "start_ns": start,
            "end_ns": end,
            "runs": runs,
            "agents": sorted(value(agent) for agent in agents or ()),
            "root": value(root),
            "outcome": value(outcome),
            "operations": operations,
            "tokens": tokens,
            "cost_usd": None if cost is None else cost / 1e9,
            "errors": errors,
            "duration_seconds": None if self_ns is None else self_ns / 1e9,
        }
        for session, known, start, end, runs, agents, root, outcome, operations, tokens, cost, errors, self_ns in rows
    ]
    return {"sessions": sessions, "not_shown": _count(store, condition) - len(sessions)}


def _count(store: Readable, condition: Fragment) -> int:
    ((count,),) = (
        store.cursor()
        .execute(
            "SELECT count(*) FROM (SELECT session FROM operations"
            f"{condition.sql} GROUP BY session)",
            list(condition.params),
        )
        .fetchall()
    )
    return int(count)


def show_session(store: Readable, session: str, tenant: str) -> dict[str, Any]:
    """One session as runs > lanes > operations in order, each with its semantic path.

    Raises:
        NothingMatched: The store holds no such session of this tenant.
    """
    code, owner = store.strings.find(session), store.strings.find(tenant)
    rows = (
        store.cursor()
        .execute(
            "SELECT run, lane, lane_parent, lane_parent_step, seq, turn, step, path_id, root, "
            "outcome, kind, leaf, agent, status, error_type, start_ns, end_ns, self_ns, "
            f"errors, {_TOKENS.expression}, cost_nanousd, trace_id, span_id "
            "FROM operations JOIN (SELECT span_key, trace_id, span_id FROM spans) USING (span_key) "
            "WHERE session = ? AND tenant = ? ORDER BY run, lane <> ?, lane, seq",
            [code, owner, store.strings.find("main")],
        )
        .fetchall()
    )
    if not rows:
        raise NothingMatched(f"no session {session!r}; `whyflame sessions` lists them")
    runs: dict[int, dict[str, Any]] = {}
    for row in rows:
        _add_row(store, runs, row)
    return {"session": session, "runs": [_finish(run) for run in runs.values()]}


def _add_row(store: Readable, runs: dict[int, dict[str, Any]], row: tuple[Any, ...]) -> None:
    value = store.strings.value
    (
        number, lane, parent, parent_step, _, turn, step, path, root, outcome, kind, leaf, agent,
        status, error_type, start, end, self_ns, errors, tokens, cost, trace_id, span_id,
    ) = row  # fmt: skip
    run = runs.setdefault(
        number, {"run": number, "root": value(root), "outcome": value(outcome), "lanes": {}}
    )
    lanes = run["lanes"].setdefault(
        value(lane),
        {
            "lane": value(lane),
            "parent": value(parent),
            "parent_step": parent_step,
            "agent": value(agent),
            "operations": [],
        },
    )
    lanes["operations"].append(
        {
            "turn": turn,
            "step": step,
            "path": list(store.paths.value(path) or ()),
            "kind": value(kind),
            "name": value(leaf) or value(agent),
            "status": value(status),
            "error_type": value(error_type),
            "start_ns": start,
            "end_ns": end,
            "self_ns": self_ns,
            "errors": errors,
            "tokens": tokens,
            "cost_nanousd": cost,
            "trace_id": bytes(trace_id).hex(),
            "span_id": bytes(span_id).hex(),
        }
    )


def _finish(run: dict[str, Any]) -> dict[str, Any]:
    return {**run, "lanes": list(run["lanes"].values())}
