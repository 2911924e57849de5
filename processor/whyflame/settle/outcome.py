"""How a run ended: what somebody stated about it, else the status of its last root."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.model import Kind, Status

if TYPE_CHECKING:
    from whyflame.model import Operation
    from whyflame.settle.tree import Tree

__all__ = ["FAILURE", "SUCCESS", "assign_outcomes"]

SUCCESS = "success"
FAILURE = "failure"

Run = tuple[str, int]


def assign_outcomes(tree: Tree) -> None:
    """Write `outcome` of every operation; None while nobody told.

    A stated outcome (attribute, evaluation, score) wins over any status; of several, the newest.
    Without one the last root decides: a later turn may repair an earlier failure. Status UNSET
    says nothing, so it is unknown, not success.
    """
    stated: dict[Run, str] = {}
    roots: dict[Run, Operation] = {}
    for position, operation in enumerate(tree.operations):
        run = (operation.session, operation.run)
        if operation.span.outcome is not None:
            stated[run] = operation.span.outcome
        if tree.owners[position] < 0 and (operation.counted or operation.kind is Kind.AGENT):
            known = roots.get(run)
            # A bare call in no agent tells of itself, not of the run, when an agent has spoken.
            if known is None or operation.kind is Kind.AGENT or known.kind is not Kind.AGENT:
                roots[run] = operation
    for operation in tree.operations:
        run = (operation.session, operation.run)
        outcome = stated.get(run)
        if outcome is None and run in roots:
            outcome = _outcome_of(roots[run])
        operation.outcome = outcome


def _outcome_of(root: Operation) -> str | None:
    if root.status is Status.ERROR:
        return FAILURE
    return SUCCESS if root.status is Status.OK else None
