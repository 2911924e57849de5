"""Names and values of labels, and distinct sets of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whyflame.errors import QueryTooLarge
from whyflame.fields import FIELDS
from whyflame.fold.measures import MEASURE_BY_NAME
from whyflame.fold.where import Fragment
from whyflame.serve.pyroscope.labels import (
    SERIES_LABELS,
    STACK_BY,
    TYPE_LABELS,
    Selection,
    field_of,
    label_of,
)
from whyflame.serve.pyroscope.ranges import MILLISECOND, TimeRange
from whyflame.store.values import field_values, newest_part, used_fields

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyflame.serve.pyroscope.asking import Asking

__all__ = ["label_names", "label_values", "series_labels"]

Labels = tuple[tuple[str, str], ...]
MAX_SERIES = 200_000

_PRESETS = (
    ("agent", "path", "leaf"),
    ("agent", "path", "token_kind"),
    ("agent", "task"),
    ("agent", "tool"),
    ("model", "agent", "path"),
    ("root", "path", "leaf"),
    ("session", "agent", "path", "leaf"),
    ("user_hash", "agent", "path"),
)


def label_names(asking: Asking, selectors: Sequence[str], range_: TimeRange | None) -> list[str]:
    """Labels that any operation of the selection has, and the virtual ones."""
    selection = asking.selection(selectors)
    if range_ is None:
        return []
    condition, test = asking.filter(selection, range_), _type_test(asking, selection)
    if test is not None:
        condition = replace(condition, sql=f"{condition.sql} AND ({test.sql})")
    fields = [name for name in (*FIELDS, *asking.promoted) if field_of(name, asking.promoted)]
    used = used_fields(asking.running, fields, condition)
    if not used:
        return []
    return sorted({*map(label_of, used), STACK_BY, *TYPE_LABELS})


def label_values(
    asking: Asking, label: str, selectors: Sequence[str], range_: TimeRange | None
) -> list[str]:
    """Values of one label, at most `query.max_label_values`, the newest ones."""
    selection = asking.selection(selectors)
    if range_ is None:
        return []
    if label in TYPE_LABELS:
        return _parts(asking, label, selection, range_)
    if label == STACK_BY:
        stacks = {item.stack for item in asking.settings.hierarchies.values()}
        return sorted(",".join(stack) for stack in {*_PRESETS, *stacks})
    name = field_of(label, asking.promoted)
    if name is None:
        return []
    newest_ns = newest_part(asking.running, range_.since_ns, range_.until_ns)
    newest = TimeRange(max(range_.start_ms, newest_ns // MILLISECOND), range_.end_ms)
    within = [asking.filter(selection, part) for part in (newest, range_)]
    limit = asking.settings.config.query.max_label_values
    return field_values(asking.running, name, within, limit, _type_test(asking, selection))


def _parts(asking: Asking, label: str, selection: Selection, range_: TimeRange) -> list[str]:
    """Values of a label that is a part of the profile type id."""
    place = TYPE_LABELS.index(label)
    ids = set().union(*asking.types(selection, range_).values())
    return sorted({[*type_id.split(":"), type_id][place] for type_id in ids})


def _type_test(asking: Asking, selection: Selection) -> Fragment | None:
    """That an operation has a measure of the types asked for; None when none are."""
    if not selection.types:
        return None
    columns = {
        column
        for _, measure in asking.taken(selection).values()
        for column in MEASURE_BY_NAME[measure].columns
    }
    return Fragment(" OR ".join(f"{column} > 0" for column in sorted(columns)) or "FALSE")


def series_labels(
    asking: Asking, names: Sequence[str], selectors: Sequence[str], range_: TimeRange | None
) -> list[Labels]:
    """Distinct sets of the labels asked for, sorted."""
    selection = asking.selection(selectors)
    if range_ is None:
        return []
    wanted = list(dict.fromkeys(names or SERIES_LABELS))
    fields = {name: found for name in wanted if (found := field_of(name, asking.promoted))}
    with_types = [name for name in wanted if name in TYPE_LABELS]
    sets: set[Labels] = set()
    groups = asking.types(selection, range_, tuple(fields.values()))
    if (sum(map(len, groups.values())) if with_types else len(groups)) > MAX_SERIES:
        raise QueryTooLarge(
            f"more than {MAX_SERIES:,} series: ask for fewer labels, or a shorter range"
        )
    for values, ids in groups.items():
        known = [(name, value) for name, value in zip(fields, values, strict=True) if value]
        for type_id in ids if with_types else [""]:
            parts = dict(zip(TYPE_LABELS, [*type_id.split(":"), type_id], strict=False))
            labels = [*known, *((name, parts[name]) for name in with_types)]
            sets.add(tuple(sorted(labels)))
    return sorted(labels for labels in sets if labels)
