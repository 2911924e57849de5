"""A standalone, interactive flame graph: one SVG file, no request, readable without its script.

What can be seen at first stands in the file as shapes with titles, so that it shows in a document or
a mail; opened in a browser the script draws the same from the data beside it, with zoom, search and
keyboard. Names reach the file as escaped text only.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from whyflame.fold.palette import FAMILIES, colour_of, css_variables, family_of, fill_names, fill_of
from whyflame.fold.svg_tree import SvgTree, build_svg_tree

if TYPE_CHECKING:
    from whyflame.fold.profile import Profile

__all__ = ["SvgText", "amount", "brief", "encode", "noun", "render", "script"]

_WIDTH, _MARGIN, _TOP, _ROW = 1200, 16, 100, 22
_FOOT = 40
_LEAST_WIDTH = 0.6
_CHAR_WIDTH = 6.4  # of the 12 px text, on average; the script measures instead
_ROUND, _LEAST_LETTERS = 8, 2
_DIFF_LIMITS = (0.05, 0.25, 0.6)
_HINT = "Click or Enter: zoom  ·  Esc: reset  ·  /: search  ·  arrows: move"
_TOOLS = (
    '<div xmlns="http://www.w3.org/1999/xhtml" class="tools">'
    '<input type="search" placeholder="Search frames" aria-label="Search frames"/>'
    '<button type="button" disabled="disabled">Reset</button></div>'
)
_TIP = '<div xmlns="http://www.w3.org/1999/xhtml" role="presentation"></div>'
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TITLES = {
    "cost": "Where the money went",
    "duration": "Where the time went",
    "operations": "What the agents did",
    "errors": "Where work failed",
}
_NOUNS = {"duration": "self time"}


@cache
def _asset(name: str) -> str:
    return (files("whyflame.fold") / "assets" / name).read_text(encoding="utf-8")


def script() -> str:
    """The text of the script that every file carries, the same whatever it shows."""
    return f"\n{_asset('flame.js')}"


def encode(profile: Profile, measure: str | None = None, title: str | None = None) -> bytes:
    """The flame graph of one measure, by default the one that width shows.

    Args:
        profile: What to draw; its other measures are told in the tooltips.
        measure: What width means.
        title: Heading; by default the measure's name.
    """
    name = measure or profile.default
    tree = build_svg_tree(profile, [name])
    return render(
        tree,
        SvgText(
            title=title or _TITLES.get(name, f"Where the {noun(name)} went"),
            figures=_figures(profile, name),
            legend=_legend(tree),
            nouns=[noun(item.name) for item in tree.types],
        ),
    )


@dataclass(frozen=True, slots=True)
class SvgText:
    """Words around the graph.

    Attributes:
        title: Heading.
        figures: One line of totals below it.
        legend: Colour variable and label, in order.
        nouns: What each sample type is called.
        is_diff: The first two sample types are compared.
    """

    title: str
    figures: str
    legend: list[tuple[str, str]]
    nouns: list[str]
    is_diff: bool = False


def noun(measure: str) -> str:
    """A measure as people say it."""
    return _NOUNS.get(measure, measure).replace("_", " ")


def _figures(profile: Profile, first: str) -> str:
    names = [first, *(item.name for item in profile.sample_types if item.name != first)]
    parts = [brief(profile.total(name), profile.unit(name), noun(name)) for name in names]
    if profile.time_ns:
        start = _moment(profile.time_ns)
        end = _moment(profile.time_ns + profile.duration_ns)
        parts.append(start if start == end else f"{start} to {end}")
    return "  ·  ".join(parts)


def brief(value: int, unit: str, name: str) -> str:
    """A figure as a heading shows it; the exact one stands in the tooltips."""
    if unit == "nanousd":
        return f"${value / 1e9:,.2f}"
    if unit != "nanoseconds":
        return f"{amount(value, unit)} {name}"
    minutes, seconds = divmod(round(value / 1e9), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours:,} h {minutes} min {name}"
    return f"{minutes} min {seconds} s {name}" if minutes else f"{value / 1e9:.1f} s {name}"


def amount(value: int, unit: str) -> str:
    """An exact figure: 4,558,192 or $12.3456 or 3,723.5 s."""
    digits = {"nanousd": 9, "microusd": 6, "nanoseconds": 9}.get(unit)
    if digits is None:
        return f"{value:,} B" if unit == "bytes" else f"{value:,}"
    whole, rest = divmod(abs(value), 10**digits)
    sign = "-" if value < 0 else ""
    fraction = f"{rest:0{digits}d}".rstrip("0")
    if unit == "nanoseconds":
        return f"{sign}{whole:,}{'.' if fraction else ''}{fraction} s"
    return f"{sign}${whole:,}.{fraction.ljust(2, '0')}"


def _moment(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns // 1_000_000_000, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _legend(tree: SvgTree) -> list[tuple[str, str]]:
    present = {family_of(name) for name in tree.names[1:]}
    return [(f"{family.key}-0", family.label) for family in FAMILIES if family.key in present]


def _text(value: str) -> str:
    """Escaped for XML text and attributes; what XML cannot hold becomes "?"."""
    return escape(_NOT_XML.sub("?", value))


def _colours(tree: SvgTree) -> list[str]:
    return [colour_of(name) for name in tree.names]


def _data(tree: SvgTree, text: SvgText, height: int) -> str:
    """The tree as JSON that is also XML text: every character that means something is escaped."""
    document = {
        "mode": "diff" if text.is_diff else "single",
        "row": _ROW,
        "top": _TOP,
        "margin": _MARGIN,
        "height": height,
        "types": [
            {"noun": name, "unit": item.unit}
            for name, item in zip(text.nouns, tree.types, strict=True)
        ],
        "names": tree.names,
        "colours": _colours(tree),
        "name": tree.name,
        "depth": tree.depth,
        "totals": [[_json_number(value) for value in column] for column in tree.totals],
        "selfs": [_json_number(value) for value in tree.selfs],
    }
    encoded = json.dumps(document, separators=(",", ":"))
    return encoded.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _json_number(value: int) -> int | str:
    """JavaScript's numbers are exact to 2^53 only; larger ones travel as text."""
    return value if abs(value) < 1 << 53 else str(value)


