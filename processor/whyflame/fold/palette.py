"""Colours by kind of work, shared by the SVG files and the page.

The hues are Okabe and Ito's, which people with any colour vision can tell apart, toned so that text
on them keeps a contrast of at least 4.5 in the light and the dark theme. A frame's kind is read from
its first word: names begin with a verb (`diagnose login`), evidence likewise (`call gpt-5`).
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

__all__ = [
    "DIFF_STEPS",
    "FAMILIES",
    "NARROW",
    "SHADES",
    "TEXT_ON_FRAME",
    "Family",
    "colour_of",
    "css_variables",
    "family_of",
    "fill_names",
    "fill_of",
    "shade_of",
]

SHADES = 3
"""Tones within a kind, so that neighbours can be told apart."""

TEXT_ON_FRAME = {"light": "#1a1d21", "dark": "#0d1013"}
"""Colour of the names on frames, per theme."""

NARROW = {"light": "#c9ced6", "dark": "#4a525e"}
"""Frames too narrow to draw one by one."""


@dataclass(frozen=True, slots=True)
class Family:
    """One kind of work.

    Attributes:
        key: For style classes.
        label: For legends.
        hue: Base colour, #rrggbb.
        words: First words of the frames that belong to it.
    """

    key: str
    label: str
    hue: str
    words: frozenset[str]

    def colour(self, theme: str, shade: int) -> str:
        """Fill in a theme ("light" or "dark"); `shade` is 0, 1 or 2."""
        share = _LIGHT_SHARES[shade] if theme == "light" else _DARK_SHARES[shade]
        return _mix(self.hue, "#ffffff", share)


_LIGHT_SHARES = (0.58, 0.48, 0.68)  # how much white is mixed in
_DARK_SHARES = (0.22, 0.10, 0.34)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_READ = _words(
    """inspect find research gather read search look view explore examine list fetch get grep glob
    retrieve query collect review analyze analyse understand check browse visit open load scan show
    identify locate investigate navigate"""
)
_CHANGE = _words(
    """create update fix optimize convert compute install configure compile deploy train write edit
    implement build add modify refactor remove delete generate prepare apply diagnose debug repair
    resolve patch merge commit set clean move rename replace migrate book cancel return pay send
    handle order reserve refund exchange"""
)
_PLAN = _words(
    """plan report delegate answer summarize summarise think decide explain ask reply respond
    conclude transfer hand finish present propose design consider outline wait prompt"""
)

FAMILIES = (
    Family("model", "model calls", "#3585c6", _words("call embed chat completion")),
    Family("run", "tools and commands", "#e69f00", _words("run execute launch start use invoke")),
    Family("look", "reading and searching", "#56b4e9", _READ),
    Family("change", "making and mending", "#009e73", _CHANGE),
    Family("test", "testing", "#e8d92a", _words("test verify validate evaluate assert compare")),
    Family("plan", "planning and reporting", "#cc79a7", _PLAN),
    Family("fail", "failures", "#e3703a", frozenset()),
    Family("base", "agents and structure", "#8b95a3", frozenset()),
)
"""In legend order; the last one takes everything else."""

_FAMILY_OF_WORD = {word: family.key for family in FAMILIES for word in family.words}
_ACTOR_ENDS = ("agent", "assistant", "bot")
_FAILURE_ENDS = ("error", "exception", "timeout", "failure", "refused", "exceeded")

DIFF_STEPS = {
    "light": ("#4a93d1", "#6ea8d8", "#abcdea", "#d9dde3", "#f6cd9a", "#f0a452", "#dd7a1c"),
    "dark": ("#6db6f2", "#5a93c4", "#6a8aa6", "#79828e", "#a98a63", "#d0934a", "#f5a742"),
}
"""From much less (blue) over equal (grey) to much more (orange)."""


def family_of(frame: str) -> str:
    """Key of the kind of work that a frame names."""
    first, _, rest = frame.partition(" ")
    if not rest and first.lower().endswith(_FAILURE_ENDS):
        return "fail"
    if rest.lower().endswith(_ACTOR_ENDS):
        return "base"
    return _FAMILY_OF_WORD.get(first.lower(), "base")


def shade_of(frame: str) -> int:
    """Tone of a frame: always the same for the same name."""
    return zlib.crc32(frame.encode(errors="replace")) % SHADES


def colour_of(frame: str) -> str:
    """One of `fill_names` for a frame: its kind of work and its tone."""
    return f"{family_of(frame)}-{shade_of(frame)}"


def fill_names() -> list[str]:
    """Every fill a frame can have; names of style classes and of custom properties."""
    shades = [f"{family.key}-{shade}" for family in FAMILIES for shade in range(SHADES)]
    return [*shades, *(f"diff-{step}" for step in range(len(DIFF_STEPS["light"])))]


def fill_of(name: str, theme: str) -> str:
    """Colour of one of `fill_names` in a theme."""
    key, _, number = name.partition("-")
    if key == "diff":
        return DIFF_STEPS[theme][int(number)]
    return next(family for family in FAMILIES if family.key == key).colour(theme, int(number))


def css_variables(theme: str) -> str:
    """Custom properties with every colour of a theme, for a style rule."""
    rows = [f"--text-on-frame:{TEXT_ON_FRAME[theme]}", f"--narrow:{NARROW[theme]}"]
    rows += [f"--{name}:{fill_of(name, theme)}" for name in fill_names()]
    return ";".join(rows)


def _mix(colour: str, other: str, share: float) -> str:
    pairs = zip(_channels(colour), _channels(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
