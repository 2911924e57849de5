"""Projection: which fields become frames and which measures are summed, compiled to one query.

The query groups by small integers (ids of the dictionary tables); strings are looked up at the very
end, for the groups only. `token_kind` splits each group after summing: one row for each token part
that is there, and one without a part for the measures that are not tokens, so that no total changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyflame.errors import UsageError
from whyflame.fields import FIELDS, TOKEN_PARTS
from whyflame.fold.measures import DEFAULT_MEASURES, Measure, find_measure
from whyflame.fold.names import Role, check_field, role_of
from whyflame.fold.waits import WAIT_COLUMN, WAIT_FRAME, with_waits
from whyflame.fold.where import (
    Condition,
    Fragment,
    compile_condition,
    compile_tenant,
    compile_test,
    parse_where,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

__all__ = ["Column", "Projection", "Query", "compile_filter", "compile_query", "make_projection"]

_NO_PART = -1


@dataclass(frozen=True, slots=True)
class Projection:
    """A question: fields, outermost first, measures, and which operations to ask.

    Attributes:
        stack: Fields that become frames.
        measures: Measures to sum; `default` is the one that width shows.
        where: Filters, all of which must hold.
        since_ns: First end time included; `until_ns` the first one excluded.
        tenant: Whose operations; "" when tenancy is off.
        owner: The condition that `tenant` stands for, when the store has looked it up already.
        labels: Fields that become labels of the samples instead of frames.
        only: Further conditions in SQL, put together by the program itself.
        waits: Waiting for a person between turns is shown too, as an innermost frame of its own.
    """

    stack: tuple[str, ...]
    measures: tuple[str, ...] = DEFAULT_MEASURES
    default: str = "tokens"
    where: tuple[Condition, ...] = ()
    since_ns: int | None = None
    until_ns: int | None = None
    tenant: str = ""
    owner: Fragment | None = None
    labels: tuple[str, ...] = ()
    only: tuple[Fragment, ...] = ()
    waits: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the result that names a field, by id or as text."""

    field: str
    role: Role


_WAIT = Column(WAIT_FRAME, Role.TEXT)


@dataclass(frozen=True, slots=True)
class Query:
    """What the store executes, and how to read its result.

    Attributes:
        sql: Gives a row per group: `frames`, then `labels`, then one integer per measure.
        bounds_sql: Gives one row: first start, last end (NULL when unknown), rows that match.
        is_timed: Whether each row of `sql` ends with its first start and last end, and groups of
            nothing but zeros are among them, since they count for the time.
    """

    sql: str
    params: tuple[object, ...]
    frames: tuple[Column, ...]
    labels: tuple[Column, ...]
    measures: tuple[Measure, ...]
    default: str
    bounds_sql: str
    bounds_params: tuple[object, ...]
    is_timed: bool = False


def make_projection(
    stack: Sequence[str],
    measure: str = "tokens",
    where: Sequence[str | Condition] = (),
    promoted: Collection[str] = (),
    labels: Sequence[str] = (),
) -> Projection:
    """A checked projection; its measures are the usual ones and `measure`, which width shows.

    Raises:
        UsageError: A field, measure or filter does not exist or is asked for twice.
    """
    if not stack:
        raise UsageError("a stack needs at least one field")
    for name in (*stack, *labels):
        check_field(name, promoted)
    twice = [name for name in stack if stack.count(name) > 1]
    if twice:
        raise UsageError(f"field {twice[0]!r} stands twice in the stack")
    twice = [name for name in labels if labels.count(name) > 1]
    if twice:
        raise UsageError(f"field {twice[0]!r} stands twice in the labels")
    if "token_kind" in labels or "path" in labels:
        raise UsageError("token_kind and path can be frames, not labels")
    name = find_measure(measure).name
    return Projection(
        stack=tuple(stack),
        measures=tuple(dict.fromkeys((*DEFAULT_MEASURES, name))),
        default=name,
        where=tuple(
            parse_where(item, promoted) if isinstance(item, str) else item for item in where
        ),
        labels=tuple(labels),
    )


def compile_query(
    projection: Projection, relation: str = "operations", *, timed: bool = False
) -> Query:
    """The SQL of a projection.

    Args:
        projection: What is asked.
        relation: Table or view to read; a trusted name, never user input.
        timed: Find the time range in the same statement, where `Query.is_timed` says that it does:
            rows by `token_kind` have no time of their own.
    """
    frames, labels = _columns(projection.stack), _columns(projection.labels)
    if projection.waits:
        relation, frames = with_waits(relation), (*frames, _WAIT)
    columns = [*frames, *labels]
    measures = tuple(find_measure(name) for name in projection.measures)
    # What is a frame and a label too is one key.
    keys = [column for column in dict.fromkeys(columns) if column.role is not Role.PART]
    splits = _splits(projection, frames)
    timed = timed and not splits
    condition = compile_filter(projection)
    inner = _grouped(keys, measures, condition, relation, splits=splits)
    parts = _parts(projection.where) if splits else Fragment("")
    outer = (
        _split(columns, keys, measures, parts)
        if splits
        else _plain(columns, keys, measures, timed=timed)
    )
    # All names in the SQL come from this package's tables; what users type is a parameter.
    bounds = f"SELECT min(start_ns), max(end_ns), count(*) FROM {relation}{condition.sql}"
    return Query(
        sql=outer.format(groups=inner.sql),
        params=(*inner.params, *parts.params),
        frames=frames,
        labels=labels,
        measures=measures,
        default=projection.default,
        bounds_sql=bounds,
        bounds_params=condition.params,
        is_timed=timed,
    )


