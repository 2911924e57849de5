"""Payloads that wait or were given up: list them, try them again, or drop them.

Safe beside a running export job: it looks for such changes itself (`Outbox.open_rows`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whyflame.errors import UsageError
from whyflame.store.duck import append, transaction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyflame.store.duck import Store
    from whyflame.store.readable import Readable

__all__ = ["Letter", "drop_letters", "letter_rows", "list_letters", "retry_letters"]

_OPEN = "waiting"
_SHOWN = ("id", "exporter", "tenant", "time_ns", "created_ns", "size", "samples", "state", "reason")
_LETTERS = """
    SELECT o.id, o.exporter, o.tenant, o.series, o.time_ns, o.created_ns, o.size, o.samples,
        CASE WHEN d.id IS NULL THEN 'waiting' ELSE 'dead' END AS state, coalesce(d.reason, '')
    FROM outbox o
    LEFT JOIN (SELECT id, min(reason) AS reason FROM outbox_done WHERE state = 'dead' GROUP BY id) d
        USING (id)
    WHERE o.id NOT IN (SELECT id FROM outbox_done WHERE state NOT IN ('dead', 'attempted'))
"""


@dataclass(frozen=True, slots=True)
class Letter:
    """One payload in the outbox.

    Attributes:
        id: Its number. exporter, tenant, series: For whom it is; the series as JSON.
        time_ns: Time of the profile. created_ns: When it was made.
        size: Bytes before compression. samples: Samples in it.
        state: "waiting" or "dead". reason: Why it is dead.
    """

    id: int
    exporter: str
    tenant: str
    series: str
    time_ns: int
    created_ns: int
    size: int
    samples: int
    state: str
    reason: str


def list_letters(
    store: Readable,
    *,
    exporter: str | None = None,
    state: str | None = None,
    limit: int = 1000,
    tenant: str | None = None,
) -> list[Letter]:
    """Payloads that are not delivered, oldest first.

    Args:
        store: The open store.
        exporter: Only of this exporter.
        state: Only "waiting" or "dead" ones.
        limit: At most so many.
        tenant: Only of this tenant.
    """
    rows = (
        store.cursor()
        .execute(
            f"SELECT * FROM ({_LETTERS}) WHERE (? IS NULL OR exporter = ?) "
            "AND (? IS NULL OR state = ?) AND (? IS NULL OR tenant = ?) ORDER BY id LIMIT ?",
            [exporter, exporter, state, state, tenant, tenant, limit],
        )
        .fetchall()
    )
    return [Letter(*row) for row in rows]


def letter_rows(letters: Sequence[Letter]) -> list[dict[str, Any]]:
    """Letters as JSON shows them."""
    rows = []
    for letter in letters:
        row = {name: getattr(letter, name) for name in _SHOWN}
        rows.append(row | {"labels": dict(json.loads(letter.series))})
    return rows


def retry_letters(store: Store, ids: Sequence[int], now_ns: int, tenant: str | None = None) -> int:
    """Put dead letters back into the queue, with the same bytes and time.

    Returns:
        How many.

    Raises:
        UsageError: An id is no dead letter.
    """
    letters = _chosen(store, ids, ("dead",), tenant)
    cursor = store.cursor()
    with transaction(cursor):
        rows = cursor.execute(
            "SELECT 1 + greatest((SELECT coalesce(max(id), 0) FROM outbox), "
            "(SELECT coalesce(max(id), 0) FROM outbox_done))"
        ).fetchall()
        for number, letter in enumerate(letters, int(rows[0][0])):
            cursor.execute(
                "INSERT INTO outbox SELECT ?, exporter, batch, tenant, series, time_ns, size, "
                "samples, payload, ? FROM outbox WHERE id = ?",
                [number, now_ns, letter.id],
            )
        # Attempted: nobody knows any more whether the server has it, so its time must stay.
        ends = [(letter.id, letter.exporter, "retried", "", now_ns) for letter in letters]
        begins = [
            (number, letter.exporter, "attempted", "", now_ns)
            for number, letter in enumerate(letters, int(rows[0][0]))
        ]
        append(cursor, "outbox_done", [*ends, *begins])
    return len(letters)


def drop_letters(store: Store, ids: Sequence[int], now_ns: int, tenant: str | None = None) -> int:
    """Give payloads up for good; their operations stay marked as exported.

    Returns:
        How many.

    Raises:
        UsageError: An id is neither waiting nor dead.
    """
    letters = _chosen(store, ids, (_OPEN, "dead"), tenant)
    cursor = store.cursor()
    with transaction(cursor):
        append(
            cursor,
            "outbox_done",
            [(letter.id, letter.exporter, "dropped", "by hand", now_ns) for letter in letters],
        )
    return len(letters)


def _chosen(
    store: Store, ids: Sequence[int], states: tuple[str, ...], tenant: str | None
) -> list[Letter]:
    wanted = dict.fromkeys(ids)
    found = {
        letter.id: letter
        for letter in list_letters(store, limit=1 << 40, tenant=tenant)
        if letter.id in wanted and letter.state in states
    }
    missing = [number for number in wanted if number not in found]
    if missing:
        kinds = " or ".join(states)
        raise UsageError(f"no {kinds} payload has the number {missing[0]}; see `whyflame outbox`")
    return [found[number] for number in wanted]
