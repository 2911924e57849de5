"""Checks 55 to 77 of the contract: Pyroscope's query API, answered from the store.

Checks 72 to 74, of the older `/pyroscope/render`, are in `test_pyroscope_render.py`.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.serve.conftest import config, fleet
from tests.made import SECOND, T0
from tests.pprof_reader import read
from tests.query_server import (
    END_MS,
    NOW,
    RANGE,
    START_MS,
    TOKENS,
    QueryServer,
    levels_of,
    made,
    open_filled,
    serving,
    stacks_of,
)

from whyflame.config import AuthConfig, Config, HttpConfig, QueryConfig
from whyflame.serve.pyroscope.messages import message_class

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whyflame.model import Operation

ONLY_PATH = "only_path:tokens:count:agent:count"
SELECTION = {"profileTypeID": TOKENS, "labelSelector": "{}", **RANGE}
METHODS: dict[str, dict[str, Any]] = {
    "ProfileTypes": RANGE,
    "LabelNames": RANGE,
    "LabelValues": {"name": "agent", **RANGE},
    "Series": RANGE,
    "SelectMergeStacktraces": SELECTION,
    "SelectMergeSpanProfile": {**SELECTION, "spanSelector": ["0000000000000001"]},
    "SelectMergeProfile": SELECTION,
    "SelectSeries": {**SELECTION, "step": 15},
    "SelectHeatmap": {**SELECTION, "step": 15, "queryType": "HEATMAP_QUERY_TYPE_SPAN"},
    "Diff": {"left": SELECTION, "right": SELECTION},
}
METHOD = pytest.mark.parametrize("method", METHODS)


@contextmanager
def store_of(
    tmp_path: Path, operations: list[Operation], settings: Config | None = None
) -> Iterator[QueryServer]:
    store = open_filled(tmp_path / "w.duckdb", operations)
    with serving(store, settings or config()) as running:
        yield running
    store.close()


def error_of(server: QueryServer, method: str, **message: Any) -> tuple[int, str, str]:
    response = server.ask(method, message)
    body = response.json()
    assert set(body) == {"code", "message"}
    assert response.headers["content-type"] == "application/json"
    return response.status_code, body["code"], body["message"]


# --- 55: ProfileTypes -------------------------------------------------------------------------


def test_55_profile_types_list_every_hierarchy_and_measure(server: QueryServer) -> None:
    found = server.answer("ProfileTypes", **RANGE)["profileTypes"]
    ids = [item["ID"] for item in found]
    assert ids == sorted(ids)
    assert {TOKENS, ONLY_PATH, "by_task:cost:microusd:agent:count"} <= set(ids)
    assert "agent:duration:nanoseconds:agent:count" in ids
    assert "odd_name:cost:microusd:agent:count" in ids
    assert not any("reasoning" in name for name in ids), "nothing reported reasoning"
    assert found[ids.index(TOKENS)] == {
        "ID": TOKENS, "name": "agent", "sampleType": "tokens", "sampleUnit": "count",
        "periodType": "agent", "periodUnit": "count",
    }  # fmt: skip


def test_55_profile_types_without_range_look_at_the_last_hour(server: QueryServer) -> None:
    assert server.answer("ProfileTypes") == server.answer("ProfileTypes", **RANGE)


def test_55_profile_types_without_range_fall_back_to_everything(tmp_path: Path) -> None:
    """A store without work in the last hour still offers what can be asked."""
    with store_of(tmp_path, [made(1, 1, start_ns=T0 - 10**16, end_ns=T0 - 10**16)]) as old:
        assert old.answer("ProfileTypes")["profileTypes"]
        assert old.answer("ProfileTypes", **RANGE) == {}


def test_55_profile_types_of_an_empty_store(empty_server: QueryServer) -> None:
    assert empty_server.answer("ProfileTypes") == {}
    assert empty_server.answer("ProfileTypes", **RANGE) == {}


# --- 56: statuses -----------------------------------------------------------------------------


@METHOD
def test_56_a_good_request_is_answered_in_both_codecs(server: QueryServer, method: str) -> None:
    assert server.ask(method, METHODS[method]).headers["content-type"] == "application/json"
    request = message_class(f"{method}Request")()
    from google.protobuf import json_format

    json_format.ParseDict(METHODS[method], request)
    answer = server.call(method, request.SerializeToString(), "application/proto")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/proto"


@METHOD
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"start":"abc"}', b"\xff", b'{"left":3}'])
def test_56_bad_json_is_refused(server: QueryServer, method: str, body: bytes) -> None:
    if body == b'{"left":3}' and method != "Diff":
        return
    if body == b'{"start":"abc"}' and method == "Diff":
        body = b'{"left":{"start":"abc"}}'
    answer = server.call(method, body, "application/json")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_argument")


@METHOD
def test_56_a_start_after_the_end_is_refused(server: QueryServer, method: str) -> None:
    message = {**METHODS[method], "start": END_MS + 1, "end": END_MS}
    if method == "Diff":
        message = {"left": {**SELECTION, "start": END_MS + 1}, "right": SELECTION}
    assert error_of(server, method, **message)[:2] == (400, "invalid_argument")


@METHOD
@pytest.mark.parametrize("verb", ["GET", "PUT", "DELETE", "PATCH"])
def test_56_other_verbs_are_refused(server: QueryServer, method: str, verb: str) -> None:
    answer = server.http.request(verb, f"/querier.v1.QuerierService/{method}")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"


@METHOD
def test_56_other_content_types_are_refused(server: QueryServer, method: str) -> None:
    assert server.call(method, b"{}", "text/plain").status_code == 415
    assert server.call(method, b"{}", "application/grpc").status_code == 415


# --- 57 to 59: labels ---------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["LabelNames", "LabelValues", "Series"])
def test_57_labels_need_a_range_and_good_matchers(server: QueryServer, method: str) -> None:
    name = {"name": "agent"} if method == "LabelValues" else {}
    assert error_of(server, method, **name)[:2] == (400, "invalid_argument")
    for matcher in ("{", "{agent}", '{agent="x"', '{agent=~"("}', "{agent=x}"):
        status, code, _ = error_of(server, method, **name, **RANGE, matchers=[matcher])
        assert (status, code) == (400, "invalid_argument"), matcher
    if method == "LabelValues":
        assert error_of(server, method, **RANGE)[:2] == (400, "invalid_argument")


def test_58_label_names_of_one_type(server: QueryServer) -> None:
    matcher = '{__profile_type__="agent:cost:microusd:agent:count"}'
    names = server.answer("LabelNames", **RANGE, matchers=[matcher])["names"]
    assert names == sorted(names)
    assert {"agent", "service_name", "session", "stack_by", "__profile_type__"} <= set(names)
    assert "tool" not in names, "no tool call has a cost"
    assert "tool" in server.answer("LabelNames", **RANGE)["names"]


def test_58_label_values(server: QueryServer) -> None:
    def values(name: str, *matchers: str) -> list[str]:
        found = server.answer("LabelValues", name=name, **RANGE, matchers=list(matchers))
        return found.get("names", [])

    assert values("agent") == ["coder", "planner"]
    assert values("agent", '{service_name="web"}') == ["coder"]
    assert values("session", '{agent="planner"}') == ["s1"]
    assert values("task", '{agent="coder"}') == ["fix tests", "write code"]
    assert "by_task" in values("__name__")
    assert TOKENS in values("__profile_type__", "{}")
    assert "agent,path,leaf" in values("stack_by")
    assert values("no_such_label") == []


def test_59_series_are_distinct_pairs(server: QueryServer) -> None:
    wanted = ["service_name", "__profile_type__"]
    for matchers in ([], ["{}"]):
        found = server.answer("Series", **RANGE, labelNames=wanted, matchers=matchers)["labelsSet"]
        pairs = [tuple(label["value"] for label in item["labels"]) for item in found]
        assert len(set(pairs)) == len(pairs)
        assert {label["name"] for item in found for label in item["labels"]} == set(wanted)
        assert {service for _, service in pairs} == {"svc", "web"}
        assert (TOKENS, "web") in pairs
        assert ("agent:cost:microusd:agent:count", "web") not in pairs, "web reported no cost"


# --- 60 to 66: stack traces ---------------------------------------------------------------------


def test_60_integers_are_strings_in_json(server: QueryServer) -> None:
    graph = server.graph()
    assert graph["names"][0] == "total"
    assert graph["levels"][0]["values"] == ["0", "100", "0", "0"]
    assert graph["total"] == "100"


def test_61_levels_are_coded_as_in_the_contract(tmp_path: Path) -> None:
    stacks = [("a;b;e", 1), ("a;c", 2), ("a;c;d", 1)]
    operations = [made(1, number, path, value) for number, (path, value) in enumerate(stacks)]
    with store_of(tmp_path, operations) as running:
        graph = running.graph(ONLY_PATH)
    levels, names = levels_of(graph), graph["names"]
    assert [level[:3] for level in levels[:2]] == [[0, 4, 0], [0, 4, 0]]
    assert levels[2][0:3] + levels[2][4:7] == [0, 1, 0, 0, 3, 2]
    assert levels[3][0:3] + levels[3][4:7] == [0, 1, 1, 2, 1, 1]
    assert [names[level[3]] for level in levels] == ["total", "a", "b", "e"]
    assert graph["maxSelf"] == "2"


def test_62_small_frames_are_summed_up_last(tmp_path: Path) -> None:
    operations = [made(1, n, f"a;wide {n}", 10 + n) for n in range(8)]
    with store_of(tmp_path, operations) as running:
        graph = running.graph(ONLY_PATH, maxNodes=2)
        assert [graph["names"][i] for i in levels_of(graph)[2][3::4]][-1] == "other"
        assert graph["total"] == running.graph(ONLY_PATH)["total"]


def test_62_a_frame_called_other_keeps_its_children(tmp_path: Path) -> None:
    with store_of(tmp_path, [made(1, 1, "other;work", 5)]) as running:
        assert stacks_of(running.graph(ONLY_PATH)) == {"other (task);work": 5}


def test_63_max_nodes_is_bounded(server: QueryServer) -> None:
    for wrong in (-1, 1_048_577):
        assert error_of(server, "SelectMergeStacktraces", **SELECTION, maxNodes=wrong)[0] == 400
    assert server.graph(maxNodes=0) == server.graph()
    assert server.graph(maxNodes="1048576") == server.graph()


@pytest.mark.parametrize(
    "type_id", [TOKENS, "process_cpu:cpu:nanoseconds:cpu:nanoseconds", "agent:nothing:count:agent:count"]
)  # fmt: skip
def test_64_no_data_is_an_empty_graph(empty_server: QueryServer, type_id: str) -> None:
    graph = empty_server.graph(type_id)
    assert graph == {"names": ["total"], "levels": [{"values": ["0", "0", "0", "0"]}]}


def test_65_type_and_selector_are_needed(server: QueryServer) -> None:
    for change in (
        {"profileTypeID": ""},
        {"profileTypeID": "a:b:c"},
        {"profileTypeID": "a:b:c:d:e:f:g"},
        {"labelSelector": ""},
        {"labelSelector": '{agent=~"("}'},
    ):
        assert error_of(server, "SelectMergeStacktraces", **{**SELECTION, **change})[0] == 400
    assert server.graph(TOKENS + ":delta") == server.graph(TOKENS)


def test_66_no_limit_of_time_by_default_and_one_when_configured(tmp_path: Path) -> None:
    week = 7 * 86_400_000
    long = {**SELECTION, "start": START_MS - 4 * week}
    with store_of(tmp_path, [made(1, 1)]) as running:
        assert running.ask("SelectMergeStacktraces", long).status_code == 200
    limited = Config(query=QueryConfig(max_length=86_400.0, max_lookback=7 * 86_400.0))
    (tmp_path / "limited").mkdir()
    with store_of(tmp_path / "limited", [made(1, 1)], limited) as running:
        status, code, text = error_of(running, "SelectMergeStacktraces", **long)
        assert (status, code) == (400, "invalid_argument")
        assert "query time range exceeds the limit" in text
        old = {"start": START_MS - 3 * week, "end": START_MS - 3 * week + 1000}
        assert "total" not in running.graph(**old), "older than the look-back: empty"
        clamped = {"start": END_MS - week - 3_600_000, "end": END_MS - week + 3_600_000}
        assert "total" not in running.graph(**clamped)


# --- 67: spans ----------------------------------------------------------------------------------


def span_graph(server: QueryServer, *spans: str, **more: Any) -> dict[str, int]:
    message = {**SELECTION, "spanSelector": list(spans), **more}
    return stacks_of(server.answer("SelectMergeSpanProfile", **message)["flamegraph"])


def test_67_a_span_shows_itself_and_all_below(server: QueryServer) -> None:
    whole = {"planner;plan work;call gpt-5": 30, "coder;plan work;write code;call haiku": 50}
    assert span_graph(server, "0000000000000001") == whole
    assert span_graph(server, "0000000000000004") == {"coder;plan work;write code;call haiku": 50}
    assert span_graph(server, "0000000000000002", "0000000000000005") == whole
    assert span_graph(server, "00000000000000aa") == {}
    newer = server.graph(spanSelector=["0000000000000004"])
    assert stacks_of(newer) == span_graph(server, "0000000000000004")


def test_67_a_tight_range_still_shows_the_whole_span(server: QueryServer) -> None:
    """Grafana asks from 30 s before the span to 30 s after it; work below may end later."""
    tight = {"start": START_MS + 1_500, "end": START_MS + 1_600}
    assert sum(span_graph(server, "0000000000000001", **tight).values()) == 80


def test_67_a_selector_that_is_no_id_says_what_to_do(server: QueryServer) -> None:
    for wrong in ("000000000000001", "000000000000000G", '${__span.tags["pyroscope.profile.id"]}'):
        message = {**SELECTION, "spanSelector": [wrong]}
        status, code, text = error_of(server, "SelectMergeSpanProfile", **message)
        assert (status, code) == (400, "invalid_argument")
        assert "16" in text
    assert "pyroscope.profile.id" in text


def test_67_span_and_trace_together_are_refused(server: QueryServer) -> None:
    both = {"spanSelector": ["0000000000000001"], "traceIdSelector": ["0" * 31 + "1"]}
    assert error_of(server, "SelectMergeStacktraces", **SELECTION, **both)[0] == 400
    assert error_of(server, "SelectMergeStacktraces", **SELECTION, traceIdSelector=["1"])[0] == 400
    one = server.graph(traceIdSelector=["0" * 31 + "2"])
    assert stacks_of(one) == {"coder;fix tests;call gpt-5": 20}


# --- 68, 69: series -----------------------------------------------------------------------------


def points_of(series: dict[str, Any]) -> list[tuple[int, float]]:
    return [(int(point["timestamp"]) - START_MS, point["value"]) for point in series["points"]]


def test_68_points_belong_to_the_first_edge_after_them(tmp_path: Path) -> None:
    ends = [(-16, 1000), (-14, 500), (1, 3), (14, 4), (15, 5), (46, 7), (601, 900)]
    operations = [
        made(1, number, tokens=value, end_ns=T0 + second * SECOND, start_ns=T0 - 100 * SECOND)
        for number, (second, value) in enumerate(ends)
    ]
    with store_of(tmp_path, operations) as running:
        (series,) = running.answer("SelectSeries", **SELECTION, step=15)["series"]
        assert points_of(series) == [(0, 500), (15_000, 12), (60_000, 7)]
        assert "labels" not in series
        assert error_of(running, "SelectSeries", **SELECTION, step=0)[0] == 400
        assert error_of(running, "SelectSeries", **SELECTION, step=0.0001)[0] == 400


def test_69_series_by_label_are_sorted_and_cut(server: QueryServer) -> None:
    message = {**SELECTION, "step": 600, "groupBy": ["model"]}
    found = server.answer("SelectSeries", **message)["series"]
    names = [series["labels"][0]["value"] for series in found]
    assert names == ["gpt-5", "haiku"]
    assert [sum(value for _, value in points_of(series)) for series in found] == [50, 50]
    (top,) = server.answer("SelectSeries", **message, limit=1)["series"]
    assert top == found[0]
    by_agent = server.answer("SelectSeries", **{**message, "groupBy": ["agent"]})["series"]
    assert [series["labels"] for series in by_agent] == [
        [{"name": "agent", "value": "coder"}],
        [{"name": "agent", "value": "planner"}],
    ]


def test_69_money_is_exact_in_series(server: QueryServer) -> None:
    message = {**SELECTION, "profileTypeID": "agent:cost:microusd:agent:count", "step": 600}
    (series,) = server.answer("SelectSeries", **message)["series"]
    assert points_of(series) == [(600_000, 2.2)]


# --- 70, 71: difference, pprof ------------------------------------------------------------------


def test_70_the_difference_of_two_selections(tmp_path: Path) -> None:
    left = [made(1, 1, "a;b", 1), made(1, 2, "a;c", 2)]
    right = [made(2, 3, "a;b", 4, service="web"), made(2, 4, "a;c", 8, service="web")]
    side = {**SELECTION, "profileTypeID": ONLY_PATH}
    with store_of(tmp_path, left + right) as running:
        graph = running.answer(
            "Diff",
            left={**side, "labelSelector": '{service_name="svc"}'},
            right={**side, "labelSelector": '{service_name="web"}'},
        )["flamegraph"]
        assert graph["names"] == ["total", "a", "c", "b"]
        assert levels_of(graph)[2] == [0, 1, 1, 0, 4, 4, 3, 0, 2, 2, 0, 8, 8, 2]
        assert [graph[key] for key in ("total", "leftTicks", "rightTicks")] == ["15", "3", "12"]
        for one in ({"left": side}, {"right": side}, {}):
            assert error_of(running, "Diff", **one)[0] == 400
        other = {**side, "profileTypeID": "agent:duration:nanoseconds:agent:count"}
        assert error_of(running, "Diff", left=side, right=other)[0] == 400


def test_71_a_merged_profile_is_a_pprof_message(server: QueryServer) -> None:
    request = message_class("SelectMergeProfileRequest")(
        profile_typeID="agent:cost:microusd:agent:count", label_selector="{}", **RANGE
    )
    answer = server.call("SelectMergeProfile", request.SerializeToString(), "application/proto")
    file = read(answer.content)
    assert file.sample_types == [("cost", "microusd")]
    assert file.period_type == ("agent", "count")
    assert file.total("cost") == 2, "2,200 nano-USD are 2 micro-USD in all"
    as_json = server.answer("SelectMergeProfile", **SELECTION)
    assert sum(int(sample["value"][0]) for sample in as_json["sample"]) == 100


# --- 75 to 77: state, tenants, edges ------------------------------------------------------------


def test_75_stats_and_analysis(server: QueryServer, empty_server: QueryServer) -> None:
    assert empty_server.answer("GetProfileStats") == {}
    assert server.answer("GetProfileStats") == {
        "dataIngested": True,
        "oldestProfileTime": str((T0 + 2 * SECOND) // 1_000_000),
        "newestProfileTime": str((T0 + 12 * SECOND) // 1_000_000),
    }
    assert server.answer("AnalyzeQuery", **RANGE, query=TOKENS) == {}


@METHOD
def test_76_tenants_see_their_own_only(tmp_path: Path, method: str) -> None:
    settings = replace(config(), http=HttpConfig(auth=AuthConfig(tenant_header="X-Scope-OrgID")))
    with store_of(tmp_path, fleet(), settings) as running:
        missing = running.ask(method, METHODS[method])
        assert missing.status_code == 401
        assert missing.json() == {"code": "unauthenticated", "message": "no org id"}
        wrong = running.ask(method, METHODS[method], **{"X-Scope-OrgID": "a/b"})
        assert wrong.json() == missing.json()
        nobody = running.ask(method, METHODS[method], **{"X-Scope-OrgID": "team-a"})
        theirs = running.ask(method, METHODS[method], **{"X-Scope-OrgID": "team-b"})
        assert "planner" not in nobody.text
        assert "planner" not in theirs.text
        assert "hidden" not in nobody.text
        assert "secret" not in nobody.text
        if method == "SelectMergeStacktraces":
            assert stacks_of(theirs.json()["flamegraph"]) == {"coder;secret work;call gpt-5": 7}


def test_76_without_tenancy_the_header_is_ignored(server: QueryServer) -> None:
    message = {**SELECTION}
    plain = server.ask("SelectMergeStacktraces", message)
    named = server.ask("SelectMergeStacktraces", message, **{"X-Scope-OrgID": "team-b"})
    assert named.json() == plain.json()
    assert "secret" not in plain.text


def test_77_both_ends_of_the_range_are_included(tmp_path: Path) -> None:
    end_ns = (NOW // 1_000_000) * 1_000_000
    start_ns = (T0 // 1_000_000) * 1_000_000
    operations = [
        made(1, 1, "at the end", 1, end_ns=end_ns),
        made(1, 2, "after it", 2, end_ns=end_ns + 1_000_000),
        made(1, 3, "at the start", 4, start_ns=start_ns - 5, end_ns=start_ns),
        made(1, 4, "before it", 8, start_ns=start_ns - 5, end_ns=start_ns - 1),
    ]
    with store_of(tmp_path, operations) as running:
        assert stacks_of(running.graph(ONLY_PATH)) == {"at the end": 1, "at the start": 4}
