"""Hierarchies as profile names: Grafana's picker of profile types becomes a choice of stacks.

A profile type id is `<hierarchy>:<measure>:<unit>:agent:count`. Hierarchies are the built-in ones
below, the views of the configuration, and what the exporters push (usually `agent`), so that ids
which Pyroscope knows work here too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyflame.errors import UsageError
from whyflame.fold.measures import MEASURE_BY_NAME
from whyflame.fold.views import BUILT_IN_VIEWS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whyflame.config import Config, ViewConfig

__all__ = ["MEASURES", "Hierarchy", "ProfileType", "hierarchies_of", "profile_type"]

PERIOD, PERIOD_UNIT = "agent", "count"
_USUAL = ("agent", "path", "leaf")
_PUSHED = "agent"
_ID_PARTS = (5, 6)  # the sixth is `delta`, accepted and ignored

_BUILT_IN: dict[str, tuple[str, ...]] = {
    "by_task": _USUAL,
    "by_goal": ("root", "path", "leaf"),
    "by_agent_tool": ("agent", "tool", "path"),
    "by_model": ("model", "agent", "path"),
    "by_outcome": ("outcome", "agent", "path", "leaf"),
    "by_service": ("service", "agent", "path", "leaf"),
    "by_session": ("session", "agent", "path", "leaf"),
    "by_token_kind": ("agent", "path", "token_kind"),
}
_OWN_FILTER = ("errors", "files", "network")

MEASURES: dict[str, str] = {
    name: "microusd" if measure.unit == "nanousd" else measure.unit
    for name, measure in MEASURE_BY_NAME.items()
}
"""Units of the measures as profile types show them."""


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """One way to stack, with the filter of its view.

    Attributes:
        period: Third-last part of the ids; the exporter's own name where it pushes another one.
    """

    name: str
    stack: tuple[str, ...]
    where: tuple[str, ...] = ()
    period: str = PERIOD

    def type_id(self, measure: str) -> str:
        """The id of this hierarchy with one measure."""
        return f"{self.name}:{measure}:{MEASURES[measure]}:{self.period}:{PERIOD_UNIT}"


@dataclass(frozen=True, slots=True)
class ProfileType:
    """A profile type id taken apart.

    Attributes:
        hierarchy: None when there is no such hierarchy or measure here: nothing has this type.
    """

    measure: str
    unit: str
    hierarchy: Hierarchy | None


def hierarchies_of(config: Config) -> dict[str, Hierarchy]:
    """All hierarchies by name; views of the configuration win."""
    found = {name: Hierarchy(name, stack) for name, stack in _BUILT_IN.items()}
    found[_PUSHED] = Hierarchy(_PUSHED, _USUAL)
    for exporter in config.exporters.values():
        options = exporter.options
        name = str(options.get("profile", _PUSHED))
        found[name] = Hierarchy(name, tuple(options.get("stack", _USUAL)), period=name)
    built_in = {name: BUILT_IN_VIEWS[name] for name in _OWN_FILTER}
    for view, settings in {**built_in, **config.views}.items():
        name = _plain_name(view)
        found[name] = _of_view(name, settings)
    return dict(sorted(found.items()))


def _of_view(name: str, view: ViewConfig) -> Hierarchy:
    return Hierarchy(name, tuple(view.stack), tuple(view.where))


def _plain_name(view: str) -> str:
    """A name that label selectors and Grafana's picker take as one word."""
    return re.sub(r"[^a-z0-9_]+", "_", view.lower()) or "_"


def profile_type(text: str, hierarchies: Mapping[str, Hierarchy]) -> ProfileType:
    """Read a profile type id.

    Raises:
        UsageError: It has not the form of one.
    """
    parts = text.split(":")
    if len(parts) not in _ID_PARTS or not all(parts[:3]):
        raise UsageError(
            f"profile type {text!r} has not the form name:type:unit:period_type:period_unit"
        )
    name, measure, unit = parts[:3]
    hierarchy = hierarchies.get(name)
    if measure in MEASURES and hierarchy is not None:
        type_id = hierarchy.type_id(measure)
        if type_id == text.removesuffix(":delta"):
            return ProfileType(measure, unit, hierarchy)
    return ProfileType(measure, unit, None)