def render(tree: SvgTree, text: SvgText) -> bytes:
    """The file."""
    height = _TOP + (max(tree.depth) + 1) * _ROW + _FOOT
    title = _text(text.title)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="whyflame" width="100%" height="{height}" '
            f'viewBox="0 0 {_WIDTH} {height}" preserveAspectRatio="xMinYMin meet" '
            f'role="group" aria-labelledby="whyflame-title whyflame-figures">'
        ),
        f'<title id="whyflame-title">{title}</title>',
        f"<style>{_asset('flame.css')}{_theme()}</style>",
        '<rect class="ground" width="100%" height="100%" fill="#ffffff"/>',
        *_heading(tree, text, title),
        f'<g class="frames" role="tree" aria-label="{title}">',
        *_shapes(tree, text, _WIDTH - 2 * _MARGIN),
        "</g>",
        *_foot(height),
        f'<script type="application/json">{_data(tree, text, height)}</script>',
        f"<script><![CDATA[{script()}]]></script>",
        "</svg>\n",
    ]
    return "\n".join(parts).encode("utf-8", "replace")


def _heading(tree: SvgTree, text: SvgText, title: str) -> list[str]:
    """Title, figures and legend, and the tools, which show once the script runs."""
    left_out = f"  ·  the {tree.left_out:,} smallest frames are left out" if tree.left_out else ""
    return [
        f'<text class="heading" x="{_MARGIN}" y="34">{title}</text>',
        (
            f'<text class="figures" id="whyflame-figures" x="{_MARGIN}" y="58">'
            f"{_text(text.figures + left_out)}</text>"
        ),
        _legend_markup(text.legend),
        (
            f'<foreignObject class="tools-frame" x="{_WIDTH - _MARGIN - 340}" y="14" width="340" height="36" '
            f'visibility="hidden">{_TOOLS}</foreignObject>'
        ),
    ]


