"""Interactions with a graphical interface: point at something, put something in, commit it.

Weights learnt on agents that call tools say nothing about clicks and keys, so lanes of those are
cut by what the actions are for: a gesture continues while it types into, confirms or drags what
was pointed at, and ends where something else is pointed at.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whyflame.segment.lane import Lane

__all__ = ["interaction_cuts"]

# The first family with a word of the name; "left_click_drag" drags, "mouse_move" does as well.
_FAMILIES = (
    ("drag", "drag hover move mousedown mouseup"),
    ("scroll", "scroll swipe wheel"),
    ("chord", "hotkey hotkeys shortcut chord combination"),
    ("point", "click doubleclick rightclick leftclick tap select"),
    ("type", "type typewrite input fill text write"),
    ("key", "press key keys keypress keydown keyup enter"),
)
_FAMILY_OF = {word: family for family, words in _FAMILIES for word in words.split()}
_ORDER = {family: place for place, (family, _) in enumerate(_FAMILIES)}
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_MOST_WORDS = 4
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


@lru_cache(maxsize=4096)
def _family(tool: str) -> str:
    """Kind of gesture by the words of the name, without the module before it; "" for others."""
    words = [word.lower() for word in _WORD.findall(tool[-60:].rpartition(".")[2])]
    if len(words) > _MOST_WORDS:
        return ""
    if words[:1] == ["mouse"]:
        words.append("".join(words))  # "mouse_down" holds a button, "key_down" a key
    found = [_FAMILY_OF[word] for word in words if word in _FAMILY_OF]
    return min(found, key=_ORDER.__getitem__, default="")
