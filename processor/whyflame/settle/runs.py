"""Runs: a session is cut where nothing happened for longer than `session.gap`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whyflame.settle.tree import Tree

__all__ = ["assign_runs"]

Part = tuple[str, bytes]
"""Session and trace id."""


def assign_runs(tree: Tree, gap_ns: int, earlier_runs: Mapping[str, int]) -> list[int]:
    """Number the runs of every session and write `run`; a trace is never cut.

    Args:
        tree: Operations with their sessions.
        gap_ns: A longer silence between two traces begins a new run.
        earlier_runs: Session -> how many of its runs lie before everything in `tree`.

    Returns:
        By position, one number for each run of each session, from 0.
    """
    hulls, parts = _cut_by_trace(tree)
    latest: dict[str, int] = {}
    runs: dict[str, int] = {}
    numbers: dict[tuple[str, int], int] = {}
    run_of = [0] * len(tree.operations)
    # Positions are in time order, so the parts stand in the order of their starts.
    for key, positions in parts.items():
        session = key[0]
        start, end = hulls[key]
        if session not in runs:
            runs[session] = earlier_runs.get(session, 0)
        elif start - latest[session] > gap_ns:
            runs[session] += 1
        latest[session] = max(end, latest.get(session, end))
        run = runs[session]
        number = numbers.setdefault((session, run), len(numbers))
        for position in positions:
            tree.operations[position].run = run
            run_of[position] = number
    return run_of


def _cut_by_trace(
    tree: Tree,
) -> tuple[dict[Part, tuple[int, int]], dict[Part, list[int]]]:
    """The part of each trace that is in a session: when it was at work, and its positions."""
    hulls: dict[Part, tuple[int, int]] = {}
    parts: dict[Part, list[int]] = {}
    for position, (operation, end) in enumerate(zip(tree.operations, tree.ends, strict=True)):
        key = (operation.session, tree.traces[position])
        hull = hulls.get(key)
        if hull is None:
            hulls[key] = (tree.starts[position], end)
            parts[key] = [position]
        else:
            if end > hull[1]:
                hulls[key] = (hull[0], end)
            parts[key].append(position)
    return hulls, parts
