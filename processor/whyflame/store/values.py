"""What values the fields of operations have: for pickers, so bounded and newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyflame.fold.names import Role, role_of
from whyflame.model import FIELDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whyflame.fold.where import Fragment
    from whyflame.store.running import RunningQuery

__all__ = ["ended_between", "field_groups", "field_values", "full_matches", "used_fields"]

_ENDED = "coalesce(end_ns, start_ns)"


def ended_between(query: RunningQuery, condition: Fragment) -> tuple[int | None, int | None]:
    """First and last end time of the operations, None without any."""
    ((oldest, newest),) = query.rows(
        f"SELECT min({_ENDED}), max({_ENDED}) FROM operations{condition.sql}", condition.params
    )
    return oldest, newest


def full_matches(query: RunningQuery, pattern: str, values: Sequence[str]) -> set[str]:
    """Those of the values that a regular expression matches, by the rules of the store (RE2).

    Raises:
        UsageError: It is none.
    """
    rows = query.rows(
        "SELECT value FROM (SELECT unnest(?::VARCHAR[]) AS value) "
        "WHERE regexp_full_match(value, ?)",
        [list(values), pattern],
    )
    return {value for (value,) in rows}


def used_fields(query: RunningQuery, fields: Sequence[str], condition: Fragment) -> list[str]:
    """Those of the fields that any operation has a value for.

    Args:
        query: To run on. fields: Names of the Contract, or promoted ones.
        condition: WHERE clause over `operations`, as `fold.compile_filter` gives it.
    """
    tests: list[str] = []
    params: list[object] = []
    for field in fields:
        key, names = _key(field)
        tests.append(
            f"EXISTS (SELECT 1 FROM operations{condition.sql} AND {_is_known(query, field, key)})"
        )
        params += [*condition.params, *names]
    if not tests:
        return []
    (row,) = query.rows(f"SELECT {', '.join(tests)}", params)
    return [field for field, is_used in zip(fields, row, strict=True) if is_used]


def field_values(query: RunningQuery, field: str, condition: Fragment, limit: int) -> list[str]:
    """Distinct values of one field, at most `limit`, the most recently used ones, sorted."""
    key, params = _key(field)
    is_path = role_of(field) in {Role.PATH, Role.TASK}
    rows = query.rows(
        f"SELECT {key} AS v, max({_ENDED}) AS last FROM operations{condition.sql} "
        f"AND v IS NOT NULL GROUP BY v ORDER BY last DESC, v LIMIT {1 << 30 if is_path else limit}",
        [*params, *condition.params],
    )
    newest: dict[str, int] = {}
    for value, last in rows:
        for text in _texts(query, field, value):
            newest[text] = max(newest.get(text, 0), last)
    kept = sorted(newest, key=lambda text: (-newest[text], text))[:limit]
    return sorted(text for text in kept if text)


def field_groups(
    query: RunningQuery, fields: Sequence[str], columns: Sequence[str], condition: Fragment
) -> Mapping[tuple[str | None, ...], frozenset[str]]:
    """Distinct values of several fields, with those of `columns` that are above 0 for any of them.

    Args:
        query: To run on. fields: Distinct combinations of these; none gives one group.
        columns: Measure columns of `operations`. condition: As above.
    """
    if not fields:
        used = _used_columns(query, columns, condition)
        return {(): used} if used else {}
    keys = [_key(field) for field in fields]
    selected = [f"{key} AS k{number}" for number, (key, _) in enumerate(keys)]
    selected += [f"max({column})" for column in columns]
    rows = query.rows(
        f"SELECT {', '.join(selected)} FROM operations{condition.sql} GROUP BY ALL",
        [*(value for _, params in keys for value in params), *condition.params],
    )
    found: dict[tuple[str | None, ...], frozenset[str]] = {}
    for row in rows:
        labels = tuple(
            " > ".join(_texts(query, field, value)) or None if value is not None else None
            for field, value in zip(fields, row[: len(fields)], strict=True)
        )
        used = frozenset(
            column
            for column, value in zip(columns, row[len(fields) :], strict=True)
            if value is not None and value > 0
        )
        if used:
            found[labels] = found.get(labels, frozenset()) | used
    return found


def _used_columns(
    query: RunningQuery, columns: Sequence[str], condition: Fragment
) -> frozenset[str]:
    """Those of the columns that are above 0 anywhere: each test ends at the first such row."""
    tests = [
        f"EXISTS (SELECT 1 FROM operations{condition.sql} AND {column} > 0)" for column in columns
    ]
    (row,) = query.rows(f"SELECT {', '.join(tests)}", list(condition.params) * len(columns))
    return frozenset(column for column, is_used in zip(columns, row, strict=True) if is_used)


def _key(field: str) -> tuple[str, tuple[str, ...]]:
    spec = FIELDS.get(field)
    return (spec.column, ()) if spec else ("extra[?]", (field,))


def _is_known(query: RunningQuery, field: str, key: str) -> str:
    """A test that zone maps understand: row groups without any value are skipped."""
    empty: int | None = None
    match role_of(field):
        case Role.TEXT:
            return f"coalesce({key}, '') <> ''"
        case Role.STRING:
            empty = query.store.strings.find("")
        case Role.PATH | Role.TASK:
            empty = query.store.paths.find(())
        case _:
            pass
    return f"{key} IS NOT NULL AND {key} <> {-1 if empty is None else empty}"


def _texts(query: RunningQuery, field: str, value: Any) -> Sequence[str]:
    """A stored value as text; every name of a path, the innermost for a task."""
    match role_of(field):
        case Role.STRING:
            return (query.store.strings.value(value),)
        case Role.PATH:
            return tuple(query.store.paths.value(value))
        case Role.TASK:
            return tuple(query.store.paths.value(value)[-1:])
        case _:
            return (str(value),)