def _foot(height: int) -> list[str]:
    """What the script fills: status, hint, and the box that follows the pointer."""
    return [
        (
            f'<text class="status" role="status" aria-live="polite" x="{_MARGIN}" '
            f'y="{height - 14}"></text>'
        ),
        (
            f'<text class="hint right" x="{_WIDTH - _MARGIN}" y="{height - 14}" text-anchor="end" '
            f'visibility="hidden">{_HINT}</text>'
        ),
        (
            f'<foreignObject class="tip" width="1" height="1" visibility="hidden">{_TIP}'
            "</foreignObject>"
        ),
    ]


def _theme() -> str:
    light, dark = css_variables("light"), css_variables("dark")
    # Classes, beside plain fill attributes for programs that know no custom properties.
    fills = "".join(f".whyflame .{name}{{fill:var(--{name})}}" for name in fill_names())
    return f".whyflame{{{light}}}@media (prefers-color-scheme: dark){{.whyflame{{{dark}}}}}{fills}"


def _legend_markup(legend: list[tuple[str, str]]) -> str:
    parts, x = [], _MARGIN
    for variable, label in legend:
        parts.append(
            f'<rect x="{x}" y="73" width="10" height="10" rx="3" class="{variable}" fill="{fill_of(variable, "light")}"/>'
        )
        parts.append(f'<text class="key" x="{x + 16}" y="82">{_text(label)}</text>')
        x += 16 + round(len(label) * _CHAR_WIDTH) + 20
    return f'<g class="legend">{"".join(parts)}</g>'


def _shapes(tree: SvgTree, text: SvgText, inner: int) -> list[str]:
    """What is wide enough to be seen before any zooming."""
    colours = _colours(tree)
    share = _shares(tree, text)
    filled = [0.0] * (max(tree.depth) + 2)
    shapes = []
    for index, depth in enumerate(tree.depth):
        x = filled[depth]
        filled[depth] = x + share[index]
        filled[depth + 1] = x
        if share[index] * inner >= _LEAST_WIDTH:
            shapes.append(_shape(tree, text, index, (x, share[index], colours, inner)))
    return shapes


def _shares(tree: SvgTree, text: SvgText) -> list[float]:
    columns = tree.totals[: 2 if text.is_diff else 1]
    sums = [column[0] or 1 for column in columns]
    return [
        sum(value / total for value, total in zip(row, sums, strict=True)) / len(columns)
        for row in zip(*columns, strict=True)
    ]


def _shape(
    tree: SvgTree, text: SvgText, index: int, place: tuple[float, float, list[str], int]
) -> str:
    start, share, colours, inner = place
    name = tree.names[tree.name[index]]
    x, width = _MARGIN + start * inner, share * inner
    y = _TOP + tree.depth[index] * _ROW
    fill = _diff_fill(tree, index) if text.is_diff else colours[tree.name[index]]
    figure = amount(tree.totals[0][index], tree.types[0].unit)
    label = _text(f"{name}, {figure} {text.nouns[0]}, {share:.2%}")
    shape = (
        f'<g class="frame" role="treeitem" aria-level="{tree.depth[index] + 1}" '
        f'aria-label="{label}"><title>{label}</title>'
        f'<rect x="{x + 0.5:.2f}" y="{y}" width="{max(width - 1, 0.5):.2f}" height="{_ROW - 1}" '
        f'rx="{3 if width > _ROUND else 0}" class="{fill}" fill="{fill_of(fill, "light")}"/>'
    )
    shown = _fitted(name, width - 12)
    if shown:
        shape += f'<text x="{x + 6:.2f}" y="{y + _ROW // 2 + 4}">{_text(shown)}</text>'
    return f"{shape}</g>"


def _fitted(name: str, room: float) -> str:
    fits = int(room / _CHAR_WIDTH)
    if len(name) <= fits:
        return name
    return f"{name[: fits - 1]}…" if fits > _LEAST_LETTERS else ""


def _diff_fill(tree: SvgTree, index: int) -> str:
    """As `fill` of the script: by how much the share has changed, relative to the larger one."""
    if index == 0:
        return "diff-3"
    before = tree.totals[0][index] / (tree.totals[0][0] or 1)
    after = tree.totals[1][index] / (tree.totals[1][0] or 1)
    ratio = (after - before) / max(before, after, 1e-12)
    size = sum(abs(ratio) >= limit for limit in _DIFF_LIMITS)
    return f"diff-{3 + (size if ratio > 0 else -size)}"
