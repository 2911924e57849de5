"""Marks as segmenters gave them: appended by version, the newest of each lane in force."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    import duckdb

    from whyflame.store.duck import Store

__all__ = ["LaneName", "MarkRow", "mark_tuple", "newest_marks"]

LaneName = tuple[str, str, int, str]
"""(tenant, session, run, lane)."""


@dataclass(frozen=True, slots=True)
class MarkRow:
    """Marks of one lane.

    Attributes:
        tenant, session, run, lane: The lane. producer: Name of the segmenter.
        input_sha256: Hash of what it saw.
        marks: (step, path), sparse, ordered by step; paths begin with the run's goal.
        setup: How the segmenter was set up; empty when unknown.
        since: The generation from which on this lane's marks were all made like these.
    """

    tenant: str
    session: str
    run: int
    lane: str
    producer: str
    input_sha256: str
    marks: tuple[tuple[int, tuple[str, ...]], ...]
    setup: str = ""
    since: int = field(default=0, compare=False)


def mark_tuple(store: Store, mark: MarkRow, version: int, now_ns: int) -> tuple[Any, ...]:
    """A row of the table `marks`; new strings and paths get ids."""
    code = store.strings.code
    return (
        code(mark.tenant), code(mark.session), mark.run, code(mark.lane), version, mark.producer,
        mark.input_sha256, now_ns, [step for step, _ in mark.marks],
        [store.paths.code(path) for _, path in mark.marks], mark.setup,
    )  # fmt: skip


def newest_marks(
    store: Store, cursor: duckdb.DuckDBPyConnection, sessions: Iterable[tuple[str, str]]
) -> dict[LaneName, MarkRow]:
    """The version in force of every lane of these (tenant, session)."""
    sessions = list(sessions)
    store.strings.look_up(chain.from_iterable(sessions))
    wanted = [
        (tenant, session)
        for tenant, session in (
            (store.strings.find(tenant), store.strings.find(session))
            for tenant, session in sessions
        )
        if tenant is not None and session is not None
    ]
    if not wanted:
        return {}
    rows = cursor.execute(
        "SELECT tenant, session, run, lane, arg_max(input_sha256, version), "
        "arg_max(steps, version), arg_max(path_ids, version), "
        "list((version, producer, coalesce(setup, '')) ORDER BY version DESC) "
        "FROM marks JOIN (SELECT unnest(?::INTEGER[]) AS tenant, unnest(?::INTEGER[]) AS session) "
        "USING (tenant, session) GROUP BY tenant, session, run, lane",
        [[tenant for tenant, _ in wanted], [session for _, session in wanted]],
    ).fetchall()
    store.paths.values({number for row in rows for number in row[6]})
    value, path = store.strings.value, store.paths.value
    found = {}
    for tenant, session, run, lane, digest, steps, path_ids, versions in rows:
        name = (value(tenant), value(session), run, value(lane))
        marks = tuple((step, path(number)) for step, number in zip(steps, path_ids, strict=True))
        # From the newest back to the first of the unbroken row that was made alike.
        _, alike = next(groupby(versions, key=itemgetter(1, 2)))
        *_, (since, producer, setup) = alike
        found[name] = MarkRow(*name, producer, digest, marks, setup, since)
    return found
