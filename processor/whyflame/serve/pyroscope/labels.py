"""Labels of Grafana and fields of operations: names, and selectors as filters.

Every field is a label, also those that no index could hold (sessions, users, traces). `stack_by` is
a label that no operation has: it chooses the stack. Labels that begin with `__` are parts of the
profile type id.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from whyflame.fields import FIELDS
from whyflame.fold.names import Role, role_of
from whyflame.fold.where import Condition, Fragment
from whyflame.serve.pyroscope.selectors import PROFILE_TYPE, Matcher, parse_selector
from whyflame.store.traces import in_traces, in_traces_like

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = [
    "SERIES_LABELS",
    "STACK_BY",
    "TYPE_LABELS",
    "Selection",
    "field_of",
    "label_of",
    "read_selectors",
]

STACK_BY = "stack_by"
TRACE_ID = "trace_id"
TYPE_LABELS: tuple[str, ...] = (
    "__name__",
    "__type__",
    "__unit__",
    "__period_type__",
    "__period_unit__",
    PROFILE_TYPE,
)
SERIES_LABELS = (
    "service_name",
    "environment",
    "version",
    "agent",
    "model",
    "provider",
    "outcome",
    PROFILE_TYPE,
)
"""Labels of a series that was not asked for particular ones: those that are pushed."""

_ALIASES = {
    "service_name": "service",
    "__service_name__": "service",
    "service_version": "version",
    "agent_name": "agent",
    "session_id": "session",
    "__session_id__": "session",
    "conversation_id": "session",
}
_NEVER = Fragment("FALSE")


def field_of(label: str, promoted: Collection[str] = ()) -> str | None:
    """The field behind a label; None when there is none."""
    name = _ALIASES.get(label, label)
    is_field = (name in FIELDS and name != "token_kind") or name in promoted
    return name if is_field else None


def label_of(name: str) -> str:
    """The label that a field is offered as."""
    return "service_name" if name == "service" else name


FullMatch = Callable[[str, Sequence[str]], set[str]]
"""Those of some values that a regular expression matches as a whole; refuses a wrong expression."""


@dataclass(slots=True)
class Selection:
    """Selectors, taken apart.

    Attributes:
        full_match: How regular expressions are matched.
        where: Conditions on fields. only: Conditions that need SQL of their own.
        types: Conditions on parts of the profile type id.
        stack: The stack that `stack_by` asks for; empty for the hierarchy's own.
    """

    full_match: FullMatch
    where: list[Condition] = field(default_factory=list)
    only: list[Fragment] = field(default_factory=list)
    types: list[Matcher] = field(default_factory=list)
    stack: tuple[str, ...] = ()

    def taken(self, type_ids: Sequence[str]) -> set[str]:
        """Those of the profile types that pass."""
        left = set(type_ids)
        for matcher in self.types:
            place = TYPE_LABELS.index(matcher.name)
            parts = {type_id: [*type_id.split(":"), type_id][place] for type_id in left}
            passing = self.passing(matcher, sorted(set(parts.values())))
            left = {type_id for type_id, part in parts.items() if part in passing}
        return left

    def passing(self, matcher: Matcher, values: Sequence[str]) -> set[str]:
        """Those of the values that a condition lets pass."""
        if matcher.is_regex:
            found = self.full_match(matcher.value, values)
        else:
            found = {value for value in values if value == matcher.value}
        return set(values) - found if matcher.is_negated else found


def read_selectors(
    selectors: Sequence[str], full_match: FullMatch, promoted: Collection[str] = ()
) -> Selection:
    """All selectors at once; every condition must hold.

    Raises:
        UsageError: One cannot be read, or holds what is no regular expression.
    """
    selection = Selection(full_match)
    for selector in selectors:
        for matcher in parse_selector(selector):
            if matcher.is_regex:
                full_match(matcher.value, [""])
            _add(selection, matcher, promoted)
    return selection


def _add(selection: Selection, matcher: Matcher, promoted: Collection[str]) -> None:
    name = field_of(matcher.name, promoted)
    if matcher.name in TYPE_LABELS:
        selection.types.append(matcher)
    elif matcher.name == STACK_BY:
        if matcher.operator == "=":
            fields = matcher.value.replace(" ", "").split(",")
            selection.stack = tuple(part for part in fields if part)
    elif matcher.name == TRACE_ID:
        selection.only.append(_of_trace(matcher))
    elif name is None:
        # No operation has such a label: its value is "" everywhere.
        if not selection.passing(matcher, [""]):
            selection.only.append(_NEVER)
    elif _cannot_be(name, matcher):
        if not matcher.is_negated:
            selection.only.append(_NEVER)
    else:
        value = whole(matcher.value) if matcher.is_regex else matcher.value
        selection.where.append(Condition(name, matcher.operator, value))


def whole(pattern: str) -> str:
    """The expression, to match all of a value."""
    return f"^(?s:{pattern})$"


def _cannot_be(name: str, matcher: Matcher) -> bool:
    """True for a number compared with what is none."""
    if role_of(name) is not Role.NUMBER or matcher.is_regex or not matcher.value:
        return False
    return not (matcher.value.isascii() and matcher.value.isdigit() and len(matcher.value) < 10)  # noqa: PLR2004 - 32 bits


def _of_trace(matcher: Matcher) -> Fragment:
    test = in_traces_like(whole(matcher.value)) if matcher.is_regex else in_traces([matcher.value])
    return replace(test, sql=f"NOT {test.sql}") if matcher.is_negated else test
