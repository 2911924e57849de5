"""Filters: `field=value`, `field!=value`, `field=~regex`, parsed and compiled to SQL.

An unknown value is the empty string: `model=` selects operations without a model, `model!=` those
with one, `model!=x` includes the unknown, `model=~.*` matches everything. A regular expression
matches anywhere in the value (write `^...$` for all of it); look-around and back-references are
refused, since the store's matcher (RE2, linear time) has none. Only that matcher is ever asked, also
about the empty string: Python's can take for ever even there. `path` matches when any name of the
path does, `task` looks at the innermost. Values reach SQL as parameters only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whyflame.errors import UsageError
from whyflame.fields import FIELDS, TOKEN_PARTS
from whyflame.fold.names import Role, check_field, role_of, unknown_name

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = [
    "Condition",
    "Fragment",
    "compile_condition",
    "compile_tenant",
    "compile_test",
    "parse_where",
]

# Compiled when used, which most commands never do: half a millisecond each.
_CONDITION = r"\s*([^\s=!~]+)\s*(=~|!~|!=|=)(.*)"
_NOT_RE2 = r"\(\?(?:[=!>(]|<[=!]|P=)|(?<!\\)(?:\\\\)*\\[1-9Z]|[*+?}]\+"
_MAX_REPEAT = 1000
_STRINGS = "SELECT id FROM strings WHERE "
_PATHS = "SELECT id FROM paths WHERE "
_PATH_NAMES = "SELECT id FROM (SELECT id, unnest(names) AS name FROM paths) WHERE "
# The same for expressions: with the id -1, which stands for NULL, and what is empty as "".
_NAMED = {
    Role.STRING: "SELECT id, value AS name FROM strings",
    Role.PATH: (
        "SELECT id, unnest(CASE WHEN len(names) = 0 THEN [''] ELSE names END) AS name FROM paths"
    ),
    Role.TASK: "SELECT id, coalesce(names[-1], '') AS name FROM paths",
}


class Compares:
    """What the operator of a filter or of a label matcher means: "=", "!=", "=~" or "!~"."""

    __slots__ = ()

    operator: str

    @property
    def is_negated(self) -> bool:
        """True for `!=` and `!~`."""
        return self.operator[0] == "!"

    @property
    def is_regex(self) -> bool:
        """True for `=~` and `!~`."""
        return self.operator[-1] == "~"


@dataclass(frozen=True, slots=True)
class Condition(Compares):
    """One parsed filter.

    Attributes:
        field: A field of the Contract or a promoted one.
        operator: "=", "!=", "=~" or "!~".
        value: What to compare with; a regular expression for the last two.
    """

    field: str
    operator: str
    value: str

    def __str__(self) -> str:
        return f"{self.field}{self.operator}{self.value}"


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of SQL with the parameters of its question marks, in order."""

    sql: str
    params: tuple[object, ...] = field(default=())


def parse_where(text: str, promoted: Collection[str] = ()) -> Condition:
    """Read one filter as written on the command line.

    Args:
        text: For example `agent=planner`, `error_type!=`, `path=~^fix`.
        promoted: Names of promoted fields, from the configuration.

    Raises:
        UsageError: The form, the field, the number or the expression is not valid.
    """
    found = re.fullmatch(_CONDITION, text, re.DOTALL)
    if found is None:
        raise UsageError(f"filter {text!r} is not field=value, field!=value or field=~regex")
    condition = Condition(check_field(found[1], promoted), found[2], found[3])
    _check_value(condition)
    return condition


def _check_value(condition: Condition) -> None:
    if condition.is_regex:
        _check_regex(condition)
    elif condition.value:
        role = role_of(condition.field)
        if role is Role.NUMBER and not re.fullmatch(r"\d{1,9}", condition.value):
            raise UsageError(f"{condition.field} is a whole number, not {condition.value!r}")
        if role is Role.PART and condition.value not in TOKEN_PARTS:
            raise unknown_name("token kind", condition.value, TOKEN_PARTS)


