"""Ids become strings alike, however many of them are asked and wherever the tables are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from whyflame.store.ask import DictionaryTables
from whyflame.store.duck import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROWS = 5000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "w.duckdb")
    opened.cursor().execute("INSERT INTO strings SELECT i, 's' || i FROM range(?) AS t(i)", [ROWS])
    opened.cursor().execute(
        "INSERT INTO paths SELECT i, ['p' || i, 'q'] FROM range(?) AS t(i)", [ROWS]
    )
    yield opened
    opened.close()


@pytest.mark.parametrize("ids", [[], [0], [7, 8, 9], [3, ROWS - 1], list(range(0, ROWS, 2))])
@pytest.mark.parametrize("loaded", [False, True])
def test_asked_ids_are_there(store: Store, ids: list[int], loaded: bool) -> None:
    if loaded:
        assert len(store.strings) == len(store.paths) == ROWS
    tables = DictionaryTables(store, store.cursor())
    strings, paths = tables.strings(ids), tables.paths(ids)
    assert [strings[number] for number in ids] == [f"s{number}" for number in ids]
    assert [list(paths[number]) for number in ids] == [[f"p{number}", "q"] for number in ids]


def test_a_few_ids_far_apart_do_not_read_the_table(store: Store) -> None:
    found = DictionaryTables(store, store.cursor()).strings([3, ROWS - 1])
    assert sorted(found) == [3, ROWS - 1]


def test_paths_in_memory_share_their_names(store: Store) -> None:
    """Thousands of paths are made of a few hundred names."""
    assert len(store.paths) == ROWS
    found = store.paths.values([1, 2, 3])
    assert len({id(names[1]) for names in found.values()}) == 1
