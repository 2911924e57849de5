"""Exact sums over operations, for every value of the fields asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyflame.errors import UsageError
from whyflame.fields import FIELDS, TOKEN_PARTS
from whyflame.fold.where import compile_tenant
from whyflame.store.reported import find_reported

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whyflame.fold.where import Fragment
    from whyflame.store.readable import Cursor, Readable

__all__ = ["INNER_KEYS", "TOTAL_KEYS", "Totals", "totals"]


NO_USAGE = " AND ".join(
    (*(f"{part} IS NULL" for part in TOKEN_PARTS), "extra['unsplit_total'] IS NULL")
)
# Almost every call tells its input: only the others are looked at closely.
_WITHOUT_USAGE = (
    f"CASE WHEN kind = {{llm}} AND {TOKEN_PARTS[0]} IS NULL THEN {NO_USAGE} ELSE FALSE END"
)
"""SQL with the id of `llm` to be filled in; true for calls of which no usage is known."""
_SUMS: dict[str, str] = {
    "operations": "count(*)",
    "llm_calls": "count(*) FILTER (kind = {llm})",
    "llm_errors": "coalesce(sum(errors) FILTER (kind = {llm}), 0)",
    "embedding_calls": "count(*) FILTER (kind = {embed})",
    "tool_calls": "count(*) FILTER (kind = {tool})",
    "tool_errors": "coalesce(sum(errors) FILTER (kind = {tool}), 0)",
    "cache_read_tokens": "sum(cache_read)",
    "cache_write_tokens": "sum(cache_write)",
    "reasoning_tokens": "sum(reasoning)",
    "calls_without_usage": f"count(*) FILTER ({_WITHOUT_USAGE})",
    "cost_nanousd": "sum(cost_nanousd)",
    "self_ns": "sum(self_ns)",
    # Not shown as they are: they decide what others mean, or become rows of their own.
    "rows_showing_calls": "count(*) FILTER ({shows_calls})",
    "input_uncached": "sum(input_uncached)",
    "output_visible": "sum(output_visible)",
}
_WHOLES = {
    "input_tokens": ("input_uncached", "cache_read_tokens", "cache_write_tokens"),
    "output_tokens": ("output_visible", "reasoning_tokens"),
}
"""What is added up of other sums: half the price of adding up in every row."""
TOTAL_KEYS = (
    "llm_calls",
    "llm_errors",
    "embedding_calls",
    "tool_calls",
    "tool_errors",
    *_WHOLES,
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "calls_without_usage",
    "cost_usd",
    "duration_seconds",
)
"""Keys of a row, in the order of the Contract."""
INNER_KEYS = ("operations", "input_uncached", "output_visible")
"""Further keys of a row, which answers leave out."""

_COUNTS = frozenset(key for key, sql in _SUMS.items() if "count(" in sql or "coalesce(sum" in sql)

Totals = dict[str, Any]


def totals(
    store: Readable,
    by: Sequence[str],
    condition: Fragment,
    tenant: str = "",
    cursor: Cursor | None = None,
) -> list[Totals]:
    """Sums for every distinct value of the fields `by`, widest first.

    Args:
        store: The open store.
        by: Field names of the Contract or promoted ones; empty gives one row.
        condition: WHERE clause over the view `operations`, as `fold.compile_filter` gives it.
        tenant: Whose operations, once more: what a tenant's telemetry reports at all decides what
            its silence means (see `reported`).
        cursor: To run on; a new one when absent.

    Returns:
        Rows with the fields as asked, INNER_KEYS and TOTAL_KEYS; None = nothing reported it.
    """
    if "token_kind" in by:
        rest = [field for field in by if field != "token_kind"]
        return [
            {**{field: split[field] for field in by}, **split}
            for row in totals(store, rest, condition, tenant, cursor)
            for split in _by_token_kind(row)
        ]
    rows = _summed(store, by, condition, tenant, cursor or store.cursor())
    shown = [_shown(store, field, {row[at] for row in rows}) for at, field in enumerate(by)]
    merged: dict[tuple[Any, ...], dict[str, int | None]] = {}
    for row in rows:
        key = tuple(texts.get(value) for texts, value in zip(shown, row[: len(by)], strict=True))
        into = merged.setdefault(key, {})
        for name, value in zip(_SUMS, row[len(by) :], strict=True):
            into[name] = _add(into.get(name), None if value is None else int(value))
    found = [_finish(dict(zip(by, key, strict=True)), sums) for key, sums in merged.items()]
    found.sort(key=lambda row: _order(row, by))
    return found


def _summed(
    store: Readable, by: Sequence[str], condition: Fragment, tenant: str, cursor: Cursor
) -> list[tuple[Any, ...]]:
    """Stored values of the fields, then `_SUMS`."""
    columns = [f"{_column(field)} AS f{number}" for number, field in enumerate(by)]
    parameters = [field for field in by if field not in FIELDS]
    reported = find_reported(store, cursor, compile_tenant(tenant))
    replaced = ", ".join(f"{sql} AS {part}" for part, sql in reported.parts.items())
    kinds = {kind: code_of(store, kind) for kind in ("llm", "embed", "tool")}
    names = {**kinds, "shows_calls": reported.shows_calls}
    sums = [f"{sql.format(**names)} AS s_{key}" for key, sql in _SUMS.items()]
    query = (
        f"SELECT {', '.join(columns + sums)} FROM "
        f"(SELECT * REPLACE ({replaced}) FROM operations){condition.sql}"
    ) + (" GROUP BY ALL" if by else "")
    return cursor.execute(query, [*parameters, *condition.params]).fetchall()


def _finish(fields: dict[str, Any], sums: dict[str, int | None]) -> Totals:
    cost, self_ns = sums["cost_nanousd"], sums["self_ns"]
    for whole, parts in _WHOLES.items():
        sums[whole] = None
        for part in parts:
            sums[whole] = _add(sums[whole], sums[part])
    if sums["rows_showing_calls"] and not (sums["llm_calls"] or sums["embedding_calls"]):
        # Its calls would be seen, and there are none: nothing was read or written.
        sums["input_tokens"] = sums["input_tokens"] or 0
        sums["output_tokens"] = sums["output_tokens"] or 0
    counts = {key: value or 0 if key in _COUNTS else value for key, value in sums.items()}
    found = {
        **counts,
        "cost_usd": None if cost is None else cost / 1e9,
        "duration_seconds": None if self_ns is None else self_ns / 1e9,
    }
    return {**fields, **{key: found[key] for key in (*INNER_KEYS, *TOTAL_KEYS)}}


_KINDS = {
    "input_uncached": ("input_tokens",),
    "cache_read": ("input_tokens", "cache_read_tokens"),
    "cache_write": ("input_tokens", "cache_write_tokens"),
    "output_visible": ("output_tokens",),
    "reasoning": ("output_tokens", "reasoning_tokens"),
}
"""Token kind -> the sums that it is part of."""


def _by_token_kind(row: Totals) -> list[Totals]:
    """One row for each of the five parts that is known; all else stays with none of them."""
    found = []
    for kind, keys in _KINDS.items():
        value = row[keys[-1] if len(keys) > 1 else kind]
        if value is None:
            continue
        split = {key: 0 if key in _COUNTS else None for key in TOTAL_KEYS}
        fields = {key: row[key] for key in row if key not in split}
        found.append({**fields, "token_kind": kind, **split, **dict.fromkeys(keys, value)})
    return found


def _order(row: Totals, by: Sequence[str]) -> tuple[Any, ...]:
    tokens = (row["input_tokens"] or 0) + (row["output_tokens"] or 0)
    return (-tokens, -row["llm_calls"] - row["tool_calls"], *(str(row[field]) for field in by))


def _add(left: int | None, right: int | None) -> int | None:
    if left is None or right is None:
        return right if left is None else left
    return left + right


def code_of(store: Readable, value: str) -> int:
    """Dictionary id of a string; -1, which no row holds, when it was never stored."""
    code = store.strings.find(value)
    return -1 if code is None else code


def _column(field: str) -> str:
    spec = FIELDS.get(field)
    if spec is None:
        return "extra[?]"
    if not spec.column:
        raise UsageError(f"totals cannot be split by {field}: it is a property of a measure")
    return spec.column


def _shown(store: Readable, field: str, values: set[Any]) -> Mapping[Any, Any]:
    """Stored values of a field with how they are shown; all are looked up at once."""
    spec = FIELDS.get(field)
    if spec is not None and spec.column == "path_id":
        paths = store.paths.values(values - {None})
        return {None: None} | {number: _path(field, names) for number, names in paths.items()}
    if spec is not None and spec.coded:
        return {None: None} | store.strings.values(values - {None})
    return {value: value for value in values}


def _path(field: str, names: Sequence[str]) -> str | None:
    if field == "task":
        return names[-1] if names else None
    return " > ".join(names)
