"""Interactions with a graphical interface: point at something, put something in, commit it.

Weights learnt on agents that call tools say nothing about clicks and keys, so lanes of those are
cut by what the actions are for: a gesture continues while it types into, confirms or drags what
was pointed at, and ends where something else is pointed at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whyflame.segment.lane import Lane

__all__ = ["interaction_cuts"]

_FAMILIES = {
    word: family
    for family, words in {
        "point": "click double_click right_click triple_click left_click middle_click tap select",
        "type": "type write input fill input_text type_text enter_text",
        "key": "press key keypress key_down key_up press_key",
        "chord": "hotkey shortcut key_combination",
        "drag": "drag_to drag mouse_down mouse_up move_to hover move mouse_move",
        "scroll": "scroll swipe scroll_down scroll_up",
    }.items()
    for word in words.split()
}
_CONTINUES = frozenset(
    [("point", "type"), ("point", "drag"), ("point", "chord"), ("point", "key"), ("type", "key"),
     ("type", "type"), ("type", "chord"), ("key", "type"), ("key", "key"), ("chord", "type"),
     ("chord", "key"), ("drag", "drag"), ("drag", "chord"), ("drag", "type"), ("drag", "key"),
     ("scroll", "scroll")]
)  # fmt: skip
_SHARE = 0.5


def interaction_cuts(lane: Lane) -> list[int] | None:
    """Steps that begin an interaction; None when the lane is not mostly gestures."""
    families = [_family(step.calls[0].tool) if step.calls else "" for step in lane.steps]
    if sum(1 for family in families if family) <= _SHARE * len(families):
        return None
    return [
        position
        for position in range(1, len(families))
        if (families[position - 1], families[position]) not in _CONTINUES
    ]


def _family(tool: str) -> str:
    name = tool.lower().removeprefix("browser_").removeprefix("computer_").removeprefix("mouse_")
    return _FAMILIES.get(name, "")
