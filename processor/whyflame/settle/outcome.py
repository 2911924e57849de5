"""How a run ended: what somebody stated about it, else the status of its last root."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.model import Kind, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyflame.model import Operation
    from whyflame.settle.tree import Tree

__all__ = ["FAILURE", "SUCCESS", "assign_outcomes"]

SUCCESS = "success"
FAILURE = "failure"


def assign_outcomes(tree: Tree, run_of: Sequence[int]) -> None:
    """Write `outcome` of every operation; None while nobody told.

    A stated outcome (attribute, evaluation, score) wins over any status; of several, the newest.
    Without one the last root decides: a later turn may repair an earlier failure. Status UNSET
    says nothing, so it is unknown, not success.
    """
    stated: dict[int, str] = {}
    roots: dict[int, Operation] = {}
    owners = tree.owners
    for position, operation in enumerate(tree.operations):
        if operation.span.outcome is not None:
            stated[run_of[position]] = operation.span.outcome
        if owners[position] < 0 and (operation.counted or operation.kind is Kind.AGENT):
            known = roots.get(run_of[position])
            # A bare call in no agent tells of itself, not of the run, when an agent has spoken.
            if known is None or operation.kind is Kind.AGENT or known.kind is not Kind.AGENT:
                roots[run_of[position]] = operation
    outcomes: dict[int, str | None] = {run: _outcome_of(root) for run, root in roots.items()}
    outcomes.update(stated)
    for run, operation in zip(run_of, tree.operations, strict=True):
        operation.outcome = outcomes.get(run)


def _outcome_of(root: Operation) -> str | None:
    if root.status is Status.ERROR:
        return FAILURE
    return SUCCESS if root.status is Status.OK else None
