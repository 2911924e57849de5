"""Labels of Grafana and fields of operations: names, and selectors as filters.

Every field is a label, also those that no index could hold (sessions, users, traces). `stack_by` is
a label that no operation has: it chooses the stack. Labels that begin with `__` are parts of the
profile type id.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from whyflame.fold.names import Role, role_of
from whyflame.fold.where import Condition, Fragment
from whyflame.model import FIELDS
from whyflame.serve.pyroscope.selectors import PROFILE_TYPE, Matcher, parse_selector
from whyflame.store.traces import in_traces, in_traces_like

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

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
TYPE_LABELS = (
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


@dataclass(slots=True)
class Selection:
    """Selectors, taken apart.

    Attributes:
        where: Conditions on fields. only: Conditions that need SQL of their own.
        types: Conditions on parts of the profile type id.
        stack: The stack that `stack_by` asks for; empty for the hierarchy's own.
    """

    where: list[Condition] = field(default_factory=list)
    only: list[Fragment] = field(default_factory=list)
    types: list[Matcher] = field(default_factory=list)
    stack: tuple[str, ...] = ()

    def takes(self, type_id: str) -> bool:
        """Whether a profile type passes."""
        parts = dict(zip(TYPE_LABELS, [*type_id.split(":")[:5], type_id], strict=True))
        return all(
            matcher.matches(parts[matcher.name])
            or (matcher.name == PROFILE_TYPE and matcher.matches(f"{type_id}:delta"))
            for matcher in self.types
        )


def read_selectors(selectors: Sequence[str], promoted: Collection[str] = ()) -> Selection:
    """All selectors at once; every condition must hold.

    Raises:
        UsageError: One cannot be read.
    """
    selection = Selection()
    for selector in selectors:
        for matcher in parse_selector(selector):
            _add(selection, matcher, promoted)
    return selection


def _add(selection: Selection, matcher: Matcher, promoted: Collection[str]) -> None:
    name = field_of(matcher.name, promoted)
    if matcher.name in TYPE_LABELS:
        selection.types.append(matcher)
    elif matcher.name == STACK_BY:
        if matcher.operator == "=":
            selection.stack = tuple(
                part for part in matcher.value.replace(" ", "").split(",") if part
            )
    elif matcher.name == TRACE_ID:
        selection.only.append(_of_trace(matcher))
    elif name is None:
        # No operation has such a label: its value is "" everywhere.
        if not matcher.matches(""):
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
