"""Sums of one measure over time steps, for every value of some fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whyflame.fields import FIELDS
from whyflame.fold.names import Role, role_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from whyflame.fold.measures import Measure
    from whyflame.fold.where import Fragment
    from whyflame.store.running import RunningQuery

__all__ = ["ENDED", "Labels", "Steps", "group_keys", "label_texts", "sum_by_step"]

ENDED = "coalesce(end_ns, start_ns)"
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
    keys, params = group_keys(fields)
    edge = f"({ENDED} - ?::BIGINT) // ?::BIGINT AS edge"
    rows = query.rows(
        f"SELECT * FROM (SELECT {', '.join([*keys, edge, f'{measure.sum_expression} AS v'])} "
        f"FROM operations{condition.sql} GROUP BY ALL) WHERE v <> 0",
        [*params, steps.since_ns, steps.step_ns, *condition.params],
    )
    found: dict[Labels, dict[int, int]] = {}
    for labels, (number, value) in label_texts(query, fields, rows):
        points = found.setdefault(labels, {})
        at = steps.start_ns + number * steps.step_ns
        points[at] = points.get(at, 0) + value
    return found


def group_keys(fields: Sequence[str]) -> tuple[list[str], list[str]]:
    """SQL of the stored values of some fields, called k0, k1, ..., and its parameters."""
    specs = [FIELDS.get(field) for field in fields]
    keys = [f"{spec.column if spec else 'extra[?]'} AS k{n}" for n, spec in enumerate(specs)]
    return keys, [field for field, spec in zip(fields, specs, strict=True) if spec is None]


def label_texts(
    query: RunningQuery, fields: Sequence[str], rows: Sequence[Sequence[Any]]
) -> Iterator[tuple[Labels, Sequence[Any]]]:
    """Rows whose first columns are `group_keys`: the texts of these, and the rest."""
    count = len(fields)
    shown = [_labels(query, field, {row[at] for row in rows}) for at, field in enumerate(fields)]
    for row in rows:
        labels = (texts.get(value) for texts, value in zip(shown, row[:count], strict=True))
        yield tuple(labels), row[count:]


def _labels(query: RunningQuery, field: str, values: set[Any]) -> Mapping[Any, str | None]:
    """Stored values of a field with their labels; all are looked up at once."""
    texts: dict[Any, str | None] = {
        value: value or None for value in values if value is None or isinstance(value, str)
    }
    numbers = values - texts.keys()
    match role_of(field):
        case Role.STRING:
            strings = query.strings(numbers)
            return texts | {number: text or None for number, text in strings.items()}
        case Role.PATH:
            paths = query.paths(numbers)
            return texts | {number: " > ".join(names) or None for number, names in paths.items()}
        case Role.TASK:
            paths = query.paths(numbers)
            return texts | {number: names[-1] if names else None for number, names in paths.items()}
        case _:
            return texts | {number: str(number) for number in numbers}
