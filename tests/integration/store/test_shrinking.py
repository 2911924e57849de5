"""What the store holds of its file in memory, once nobody asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from whyflame.app.memory import give_back
from whyflame.store.duck import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MIB = 1 << 20
LIMIT = 64 * MIB
ALL = "SELECT sum(a), sum(b) FROM numbers"


def _held(store: Store) -> int:
    query = "SELECT sum(memory_usage_bytes) FROM duckdb_memory() WHERE tag = 'BASE_TABLE'"
    ((size,),) = store.cursor().execute(query).fetchall()
    return int(size)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store that a question has brought into memory, as far as it may be there."""
    store = Store(tmp_path / "w.duckdb", memory_limit=LIMIT)
    store.cursor().execute(
        "CREATE TABLE numbers AS SELECT hash(range) >> 20 AS a, hash(-range) >> 20 AS b "
        "FROM range(3_000_000)"
    )
    store.checkpoint()
    store.cursor().execute(ALL).fetchall()
    assert _held(store) > LIMIT // 2
    yield store
    store.close()


def test_unused_blocks_are_dropped_and_the_limit_stays(store: Store) -> None:
    """An eighth of the limit and as much room stay; what is dropped is read from the file again."""
    cursor = store.cursor()
    sums = cursor.execute(ALL).fetchall()
    store.shrink()
    assert _held(store) <= LIMIT // 4
    assert cursor.execute("SELECT current_setting('memory_limit')").fetchall() == [("64.0 MiB",)]
    assert cursor.execute(ALL).fetchall() == sums


def test_what_questions_need_stays_as_long_as_they_are_asked(store: Store) -> None:
    """Blocks go when the last question is long ago."""
    before = _held(store)
    give_back(store, unasked_seconds=10.0)
    assert _held(store) == before
    give_back(store, unasked_seconds=1000.0)
    assert _held(store) < before


def test_a_small_store_is_left_alone(tmp_path: Path) -> None:
    """Less than the share that stays: nothing is read twice for it."""
    store = Store(tmp_path / "w.duckdb", memory_limit=LIMIT)
    store.cursor().execute("CREATE TABLE numbers AS SELECT hash(range) AS a FROM range(100_000)")
    store.checkpoint()
    before = _held(store)
    store.shrink()
    assert _held(store) == before > 0
    store.close()
