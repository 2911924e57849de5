"""What values the fields of operations have: for pickers, so bounded and newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyflame.fields import FIELDS
from whyflame.fold.names import Role, role_of
from whyflame.fold.where import Fragment

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whyflame.store.running import RunningQuery

__all__ = [
    "ended_between",
    "field_groups",
    "field_values",
    "full_matches",
    "newest_part",
    "used_fields",
]

_ENDED = "coalesce(end_ns, start_ns)"
_PARTS = 64
# Values that one statement may name.
_MANY = 1000
_SAMPLE_ROWS = 2048


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


def newest_part(query: RunningQuery, since_ns: int, until_ns: int) -> int:
    """When the newest small part of a time range begins; its end when nothing is there.

    Args:
        query: To run on. since_ns, until_ns: First end time included and excluded.
    """
    # Of all tenants and without a filter: DuckDB reads it from its statistics.
    ((first, oldest, newest),) = query.rows(
        "SELECT min(start_ns), min(end_ns), max(end_ns) FROM settled"
    )
    known = [time for time in (first, oldest) if time is not None]
    if newest is None or not known:
        return until_ns
    end = min(until_ns, newest)
    length = max(0, end - max(since_ns, *known))
    return int(end - length // _PARTS)


def field_values(
    query: RunningQuery,
    field: str,
    within: Sequence[Fragment],
    limit: int,
    test: Fragment | None = None,
) -> list[str]:
    """Distinct values of one field, at most `limit`, the most recently used ones, sorted.

    Args:
        query: To run on. field: A name of the Contract, or a promoted one.
        within: WHERE clauses over `operations`; each is about the newest part of what the next one
            is about: once a part has enough values, what is older cannot have newer ones.
        limit: How many values at most.
        test: One more condition. Of many rows it costs more than all else, so that values which
            passed it in the newest part are not tested again.
    """
    values = _Values(query, field, limit)
    texts: dict[str, int] = {}
    last: dict[Any, int] = {}
    for condition in within:
        last = values.newest(condition, test, last)
        texts = values.texts(last)
        if len(texts) >= limit:
            break
    kept = sorted(texts, key=lambda text: (-texts[text], text))[:limit]
    return sorted(text for text in kept if text)


class _Values:
    """The stored values of one field.

    Args:
        query, field, limit: See `field_values`.
    """

    def __init__(self, query: RunningQuery, field: str, limit: int) -> None:
        self._query, self._field = query, field
        self._key, self._params = _key(field)
        # Several paths have the same names in them.
        is_path = role_of(field) in {Role.PATH, Role.TASK}
        self._limit = "" if is_path else f" LIMIT {limit}"

    def newest(
        self, condition: Fragment, test: Fragment | None, passed: Mapping[Any, int]
    ) -> dict[Any, int]:
        """When each stored value was last used; `passed` are values of which it is known."""
        if test is None:
            return self._last(condition)
        tested = Fragment(f"{condition.sql} AND ({test.sql})", (*condition.params, *test.params))
        if not passed:
            return self._last(tested)
        left = self._distinct(condition) - passed.keys()
        if len(left) > _MANY:
            return self._last(tested)
        if not left:
            return dict(passed)
        marks = ", ".join("?" * len(left))
        among = Fragment(
            f"{tested.sql} AND {self._key} IN ({marks})",
            (*tested.params, *self._params, *sorted(left)),
        )
        return {**self._last(among), **passed}

    def _last(self, condition: Fragment) -> dict[Any, int]:
        rows = self._query.rows(
            f"SELECT {self._key} AS v, max({_ENDED}) AS last FROM operations{condition.sql} "
            f"AND v IS NOT NULL GROUP BY v ORDER BY last DESC, v{self._limit}",
            [*self._params, *condition.params],
        )
        return dict(rows)

    def _distinct(self, condition: Fragment) -> set[Any]:
        rows = self._query.rows(
            f"SELECT DISTINCT {self._key} AS v FROM operations{condition.sql} AND v IS NOT NULL",
            [*self._params, *condition.params],
        )
        return {value for (value,) in rows}

    def texts(self, last: Mapping[Any, int]) -> dict[str, int]:
        """The same by text; a text that several stored values have was used when any was."""
        newest: dict[str, int] = {}
        known = _texts(self._query, self._field, last)
        for value, when in last.items():
            for text in known.get(value, ()):
                newest[text] = max(newest.get(text, 0), when)
        return newest


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
    known = [_texts(query, field, {row[at] for row in rows}) for at, field in enumerate(fields)]
    found: dict[tuple[str | None, ...], frozenset[str]] = {}
    for row in rows:
        labels = tuple(
            " > ".join(texts.get(value, ())) or None
            for texts, value in zip(known, row[: len(fields)], strict=True)
        )
        used = _above_zero(columns, row[len(fields) :])
        if used:
            found[labels] = found.get(labels, frozenset()) | used
    return found


def _used_columns(
    query: RunningQuery, columns: Sequence[str], condition: Fragment
) -> frozenset[str]:
    """Those of the columns that are above 0 anywhere.

    A few rows show most of them. Each of the others has a test that ends at the first such row, and
    that skips row groups without any.
    """
    peaks = ", ".join(f"max({column})" for column in columns)
    ((count, *row),) = query.rows(
        f"SELECT count(*), {peaks} FROM (SELECT {', '.join(columns)} "
        f"FROM operations{condition.sql} LIMIT {_SAMPLE_ROWS})",
        condition.params,
    )
    used = _above_zero(columns, row)
    left = [column for column in columns if column not in used]
    if left and count == _SAMPLE_ROWS:
        tests = [
            f"EXISTS (SELECT 1 FROM operations{condition.sql} AND {name} > 0)" for name in left
        ]
        (found,) = query.rows(f"SELECT {', '.join(tests)}", list(condition.params) * len(left))
        used |= {column for column, is_used in zip(left, found, strict=True) if is_used}
    return used


def _above_zero(columns: Sequence[str], values: Sequence[int | None]) -> frozenset[str]:
    pairs = zip(columns, values, strict=True)
    return frozenset(column for column, value in pairs if value is not None and value > 0)


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


def _texts(query: RunningQuery, field: str, values: Iterable[Any]) -> Mapping[Any, Sequence[str]]:
    """Stored values with their texts: every name of a path, the innermost for a task."""
    known = [value for value in values if value is not None]
    match role_of(field):
        case Role.STRING:
            return {number: (text,) for number, text in query.strings(known).items()}
        case Role.PATH:
            return query.paths(known)
        case Role.TASK:
            return {number: names[-1:] for number, names in query.paths(known).items()}
        case _:
            return {value: (str(value),) for value in known}
