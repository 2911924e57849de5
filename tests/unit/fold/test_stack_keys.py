"""Sorting by packed words gives what sorting stacks gives, however deep, wide or many they are."""

from __future__ import annotations

import numpy as np
import pytest
from tests.fold_strategies import MemoryDictionary

from whyflame.fold.fold import fold_columns, fold_rows
from whyflame.fold.projection import compile_query, make_projection
from whyflame.fold.stack_keys import _LONG, _sort_order


@pytest.mark.parametrize(("strings", "depth"), [(3, 30), (5000, 14), (70_000, 6)])
def test_stacks_of_many_words_come_in_order(strings: int, depth: int) -> None:
    """Names repeat, paths begin alike and end at any level, some rows fall together."""
    random = np.random.default_rng(depth)
    names = [f"name {number}" for number in range(strings)]
    start = [names[number] for number in random.integers(0, strings, depth)]
    paths = []
    for length in random.integers(0, depth + 1, 300).tolist():
        ends = [names[number] for number in random.integers(0, min(strings, 4), depth - length)]
        paths.append(start[:length] + ends[: int(random.integers(0, depth + 1))])
    query = compile_query(make_projection(["agent", "path", "leaf"], labels=["model"]))
    columns = [random.integers(-1, size, 4000) for size in (3, 300, min(strings, 9), 3)]
    columns += [random.integers(0, 2, 4000) for _ in query.measures]
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    dictionary = MemoryDictionary(names, paths)
    assert fold_columns(query, columns, dictionary) == fold_rows(query, rows, dictionary)


@pytest.mark.parametrize("values", [2, 1 << 62])
def test_long_columns_are_sorted_in_two_halves(values: int) -> None:
    word = np.random.default_rng(1).integers(0, values, _LONG + 7)
    order = _sort_order(word)
    assert np.array_equal(np.sort(order), np.arange(len(word)))
    assert np.array_equal(word[order], np.sort(word))
