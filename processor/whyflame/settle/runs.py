"""Runs: a session is cut where nothing happened for longer than `session.gap`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whyflame.settle.tree import Tree

__all__ = ["assign_runs"]


def assign_runs(tree: Tree, gap_ns: int, earlier_runs: Mapping[str, int]) -> list[int]:
    """Number the runs of every session and write `run`; a trace is never cut.

    Args:
        tree: Operations with their sessions.
        gap_ns: A longer silence between two traces begins a new run.
        earlier_runs: Session -> how many of its runs lie before everything in `tree`.

    Returns:
        By position, one number for each run of each session, from 0.
    """
    # (session, trace) -> [start, end, positions]: the part of a trace that is in the session.
    parts: dict[tuple[str, bytes], list[int]] = {}
    hulls: dict[tuple[str, bytes], tuple[int, int]] = {}
    for position, operation in enumerate(tree.operations):
        key = (operation.session, operation.span.trace_id)
        start, end = tree.starts[position], tree.ends[position]
        hull = hulls.get(key)
        if hull is None:
            hulls[key] = (start, end)
            parts[key] = [position]
        else:
            if end > hull[1]:
                hulls[key] = (hull[0], end)
            parts[key].append(position)
    latest: dict[str, int] = {}
    numbers: dict[tuple[str, int], int] = {}
    run_of = [0] * len(tree.operations)
    runs: dict[str, int] = {}
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
