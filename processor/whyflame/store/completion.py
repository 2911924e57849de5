"""Values that a field takes, for completing what somebody types: the most frequent first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyflame.fields import FIELDS, TOKEN_PARTS
from whyflame.fold.names import Role, role_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whyflame.fold.where import Fragment
    from whyflame.store.readable import Readable

__all__ = ["complete_values"]


def complete_values(
    store: Readable, field: str, contains: str, condition: Fragment, limit: int
) -> dict[str, Any]:
    """How many operations have each value of a field, unknown ones left out.

    Args:
        store: The open store.
        field: A field of the Contract or a promoted one.
        contains: Only values with this text in them, in any case; those that begin with it first.
        condition: WHERE clause over `operations`. limit: How many values at most.
    """
    wanted = contains.casefold()
    counts: dict[str, int] = {}
    for value, count in _counted(store, field, condition):
        if value and wanted in value.casefold():
            counts[value] = counts.get(value, 0) + count
    ranked = sorted(
        counts.items(),
        key=lambda item: (not item[0].casefold().startswith(wanted), -item[1], item[0]),
    )
    return {
        "values": [{"value": value, "operations": count} for value, count in ranked[:limit]],
        "not_shown": max(0, len(ranked) - limit),
    }


def _counted(store: Readable, field: str, condition: Fragment) -> Iterable[tuple[str, int]]:
    role = role_of(field)
    if role is Role.PART:
        return [(part, 0) for part in TOKEN_PARTS]
    column = "extra[?]" if role is Role.TEXT else FIELDS[field].column
    parameters = [field] if role is Role.TEXT else []
    rows = (
        store.cursor()
        .execute(
            f"SELECT {column} AS found, count(*) FROM operations{condition.sql} GROUP BY ALL",
            [*parameters, *condition.params],
        )
        .fetchall()
    )
    return [
        (text, count)
        for found, count in rows
        if found is not None
        for text in _texts(store, role, found)
    ]


def _texts(store: Readable, role: Role, found: Any) -> Iterable[str]:
    match role:
        case Role.STRING:
            return (store.strings.value(found) or "",)
        case Role.PATH:
            return dict.fromkeys(store.paths.value(found) or ())
        case Role.TASK:
            return (store.paths.value(found) or ())[-1:]
        case _:
            return (str(found),)
