"""Exemplars and heat maps: single traces behind the points of a series, and how they are spread."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings, strategies as st
from tests.integration.serve.conftest import config, span_id
from tests.made import SECOND, T0
from tests.query_server import (
    END_MS,
    RANGE,
    START_MS,
    TOKENS,
    QueryServer,
    made,
    open_filled,
    serving,
    stacks_of,
)

if TYPE_CHECKING:
    from pathlib import Path

SELECTION = {"profileTypeID": TOKENS, "labelSelector": "{}", **RANGE}
COST = "agent:cost:microusd:agent:count"
INDIVIDUAL, SPAN = "EXEMPLAR_TYPE_INDIVIDUAL", "EXEMPLAR_TYPE_SPAN"
HEATMAP = {**SELECTION, "step": 10, "queryType": "HEATMAP_QUERY_TYPE_SPAN"}
PROFILE_1 = "00000000-0000-0000-0000-000000000001"
PROFILE_2 = "00000000-0000-0000-0000-000000000002"


def labels_of(one: dict[str, Any]) -> dict[str, str]:
    return {label["name"]: label["value"] for label in one.get("labels", [])}


def exemplars_of(series: dict[str, Any]) -> list[dict[str, Any]]:
    points = series.get("points") or series.get("slots")
    return [found for point in points for found in point.get("exemplars", [])]


def test_a_point_names_the_trace_that_added_most(server: QueryServer) -> None:
    message = {**SELECTION, "step": 600, "exemplarType": INDIVIDUAL}
    (series,) = server.answer("SelectSeries", **message)["series"]
    (exemplar,) = exemplars_of(series)
    assert exemplar.pop("labels")
    assert exemplar == {
        "profileId": PROFILE_1,
        "spanId": span_id(1).hex(),
        "traceId": "0" * 31 + "1",
        "value": "80",
        "timestamp": str((T0 + 6 * SECOND) // 1_000_000),
    }


def test_an_exemplar_says_whose_work_it_is(server: QueryServer) -> None:
    message = {**SELECTION, "step": 600, "groupBy": ["service_name"], "exemplarType": INDIVIDUAL}
    found = server.answer("SelectSeries", **message)["series"]
    told = {labels_of(series)["service_name"]: exemplars_of(series) for series in found}
    assert {name: [int(one["value"]) for one in all_] for name, all_ in told.items()} == {
        "svc": [80],
        "web": [20],
    }
    labels = labels_of(told["web"][0])
    assert labels["session"] == "s2"
    assert labels["outcome"] == "completed"
    assert "service_name" not in labels, "the series has it already"


@pytest.mark.parametrize("kind", [None, "EXEMPLAR_TYPE_NONE", "EXEMPLAR_TYPE_UNSPECIFIED"])
def test_exemplars_come_only_when_asked_for(server: QueryServer, kind: str | None) -> None:
    message = {**SELECTION, "step": 600, **({"exemplarType": kind} if kind else {})}
    (series,) = server.answer("SelectSeries", **message)["series"]
    assert not exemplars_of(series)


def test_the_id_of_an_exemplar_opens_its_flame_graph(server: QueryServer) -> None:
    graph = server.graph(profileIdSelector=[PROFILE_2])
    assert stacks_of(graph) == {"coder;fix tests;call gpt-5": 20}
    assert graph["total"] == "20"
    both = server.graph(profileIdSelector=[PROFILE_1, PROFILE_2.upper()])
    assert both["total"] == "100"
    message = {**SELECTION, "profileIdSelector": [PROFILE_2]}
    pprof = server.answer("SelectMergeProfile", **message)
    assert sum(int(sample["value"][0]) for sample in pprof["sample"]) == 20


def test_an_unknown_profile_is_empty_and_a_wrong_id_refused(server: QueryServer) -> None:
    unknown = "7f9c2ba4-e88f-427d-ac12-3c5a8f1b7e55"
    assert "total" not in server.graph(profileIdSelector=[unknown])
    for wrong in ("", "x", "${__value.raw}", PROFILE_1 + "0"):
        answer = server.ask("SelectMergeStacktraces", {**SELECTION, "profileIdSelector": [wrong]})
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_argument"), wrong


def test_a_heat_map_counts_traces_by_end_and_value(server: QueryServer) -> None:
    (series,) = server.answer("SelectHeatmap", **HEATMAP, exemplarType=SPAN)["series"]
    slots = {int(slot["timestamp"]) - START_MS: slot for slot in series["slots"]}
    assert list(slots) == [10_000, 20_000], "right edges; a trace counts where it ends"
    bounds = slots[10_000]["yMin"]
    assert bounds == [20 + 3 * number for number in range(20)], "20 of one width, from 20 to 80"
    assert all(slot["yMin"] == bounds for slot in slots.values())
    counts = {at: slot["counts"] for at, slot in slots.items()}
    assert counts == {10_000: [0] * 19 + [1], 20_000: [1] + [0] * 19}
    first, second = exemplars_of(series)
    assert (first["spanId"], first["value"], first["traceId"]) == (
        span_id(1).hex(),
        "80",
        "0" * 31 + "1",
    )
    assert labels_of(first)["agent"] == "planner"
    assert second["spanId"] == span_id(10).hex(), "a trace without agent span: its first span"
    assert "profileId" not in first, "as Pyroscope has it"


def test_the_span_of_a_heat_map_opens_the_whole_trace(server: QueryServer) -> None:
    (series,) = server.answer("SelectHeatmap", **HEATMAP, exemplarType=SPAN)["series"]
    first = exemplars_of(series)[0]
    message = {**SELECTION, "spanSelector": [first["spanId"]]}
    graph = server.answer("SelectMergeSpanProfile", **message)["flamegraph"]
    assert graph["total"] == first["value"]


def test_a_heat_map_of_profiles_by_label(server: QueryServer) -> None:
    message = {**HEATMAP, "queryType": "HEATMAP_QUERY_TYPE_INDIVIDUAL", "groupBy": ["model"]}
    found = server.answer("SelectHeatmap", **message, exemplarType=INDIVIDUAL)["series"]
    values = [
        (labels_of(series)["model"], [int(one["value"]) for one in exemplars_of(series)])
        for series in found
    ]
    assert values == [("gpt-5", [30, 20]), ("haiku", [50])], "by sum, then by name"
    assert exemplars_of(found[1])[0]["profileId"] == PROFILE_1
    (only,) = server.answer("SelectHeatmap", **message, limit=1)["series"]
    assert labels_of(only) == {"model": "gpt-5"}
    assert not exemplars_of(only)


def test_a_heat_map_of_money_is_in_the_unit_of_the_type(server: QueryServer) -> None:
    message = {**HEATMAP, "profileTypeID": COST}
    (series,) = server.answer("SelectHeatmap", **message, exemplarType=SPAN)["series"]
    (exemplar,) = exemplars_of(series)
    assert exemplar["value"] == "2", "2,200 nano-USD"
    assert series["slots"][0]["yMin"][0] == 2.2


@pytest.mark.parametrize(
    "change",
    [
        {"queryType": "HEATMAP_QUERY_TYPE_UNSPECIFIED"},
        {"exemplarType": INDIVIDUAL},
        {"queryType": "HEATMAP_QUERY_TYPE_INDIVIDUAL", "exemplarType": SPAN},
        {"step": 0},
        {"step": 0.0001},
        {"limit": -1},
        {"start": END_MS, "end": START_MS},
        {"profileTypeID": "a:b"},
        {"labelSelector": ""},
    ],
)
def test_a_wrong_heat_map_is_refused(server: QueryServer, change: dict[str, Any]) -> None:
    answer = server.ask("SelectHeatmap", {**HEATMAP, **change})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_argument")


def test_nothing_is_an_empty_heat_map(server: QueryServer, empty_server: QueryServer) -> None:
    assert empty_server.answer("SelectHeatmap", **HEATMAP) == {}
    assert server.answer("SelectHeatmap", **{**HEATMAP, "labelSelector": '{agent="no"}'}) == {}
    message = {**SELECTION, "step": 15, "exemplarType": INDIVIDUAL}
    assert empty_server.answer("SelectSeries", **message) == {}


def test_heat_maps_and_exemplars_keep_to_the_tenant(server: QueryServer) -> None:
    text = server.ask("SelectHeatmap", {**HEATMAP, "exemplarType": SPAN}).text
    message = {**SELECTION, "step": 600, "exemplarType": INDIVIDUAL}
    text += server.ask("SelectSeries", message).text
    assert "hidden" not in text
    assert "s3" not in text


def test_of_very_many_the_largest_are_named(
    server: QueryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whyflame.serve.pyroscope.exemplars.MAX_EXEMPLARS", 1)
    (series,) = server.answer("SelectHeatmap", **HEATMAP, exemplarType=SPAN)["series"]
    assert [one["value"] for one in exemplars_of(series)] == ["80"]
    assert sum(sum(slot["counts"]) for slot in series["slots"]) == 2


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    calls=st.lists(
        st.tuples(st.integers(1, 6), st.integers(0, 599), st.integers(1, 10**15)), min_size=1
    ),
    step=st.sampled_from([1, 7, 60, 601]),
)
def test_heat_maps_count_every_trace_once(
    tmp_path_factory: pytest.TempPathFactory, calls: list[tuple[int, int, int]], step: int
) -> None:
    """Counts add up to the traces, every value lies in its bucket, exemplars to the largest."""
    operations = [
        made(trace, n, tokens=tokens, start_ns=T0, end_ns=T0 + second * SECOND)
        for n, (trace, second, tokens) in enumerate(calls)
    ]
    totals: dict[int, int] = {}
    for trace, _, tokens in calls:
        totals[trace] = totals.get(trace, 0) + tokens
    store = open_filled(tmp_path_factory.mktemp("heat") / "w.duckdb", operations)
    with serving(store, config()) as running:
        message = {**HEATMAP, "step": step, "exemplarType": SPAN}
        (series,) = running.answer("SelectHeatmap", **message)["series"]
    store.close()
    assert sum(sum(slot["counts"]) for slot in series["slots"]) == len(totals)
    for slot in series["slots"]:
        bounds = [*slot["yMin"], float("inf")]
        widths = [after - before for before, after in pairwise(slot["yMin"])]
        assert max(widths) - min(widths) <= max(widths) * 1e-6, "Grafana takes it from two"
        cells = [number for number, count in enumerate(slot["counts"]) if count]
        assert len(slot["exemplars"]) == len(cells)
        for number, exemplar in zip(cells, slot["exemplars"], strict=True):
            value = int(exemplar["value"])
            assert value in totals.values()
            assert bounds[number] <= value + 1, "floats of large integers"
            assert value - 1 <= bounds[number + 1]


@pytest.fixture(scope="module")
def long_trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("long")


def test_a_trace_over_many_steps_is_named_with_what_it_added(long_trace: Path) -> None:
    """An exemplar never lies above the point that it explains."""
    operations = [made(1, n, tokens=100 + n) for n in range(40)] + [made(2, 3, tokens=500)]
    store = open_filled(long_trace / "w.duckdb", operations)
    with serving(store, config()) as running:
        message = {**SELECTION, "step": 15, "exemplarType": INDIVIDUAL}
        (series,) = running.answer("SelectSeries", **message)["series"]
    store.close()
    found = [(point["value"], point["exemplars"][0]) for point in series["points"]]
    assert found[0][1]["profileId"] == PROFILE_1
    assert len(found) == 3
    for value, exemplar in found:
        assert 0 < int(exemplar["value"]) <= value
    assert sum(value for value, _ in found) == sum(100 + n for n in range(40)) + 500
