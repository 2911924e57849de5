"""Sums of one measure over time steps, for every value of some fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyflame.fields import FIELDS
from whyflame.fold.names import Role, role_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyflame.fold.measures import Measure
    from whyflame.fold.where import Fragment
    from whyflame.store.running import RunningQuery

__all__ = ["Steps", "sum_by_step"]

Labels = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Steps:
    """Right edges `start`, `start + step`, ... not after `end`.

    An operation belongs to the first edge that is not before its end time.
    """

    start_ns: int
    end_ns: int
    step_ns: int

    @property
    def since_ns(self) -> int:
        """First end time that belongs to an edge."""
        return self.start_ns - self.step_ns + 1

    @property
    def until_ns(self) -> int:
        """First end time after the last edge."""
        count = (self.end_ns - self.start_ns) // self.step_ns
        return self.start_ns + count * self.step_ns + 1


def sum_by_step(
    query: RunningQuery,
    measure: Measure,
    fields: Sequence[str],
    condition: Fragment,
    steps: Steps,
) -> dict[Labels, dict[int, int]]:
    """Exact sums by labels and edge, empty steps left out.

    Args:
        query: To run on. measure: What to sum. fields: What becomes labels.
        condition: WHERE clause over `operations`, which keeps to the time of `steps`.
        steps: The time steps.
    """
    keys, params = [], []
    for number, field in enumerate(fields):
        spec = FIELDS.get(field)
        keys.append(f"{spec.column if spec else 'extra[?]'} AS k{number}")
        params += [] if spec else [field]
    edge = "(coalesce(end_ns, start_ns) - ?::BIGINT) // ?::BIGINT AS edge"
    rows = query.rows(
        f"SELECT * FROM (SELECT {', '.join([*keys, edge, f'{measure.sum_expression} AS v'])} "
        f"FROM operations{condition.sql} GROUP BY ALL) WHERE v <> 0",
        [*params, steps.since_ns, steps.step_ns, *condition.params],
    )
    found: dict[Labels, dict[int, int]] = {}
    for *values, number, value in rows:
        labels = tuple(
            _label(query, field, value) for field, value in zip(fields, values, strict=True)
        )
        points = found.setdefault(labels, {})
        at = steps.start_ns + number * steps.step_ns
        points[at] = points.get(at, 0) + value
    return found


def _label(query: RunningQuery, field: str, value: int | str | None) -> str | None:
    if value is None or isinstance(value, str):
        return value or None
    match role_of(field):
        case Role.STRING:
            return query.store.strings.value(value) or None
        case Role.PATH:
            return " > ".join(query.store.paths.value(value)) or None
        case Role.TASK:
            names = query.store.paths.value(value)
            return names[-1] if names else None
        case _:
            return str(value)
