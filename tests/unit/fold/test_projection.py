"""Projections, views and measures: what can be asked."""

from __future__ import annotations

import pytest

from whyflame.config import Config, ViewConfig
from whyflame.errors import UsageError
from whyflame.fields import FIELDS
from whyflame.fold.measures import DEFAULT_MEASURES, MEASURE_BY_NAME, find_measure
from whyflame.fold.projection import compile_query, make_projection
from whyflame.fold.views import BUILT_IN_VIEWS, FILE_LABELS, view_projection
from whyflame.model import MEASURES


@pytest.mark.parametrize(
    ("stack", "options", "part"),
    [
        ([], {}, "at least one field"),
        (["agent", "pth"], {}, "did you mean 'path'?"),
        (["agent", "agent"], {}, "stands twice"),
        (["agent"], {"measure": "token"}, "did you mean 'tokens'?"),
        (["agent"], {"labels": ["path"]}, "not labels"),
        (["agent"], {"labels": ["model", "model"]}, "stands twice in the labels"),
        (["agent"], {"where": ["nope=1"]}, "unknown field 'nope'"),
    ],
)
def test_mistakes_are_named(stack: list[str], options: dict[str, object], part: str) -> None:
    with pytest.raises(UsageError) as caught:
        make_projection(stack, **options)  # type: ignore[arg-type]
    assert part in str(caught.value)


def test_every_field_of_the_contract_can_be_a_frame() -> None:
    for field in FIELDS:
        assert compile_query(make_projection([field])).frames[0].field == field


def test_the_usual_measures_come_in_order_and_the_asked_one_after() -> None:
    assert make_projection(["agent"]).measures == DEFAULT_MEASURES
    asked = make_projection(["agent"], measure="errors")
    assert asked.measures == (*DEFAULT_MEASURES, "errors")
    assert asked.default == "errors"


def test_measures_are_sums_of_the_models_columns_with_names_that_pyroscope_takes() -> None:
    for name, measure in MEASURE_BY_NAME.items():
        assert set(measure.columns) <= set(MEASURES)
        assert set(name) <= set("abcdefghijklmnopqrstuvwxyz_")
        assert find_measure(name) is measure


def test_views_are_those_of_the_contract() -> None:
    assert list(BUILT_IN_VIEWS) == [
        "tokens", "cost", "time", "operations", "errors", "files", "network"
    ]  # fmt: skip
    assert view_projection("time", Config()).default == "duration"
    assert view_projection("errors", Config()).stack == ("agent", "path", "leaf", "error_type")
    assert view_projection("files", Config()).stack == ("agent", "path", "path_group", "effect")
    assert view_projection("network", Config()).stack == ("agent", "path", "domain")


def test_configuration_adds_and_overrides_views() -> None:
    config = Config(
        fields={"team": "resource.team"},
        views={
            "tokens": ViewConfig(stack=["team", "task"], measure="cost"),
            "own": ViewConfig(stack=["team"], where=["team!="]),
        },
    )
    assert view_projection("tokens", config).stack == ("team", "task")
    assert view_projection("tokens", config, measure="tokens", stack=["agent"]).default == "tokens"
    assert len(view_projection("own", config, where=["agent=a"]).where) == 2
    with pytest.raises(UsageError, match="did you mean 'own'"):
        view_projection("owm", config)


def test_file_labels_are_few_and_valid() -> None:
    projection = view_projection("tokens", Config(), labels=FILE_LABELS)
    assert [column.field for column in compile_query(projection).labels] == list(FILE_LABELS)


def test_a_field_that_is_frame_and_label_is_grouped_by_once() -> None:
    query = compile_query(make_projection(["agent", "path"], labels=["model", "agent"]))
    assert query.sql.count("agent AS") == 1
    assert [column.field for column in (*query.frames, *query.labels)] == [
        "agent", "path", "model", "agent",
    ]  # fmt: skip
    assert all(f" AS c{position}" in query.sql for position in range(4))
