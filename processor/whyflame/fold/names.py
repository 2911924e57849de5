"""Names that users type: which fields exist, and an error that helps when one does not."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from whyflame.errors import UsageError
from whyflame.fields import FIELDS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

__all__ = ["Role", "check_field", "role_of", "unknown_name"]


class Role(Enum):
    """How the values of a field are stored, which decides how they are matched and shown."""

    STRING = "string"  # id of the table `strings`
    NUMBER = "number"  # a plain integer
    PATH = "path"  # id of the table `paths`, every name of it
    TASK = "task"  # id of the table `paths`, its innermost name
    PART = "part"  # one of the five token parts
    TEXT = "text"  # a promoted attribute, kept as text


_SPECIAL = {"path": Role.PATH, "task": Role.TASK, "token_kind": Role.PART}


def unknown_name(what: str, name: str, known: Iterable[str]) -> UsageError:
    """The error for a name that does not exist: names the nearest one and lists all."""
    import difflib  # only a mistake needs it

    names = list(known)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    return UsageError(f"unknown {what} {name!r}{hint} Known: {', '.join(names)}")


def check_field(name: str, promoted: Collection[str] = ()) -> str:
    """`name` itself, if it is a field of the Contract or a promoted one.

    Raises:
        UsageError: It is neither.
    """
    if name in FIELDS or name in promoted:
        return name
    raise unknown_name("field", name, (*FIELDS, *sorted(promoted)))


def role_of(field: str) -> Role:
    """How `field` is stored; anything that the Contract does not name is a promoted attribute."""
    if field in _SPECIAL:
        return _SPECIAL[field]
    spec = FIELDS.get(field)
    if spec is None:
        return Role.TEXT
    return Role.STRING if spec.coded else Role.NUMBER
