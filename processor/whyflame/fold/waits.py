"""Waiting for a person between turns, as rows beside the operations: time and nothing else.

Nothing is stored for it: a wait is what lies between the end of all that a run did so far and the
beginning of its next turn. So no row of an operation changes, and no sum but that of time.
"""

from __future__ import annotations

__all__ = ["WAIT_COLUMN", "WAIT_FRAME", "with_waits"]

WAIT_FRAME = "wait for user"
"""The innermost frame of a wait; also what its column is called, which no field can be."""

WAIT_COLUMN = "wait"
"""Column of the relation: the frame's text, NULL for operations."""

# A wait stands where the turn that ends it begins: these are of its first operation that knows them.
_PLACE = (
    "service", "environment", "version", "agent", "lane", "root", "outcome", "dialect",
    "user_hash", "extra",
)  # fmt: skip
_RUN = "tenant, session, run"


def with_waits(relation: str) -> str:
    """The relation with a row for every wait, as SQL that can stand after FROM.

    Args:
        relation: Table or view of operations; a trusted name.
    """
    placed = ", ".join(f"arg_min({name}, (start_ns, seq, span_key)) AS {name}" for name in _PLACE)
    turns = (
        f"SELECT {_RUN}, turn, {placed}, min(coalesce(start_ns, end_ns)) AS begun_ns, "
        f"max(coalesce(end_ns, start_ns)) AS over_ns FROM {relation} GROUP BY {_RUN}, turn"
    )
    # All lanes and earlier turns have to rest: what still runs is no waiting.
    rested = (
        f"SELECT *, max(over_ns) OVER (PARTITION BY {_RUN} ORDER BY begun_ns, turn "
        f"ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS rest_ns FROM ({turns})"
    )
    waits = (
        f"SELECT {_RUN}, turn, {', '.join(_PLACE)}, rest_ns AS start_ns, begun_ns AS end_ns, "
        "begun_ns - rest_ns AS wall_ns, begun_ns - rest_ns AS self_ns, "
        f"0::BIGINT AS operations, 0::BIGINT AS errors, '{WAIT_FRAME}' AS {WAIT_COLUMN} "
        f"FROM ({rested}) WHERE begun_ns > rest_ns"
    )
    return f"(SELECT * FROM {relation} UNION ALL BY NAME {waits})"