def _columns(names: Sequence[str]) -> tuple[Column, ...]:
    return tuple(Column(name, role_of(name)) for name in names)


def _splits(projection: Projection, frames: Sequence[Column]) -> bool:
    """Whether rows stand for parts of an operation's tokens."""
    return any(item.field == "token_kind" for item in projection.where) or any(
        column.role is Role.PART for column in frames
    )


def compile_filter(projection: Projection) -> Fragment:
    """The WHERE clause of a projection, leading blank included: tenant, time range, filters."""
    parts = [projection.owner or compile_tenant(projection.tenant)]
    parts += [compile_condition(item) for item in projection.where if item.field != "token_kind"]
    for bound, comparison in ((projection.since_ns, ">="), (projection.until_ns, "<")):
        if bound is not None:
            # An operation without an end is placed by its start; both columns keep their zone maps.
            sql = f"(end_ns {comparison} ? OR (end_ns IS NULL AND start_ns {comparison} ?))"
            parts.append(Fragment(sql, (bound, bound)))
    parts += projection.only
    sql = " AND ".join(part.sql for part in parts)
    return Fragment(f" WHERE {sql}", tuple(value for part in parts for value in part.params))


def _key(column: Column) -> Fragment:
    if column == _WAIT:
        return Fragment(WAIT_COLUMN)
    if column.role is Role.TEXT:
        return Fragment("extra[?]", (column.field,))
    return Fragment(FIELDS[column.field].column)


def _grouped(
    keys: Sequence[Column],
    measures: Sequence[Measure],
    condition: Fragment,
    relation: str,
    *,
    splits: bool,
) -> Fragment:
    selected: list[str] = []
    params: list[object] = []
    for number, column in enumerate(keys):
        key = _key(column)
        selected.append(f"{key.sql} AS k{number}")
        params += key.params
    selected += [
        f"{measure.sum_expression} AS v{number}"
        for number, measure in enumerate(measures)
        if not (splits and measure.is_token_measure)
    ]
    if splits:
        selected += [
            f"coalesce(sum({part}), 0)::BIGINT AS p{number}"
            for number, part in enumerate(TOKEN_PARTS)
        ]
    # What the outer statement does not ask for, DuckDB does not work out.
    selected += ["min(start_ns) AS first_ns", "max(end_ns) AS last_ns"]
    sql = f"(SELECT {', '.join(selected)} FROM {relation}{condition.sql} GROUP BY ALL)"
    return Fragment(sql, (*params, *condition.params))


def _unmasked(column: Column, keys: Sequence[Column]) -> str:
    empty = "''" if column.role is Role.TEXT else "-1"
    return f"coalesce(k{keys.index(column)}, {empty})"


def _plain(
    columns: Sequence[Column], keys: Sequence[Column], measures: Sequence[Measure], *, timed: bool
) -> str:
    selected = [
        f"{_unmasked(column, keys)} AS c{position}" for position, column in enumerate(columns)
    ]
    values = [f"v{number}" for number in range(len(measures))]
    if timed:
        return f"SELECT {', '.join(selected + values)}, first_ns, last_ns FROM {{groups}}"
    kept = " OR ".join(f"{value} <> 0" for value in values)
    return f"SELECT {', '.join(selected + values)} FROM {{groups}} WHERE {kept}"


def _split(
    columns: Sequence[Column],
    keys: Sequence[Column],
    measures: Sequence[Measure],
    parts: Fragment,
) -> str:
    """Rows of the groups, one for each token part; measures that are not tokens on a row without."""
    selected = [
        f"{'part' if column.role is Role.PART else _unmasked(column, keys)} AS c{position}"
        for position, column in enumerate(columns)
    ]
    values = [f"w{position}" for position in range(len(measures))]
    selected += [
        f"{_share(measure, position)} AS w{position}" for position, measure in enumerate(measures)
    ]
    kept = " OR ".join(f"{value} <> 0" for value in values)
    return (
        f"SELECT * FROM (SELECT {', '.join(selected)} FROM {{groups}} "
        f"CROSS JOIN ({parts.sql}) AS parts) WHERE {kept}"
    )


def _share(measure: Measure, position: int) -> str:
    if not measure.is_token_measure:
        return f"CASE part WHEN {_NO_PART} THEN v{position} ELSE 0 END"
    whens = " ".join(
        f"WHEN {number} THEN p{number}"
        for number, part in enumerate(TOKEN_PARTS)
        if part in measure.columns
    )
    return f"CASE part {whens} ELSE 0 END"


def _parts(where: Sequence[Condition]) -> Fragment:
    """The token parts that pass, by number; of what is no token the name is ""."""
    tests = [compile_test("name", item) for item in where if item.field == "token_kind"]
    named = [("", _NO_PART), *((part, number) for number, part in enumerate(TOKEN_PARTS))]
    rows = ", ".join(f"('{name}', {number})" for name, number in named)
    kept = " AND ".join(test.sql for test in tests) or "TRUE"
    sql = f"SELECT part FROM (VALUES {rows}) AS named(name, part) WHERE {kept}"
    return Fragment(sql, tuple(value for test in tests for value in test.params))
