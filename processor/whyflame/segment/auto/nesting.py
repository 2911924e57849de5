"""Cut sets to nested, named intervals without equal neighbours."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["nest"]

_Path = tuple[str, ...]


def nest(
    root: str,
    steps: int,
    levels: Sequence[Sequence[int]],
    candidates: Callable[[int, int], Iterable[str]],
) -> list[tuple[int, _Path]]:
    """Sparse (step, path) marks.

    Args:
        root: Name of the whole lane.
        steps: Length of the lane.
        levels: Ascending cut steps per level, coarse to fine.
        candidates: Names for [start, end), best first; the first that differs from the neighbour's
            and the parent's is taken, and when there is none the two intervals become one.
    """
    tree = _Tree(levels, candidates)
    tree.descend((root,), 0, steps, 0)
    return tree.marks


class _Tree:
    """One walk down the levels; collects marks in order."""

    def __init__(
        self, levels: Sequence[Sequence[int]], candidates: Callable[[int, int], Iterable[str]]
    ) -> None:
        self._levels = levels
        self._candidates = candidates
        self.marks: list[tuple[int, _Path]] = []

    def descend(self, path: _Path, start: int, end: int, depth: int) -> None:
        """Append the marks of [start, end), which lies below `path`."""
        inside, depth = self._next_cuts(path, start, end, depth)
        if depth == len(self._levels):
            if not self.marks or self.marks[-1][1] != path:
                self.marks.append((start, path))
            return
        previous = ""
        for left, right in pairwise([start, *inside, end]):
            name = _choose(self._candidates(left, right), previous, path[-1]) or previous
            previous = name
            self.descend((*path, name) if name else path, left, right, depth + 1)

    def _next_cuts(
        self, path: _Path, start: int, end: int, depth: int
    ) -> tuple[Sequence[int], int]:
        """Cuts of the first level that has any inside; something must stand below the root."""
        last = len(self._levels) - 1
        while depth <= last:
            cuts = self._levels[depth]
            inside = cuts[bisect_left(cuts, start + 1) : bisect_left(cuts, end)]
            if inside or (depth == last and len(path) == 1):
                return inside, depth
            depth += 1
        return (), depth


def _choose(names: Iterable[str], previous: str, parent: str) -> str:
    for name in names:
        if name not in (previous, parent):
            return name
    return ""
