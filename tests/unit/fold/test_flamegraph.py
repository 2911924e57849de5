"""Pyroscope's flame graph encoding: the published examples, and round trips on random stacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, strategies as st
from tests.fold_strategies import token_profiles, tokens_of

from whyflame.fold.flamegraph import FlameGraph, FlameGraphDiff, encode, encode_diff
from whyflame.fold.pair import pair_profiles

if TYPE_CHECKING:
    from whyflame.fold.profile import Profile


def decode(graph: FlameGraph) -> dict[tuple[str, ...], int]:
    """Self values by stack, with the invariants of the encoding checked on the way."""
    selfs: dict[tuple[str, ...], int] = {}
    above: list[tuple[tuple[str, ...], int, int]] = []  # stack, where its children may lie
    for depth, level in enumerate(graph.levels):
        nodes, end = [], 0
        for start in range(0, len(level), 4):
            distance, total, own, name = level[start : start + 4]
            assert distance >= 0
            assert total >= own >= 0
            begin, end = end + distance, end + distance + total
            [parent] = [s for s, low, high in above if low <= begin < high] if depth else [()]
            stack = (*parent, graph.names[name]) if depth else ()
            if depth and own:
                selfs[stack] = own
            nodes.append((stack, begin + own, end))
        above = nodes
    return selfs


def levels(graph: FlameGraph | FlameGraphDiff, size: int) -> list[list[object]]:
    return [
        [
            graph.names[value] if position % size == size - 1 else value
            for position, value in enumerate(level)
        ]
        for level in graph.levels
    ]


def test_the_tiny_example_of_the_contract() -> None:
    graph = encode(tokens_of({"agent;plan": 30, "agent;act": 20, "agent;act;tool": 50}))
    assert levels(graph, 4) == [
        [0, 100, 0, "total"],
        [0, 100, 0, "agent"],
        [0, 70, 20, "act", 0, 30, 30, "plan"],
        [20, 50, 50, "tool"],
    ]
    assert (graph.total, graph.max_self) == (100, 50)


def test_the_published_example_of_one_profile() -> None:
    graph = encode(tokens_of({"a;b;e": 1, "a;c": 2, "a;c;d": 1}))
    assert graph.names == ["total", "a", "c", "d", "b", "e"]
    assert levels(graph, 4) == [
        [0, 4, 0, "total"],
        [0, 4, 0, "a"],
        [0, 1, 0, "b", 0, 3, 2, "c"],
        [0, 1, 1, "e", 2, 1, 1, "d"],
    ]
    assert graph.max_self == 2


def test_the_published_example_of_a_difference() -> None:
    graph = encode_diff(tokens_of({"a;b": 1, "a;c": 2}), tokens_of({"a;b": 4, "a;c": 8}))
    assert graph.names == ["total", "a", "c", "b"]
    assert levels(graph, 7)[2] == [0, 1, 1, 0, 4, 4, "b", 0, 2, 2, 0, 8, 8, "c"]
    assert (graph.total, graph.left_ticks, graph.right_ticks) == (15, 3, 12)


def test_no_data_is_one_empty_root() -> None:
    assert encode(tokens_of({})) == FlameGraph(["total"], [[0, 0, 0, 0]], 0, 0)


def test_small_children_are_folded_into_a_last_leaf() -> None:
    wide = tokens_of({"a;x": 50, "a;b": 30, "a;c": 2, "a;d;e": 3, "z": 1})
    graph = encode(wide, max_nodes=3)
    assert levels(graph, 4) == [
        [0, 86, 0, "total"],
        [0, 85, 0, "a", 0, 1, 1, "other"],
        [0, 30, 30, "b", 0, 50, 50, "x", 0, 5, 5, "other"],
    ]
    assert encode(wide, max_nodes=7) == encode(wide)


@given(token_profiles)
def test_every_stack_comes_back(profile: Profile) -> None:
    graph = encode(profile)
    assert decode(graph) == {stack: values[0] for stack, _, values in profile.stacks()}
    assert graph.total == profile.total()


@given(token_profiles, st.integers(1, 20))
def test_folding_small_nodes_keeps_all_width(profile: Profile, max_nodes: int) -> None:
    graph = encode(profile, max_nodes=max_nodes)
    assert sum(decode(graph).values()) == profile.total()
    kept = [
        level[start + 1]
        for level in graph.levels[1:]
        for start in range(0, len(level), 4)
        if graph.names[level[start + 3]] != "other"
    ]
    # Nodes as small as the smallest kept one may be kept too; the larger ones fit the limit.
    assert sum(total > min(kept, default=0) for total in kept) < max_nodes or not kept


@given(token_profiles, token_profiles)
def test_both_sides_of_a_difference_come_back(left: Profile, right: Profile) -> None:
    graph = encode_diff(left, right)
    pair = pair_profiles(left, right)
    assert (graph.left_ticks, graph.right_ticks) == (left.total(), right.total())
    for side, column in enumerate(("base", "target")):
        total = sum(
            level[start + 3 * side + 2]
            for level in graph.levels
            for start in range(0, len(level), 7)
        )
        assert total == pair.total(column)
    shape = sum(len(level) // 7 for level in graph.levels)
    assert shape == 1 + len(
        {stack[:d] for stack, _, _ in pair.stacks() for d in range(1, len(stack) + 1)}
    )
