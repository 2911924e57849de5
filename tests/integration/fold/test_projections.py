"""Projections, run by DuckDB over the store's own tables."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from tests.integration.fold.scripted import CaseStore, blocks, folded_lines, projection_of

from whyflame.config import Config
from whyflame.errors import UsageError
from whyflame.fold.measures import MEASURE_BY_NAME
from whyflame.fold.projection import compile_filter, make_projection
from whyflame.fold.views import BUILT_IN_VIEWS, view_projection

CASES = sorted((Path(__file__).parent / "cases").glob("*.test"))


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_scripted_cases(case: Path) -> None:
    store: CaseStore | None = None
    for block in blocks(case.read_text(encoding="utf-8")):
        where = f"{case.name}:{block.number}"
        if block.verb == "load":
            store = CaseStore(duckdb.connect())
            store.load(block.lines)
        elif block.verb == "fold":
            assert store is not None, where
            assert folded_lines(store.fold(projection_of(block))) == block.lines, where
        else:
            assert block.verb == "fail", where
            with pytest.raises(UsageError) as caught:
                projection_of(block)
            assert block.lines[0] in str(caught.value), where


STORY = """
agent=coder path=fix_login leaf=call_gpt-5 kind=llm status=ok input_uncached=10 self_ns=5
agent=coder path=fix_login leaf=run_bash kind=tool status=error error_type=Timeout errors=1 self_ns=7
agent=coder path=fix_login leaf=run_edit kind=tool path_group=src effect=write
agent=coder path=read_news leaf=run_fetch kind=tool domain=example.org effect=network
agent=coder kind=agent operations=0 status=error self_ns=100
"""


@pytest.fixture
def store() -> CaseStore:
    filled = CaseStore(duckdb.connect())
    filled.load(line for line in STORY.splitlines() if line)
    return filled


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        ("tokens", ["coder;fix login;call gpt-5 10"]),
        ("cost", []),
        ("time", ["coder 100", "coder;fix login;call gpt-5 5", "coder;fix login;run bash 7"]),
        (
            "operations",
            [
                "coder;fix login;call gpt-5 1",
                "coder;fix login;run bash 1",
                "coder;fix login;run edit 1",
                "coder;read news;run fetch 1",
            ],
        ),
        ("errors", ["coder;fix login;run bash;Timeout 1"]),
        ("files", ["coder;fix login;src;write 1"]),
        ("network", ["coder;read news;example.org 1"]),
    ],
)
def test_every_view_answers_its_question(store: CaseStore, view: str, expected: list[str]) -> None:
    assert set(BUILT_IN_VIEWS) >= {view}
    assert folded_lines(store.fold(view_projection(view, Config()))) == expected


@pytest.mark.parametrize("name", list(MEASURE_BY_NAME))
def test_totals_equal_the_sums_of_the_table(store: CaseStore, name: str) -> None:
    profile = store.fold(make_projection(["agent", "leaf"], measure=name))
    measure = MEASURE_BY_NAME[name]
    row = store.connection.execute(
        f"SELECT coalesce(sum({measure.expression}), 0), {measure.sum_expression}, "
        f"{measure.nullable_sum_expression} FROM operations"
    ).fetchone()
    assert row is not None
    assert profile.total(name) == row[0] == row[1] == (row[2] or 0)


def test_a_measure_that_nobody_reported_is_unknown(store: CaseStore) -> None:
    measure = MEASURE_BY_NAME["cost"]
    query = f"SELECT {measure.nullable_sum_expression}, {measure.sum_expression} FROM operations"
    assert store.connection.execute(query).fetchone() == (None, 0)


def test_a_sum_past_64_bits_is_an_error_and_never_a_wrong_number(store: CaseStore) -> None:
    store.load(["agent=x input_uncached=9000000000000000000"] * 2)
    with pytest.raises(duckdb.Error):
        store.fold(make_projection(["agent"]))


def test_only_the_newest_generation_counts(store: CaseStore) -> None:
    store.connection.execute("INSERT INTO generations VALUES (1, 2, 0, 0)")
    assert folded_lines(store.fold(make_projection(["agent"]))) == []


def test_labels_tell_samples_of_one_stack_apart(store: CaseStore) -> None:
    profile = store.fold(make_projection(["agent"], measure="operations", labels=["kind", "leaf"]))
    found = {labels: values[0] for _, labels, values in profile.stacks() if values[0]}
    assert found[(("kind", "llm"), ("leaf", "call gpt-5"))] == 1
    assert len(found) == 4


def test_the_filter_alone_serves_other_questions(store: CaseStore) -> None:
    condition = compile_filter(make_projection(["agent"], where=["kind=tool"]))
    row = store.connection.execute(
        f"SELECT count(*) FROM operations{condition.sql}", condition.params
    ).fetchone()
    assert row == (3,)
