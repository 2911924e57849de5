"""Checks 72 to 74 of the contract: the older `/pyroscope/render*`, answered from the store."""

from __future__ import annotations

from tests.query_server import END_MS, START_MS, TOKENS, QueryServer

BETWEEN = {"from": str(START_MS), "until": str(END_MS)}


def test_72_render_is_a_flamebearer(server: QueryServer) -> None:
    wanted = {"query": TOKENS + '{agent="coder"}', **BETWEEN}
    found = server.http.get("/pyroscope/render", params=wanted).json()
    assert found["version"] == 1
    assert found["flamebearer"]["numTicks"] == 70
    assert found["flamebearer"]["levels"][0] == [0, 70, 0, 0]
    assert found["metadata"]["format"] == "single"
    assert found["metadata"]["units"] == "count"
    assert found["timeline"]["durationDelta"] == 15
    assert sum(found["timeline"]["samples"]) == 70
    assert len(found["timeline"]["samples"]) == 41
    assert found["groups"] == {}
    assert found["heatmap"] is None
    lenient = {**wanted, "aggregation": "foo", "maxNodes": "abc", "from": "now-15m", "until": "now"}
    assert server.http.get("/pyroscope/render", params=lenient).json()["flamebearer"]["numTicks"]


def test_72_render_by_group(server: QueryServer) -> None:
    wanted = {"query": TOKENS, **BETWEEN, "groupBy": "agent"}
    groups = server.http.get("/pyroscope/render", params=wanted).json()["groups"]
    assert {name: sum(line["samples"]) for name, line in groups.items()} == {
        "planner": 30, "coder": 70,
    }  # fmt: skip


def test_72_render_refuses_what_it_cannot_read(server: QueryServer) -> None:
    path, good = "/pyroscope/render", {"query": TOKENS + "{}", **BETWEEN}
    assert server.http.post(path, params=good).status_code == 405
    for wrong in (
        BETWEEN,
        {**good, "query": '{agent="coder"}'},
        {**good, "from": "0"},
        {**good, "query": TOKENS + "{"},
        {**good, "from": "yesterday?"},
    ):
        answer = server.http.get(path, params=wrong)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_argument"), wrong


def test_73_render_as_dot(server: QueryServer) -> None:
    wanted = {"query": TOKENS + "{}", **BETWEEN, "format": "dot"}
    answer = server.http.get("/pyroscope/render", params=wanted)
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.text.startswith("digraph")
    assert "call haiku" in answer.text
    nothing = {**wanted, "query": TOKENS + '{agent="nobody"}'}
    answer = server.http.get("/pyroscope/render", params=nothing)
    assert (answer.status_code, answer.text) == (200, "")


def test_74_render_a_difference(server: QueryServer) -> None:
    sides = {
        "leftQuery": TOKENS + '{agent="planner"}', "leftFrom": START_MS, "leftUntil": END_MS,
        "rightQuery": TOKENS + '{agent="coder"}', "rightFrom": START_MS, "rightUntil": END_MS,
    }  # fmt: skip
    found = server.http.get("/pyroscope/render-diff", params=sides).json()
    assert found["metadata"]["format"] == "double"
    assert (found["leftTicks"], found["rightTicks"]) == (30, 70)
    assert found["flamebearer"]["levels"][0] == [0, 30, 0, 0, 70, 0, 0]
    other = {**sides, "rightQuery": "agent:duration:nanoseconds:agent:count{}"}
    assert server.http.get("/pyroscope/render-diff", params=other).status_code == 400


def test_74_label_values_of_the_old_api(server: QueryServer) -> None:
    found = server.http.get("/pyroscope/label-values", params={"label": "__name__"}).json()
    assert TOKENS in found
    found = server.http.get("/pyroscope/label-values", params={"label": "agent"}).json()
    assert found == ["coder", "planner"]
