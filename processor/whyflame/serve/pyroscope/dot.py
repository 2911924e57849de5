"""A profile as a DOT graph: which frame leads to which, for readers of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.fold.tree import build_levels

if TYPE_CHECKING:
    from whyflame.fold.profile import Profile

__all__ = ["encode_dot"]

DEFAULT_MAX_NODES = 100


def encode_dot(profile: Profile, max_nodes: int | None = None) -> str:
    """The graph of the widest frames of the measure that width shows; empty without data.

    A frame is one node wherever it stands; recursion counts once for each level.
    """
    if profile.is_empty:
        return ""
    totals, selfs, edges = _graph(profile)
    kept = sorted(totals, key=lambda name: (-totals[name], name))[: max_nodes or DEFAULT_MAX_NODES]
    number_of = {name: number for number, name in enumerate(kept, 1)}
    whole, unit = profile.total(), profile.unit(profile.default)
    lines = ['digraph "whyflame" {', 'node [style=filled fillcolor="#f8f8f8" shape=box]']
    for name, number in number_of.items():
        share = 100 * totals[name] / whole
        text = f"{name}\n{selfs[name]} of {totals[name]} {unit} ({share:.2f}%)"
        lines.append(f"N{number} [label={_quoted(text)}]")
    for (above, below), value in sorted(edges.items()):
        if above in number_of and below in number_of:
            lines.append(f'N{number_of[above]} -> N{number_of[below]} [label=" {value}"]')
    return "\n".join([*lines, "}", ""])


def _graph(profile: Profile) -> tuple[dict[str, int], dict[str, int], dict[tuple[str, str], int]]:
    totals: dict[str, int] = {}
    selfs: dict[str, int] = {}
    edges: dict[tuple[str, str], int] = {}
    above: list[str] = []
    for level in build_levels(profile, [profile.default]):
        names = [profile.frames[number] for number in level.frames.tolist()]
        rows = zip(names, level.totals[0].tolist(), level.selfs[0].tolist(), strict=True)
        for (name, total, own), parent in zip(rows, level.parents.tolist(), strict=True):
            totals[name] = totals.get(name, 0) + total
            selfs[name] = selfs.get(name, 0) + own
            if above:
                edge = (above[parent], name)
                edges[edge] = edges.get(edge, 0) + total
        above = names
    return totals, selfs, edges


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