def _check_regex(condition: Condition) -> None:
    pattern = condition.value
    try:
        re.compile(pattern)
    except (re.error, OverflowError) as error:
        raise UsageError(f"{condition}: not a regular expression: {error}") from error
    if re.search(_NOT_RE2, pattern):
        raise UsageError(f"{condition}: look-around and back-references are not supported")
    if any(int(number) > _MAX_REPEAT for number in re.findall(r"(?<=[{,])\d+", pattern)):
        raise UsageError(f"{condition}: a repeat above {_MAX_REPEAT} is not supported")


def compile_condition(condition: Condition) -> Fragment:
    """SQL that is true for the rows of `operations` that pass.

    `token_kind` is no property of a row; the projection compiles it after splitting.
    """
    positive = _matching(condition) if condition.is_regex else _equal(condition)
    if condition.is_negated:
        return Fragment(f"NOT coalesce({positive.sql}, FALSE)", positive.params)
    return positive


def compile_test(text: str, condition: Condition) -> Fragment:
    """SQL that is true where an SQL text, "" when unknown, passes a condition."""
    comparison = f"regexp_matches({text}, ?)" if condition.is_regex else f"{text} = ?"
    negation = "NOT " if condition.is_negated else ""
    return Fragment(negation + comparison, (condition.value,))


def compile_tenant(tenant: str) -> Fragment:
    """SQL that is true for the rows of one tenant; NULL and "" are the same tenant."""
    if tenant:
        return Fragment(f"tenant IN ({_STRINGS}value = ?)", (tenant,))
    # One comparison instead of an OR: the scan stays a plain filter on ten million rows.
    none = "coalesce((SELECT min(id) FROM strings WHERE value = ''), -1)"
    return Fragment(f"coalesce(tenant, {none}) = {none}")


def _matching(condition: Condition) -> Fragment:
    """The values that an expression matches; what is unknown is matched as ""."""
    column, role = _column(condition.field), role_of(condition.field)
    params = (condition.value,)
    if role in _NAMED:
        named = f"{_NAMED[role]} UNION ALL SELECT -1, ''"
        among = f"SELECT id FROM ({named}) WHERE regexp_matches(name, ?)"
        return Fragment(f"coalesce({column}, -1) IN ({among})", params)
    if role is Role.NUMBER:
        return Fragment(f"regexp_matches(coalesce(CAST({column} AS VARCHAR), ''), ?)", params)
    if role is Role.TEXT:
        test = "regexp_matches(coalesce(extra[?], ''), ?)"
        return Fragment(test, (condition.field, *params))
    raise ValueError("token_kind is compiled by the projection")


def _equal(condition: Condition) -> Fragment:
    if not condition.value:
        return _is_unknown(condition.field)
    column, params = _column(condition.field), (condition.value,)
    match role_of(condition.field):
        case Role.STRING:
            return Fragment(f"{column} IN ({_STRINGS}value = ?)", params)
        case Role.PATH:
            return Fragment(f"{column} IN ({_PATH_NAMES}name = ?)", params)
        case Role.TASK:
            return Fragment(f"{column} IN ({_PATHS}names[-1] = ?)", params)
        case Role.NUMBER:
            return Fragment(f"{column} = ?", (int(condition.value),))
        case Role.TEXT:
            return Fragment("extra[?] = ?", (condition.field, *params))
        case Role.PART:
            raise ValueError("token_kind is compiled by the projection")


def _is_unknown(field_name: str) -> Fragment:
    column = _column(field_name)
    match role_of(field_name):
        case Role.STRING:
            return Fragment(f"({column} IS NULL OR {column} IN ({_STRINGS}value = ''))")
        case Role.PATH | Role.TASK:
            return Fragment(f"({column} IS NULL OR {column} IN ({_PATHS}len(names) = 0))")
        case Role.TEXT:
            return Fragment("coalesce(extra[?], '') = ''", (field_name,))
        case _:
            return Fragment(f"{column} IS NULL")


def _column(field_name: str) -> str:
    spec = FIELDS.get(field_name)
    return spec.column if spec else "extra"
