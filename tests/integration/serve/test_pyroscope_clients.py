"""Clients not written here: Pyroscope's own Go client code, `go tool pprof`, Grafana's requests."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from google.protobuf import json_format
from tests.built import BUILD_SECONDS, go_pprof, peer
from tests.query_server import END_MS, RANGE, START_MS, TOKENS, QueryServer, stacks_of

from whyflame.serve.pyroscope.messages import message_class

if TYPE_CHECKING:
    from pathlib import Path


# Who runs this test alone for the first time builds the client.
@pytest.mark.slow
@pytest.mark.peer
@pytest.mark.timeout(60 + BUILD_SECONDS)
def test_the_published_go_client_calls_every_method(server: QueryServer) -> None:
    """`grafana/pyroscope/api`, generated for connect-go, in both codecs and with gzip."""
    answer = subprocess.run(
        [peer("querier"), server.url, str(START_MS), str(END_MS), TOKENS,
         '{agent=~"planner|coder", service_name!="nobody"}', "0000000000000004"],
        capture_output=True, text=True, check=True, timeout=30,
    )  # fmt: skip
    answers = json.loads(answer.stdout)
    assert answers["proto"] == answers["json"] == answers["proto+gzip"]
    found = answers["proto"]
    assert TOKENS in found.pop("ProfileTypes")
    assert {"service_name", "session"} <= set(found.pop("LabelNames"))
    assert found == {
        "LabelValues": ["coder", "planner"],
        "Series": ["svc", "web"],
        "SelectMergeStacktraces": 100,
        "SelectMergeStacktraces pprof": 100,
        "SelectMergeSpanProfile": 50,
        "SelectMergeProfile": 100,
        "SelectSeries": {"coder": 70, "planner": 30},
        "Diff": 200,
        "GetProfileStats": True,
        "AnalyzeQuery": True,
        "SelectHeatmap": {"80": 1, "20": 1},
        "exemplar": 80,
        "error": "invalid_argument",
    }


@pytest.mark.parametrize(
    "path",
    [
        f"/pyroscope/render?query={TOKENS}%7B%7D&from={START_MS}&until={END_MS}&format=pprof",
        "/api/v1/profile?view=tokens&format=pprof",
    ],
)
@pytest.mark.slow
def test_go_tool_pprof_reads_a_merge(server: QueryServer, tmp_path: Path, path: str) -> None:
    environment = {**os.environ, "PPROF_TMPDIR": str(tmp_path), "HOME": str(tmp_path)}
    printed = subprocess.run(
        [go_pprof(), "-top", "-unit=count", "-sample_index=tokens", server.url + path],
        capture_output=True, text=True, check=True, timeout=60,
        env=environment,
    ).stdout  # fmt: skip
    assert re.search(r"50 50\.00%.* call haiku", printed), printed
    assert "of 100 total" in printed


def grafana(server: QueryServer, method: str, **fields: object) -> dict:
    """As Grafana's backend asks: binary, no options, gzip accepted, its own User-Agent."""
    request = message_class(f"{method}Request")(**fields)
    answer = server.call(
        method,
        request.SerializeToString(),
        "application/proto",
        **{
            "Accept-Encoding": "gzip",
            "Connect-Protocol-Version": "1",
            "Connect-Timeout-Ms": "20000",
            "User-Agent": "connect-go/1.19.1 (go1.25.5)",
            "X-Grafana-Id": "x",
        },
    )
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/proto"
    response = message_class(f"{method}Response")()
    response.ParseFromString(answer.content)
    return json_format.MessageToDict(response)


def test_grafana_picks_a_type_and_draws_it(server: QueryServer) -> None:
    """Save & test, the type picker, label completion, the graph and the panel below it."""
    assert grafana(server, "ProfileTypes") == grafana(server, "ProfileTypes", **RANGE)
    picked = f'{{__profile_type__="{TOKENS}",}}'
    names = grafana(server, "LabelNames", matchers=[picked], **RANGE)["names"]
    assert "agent" in names
    values = grafana(server, "LabelValues", name="agent", matchers=[picked], **RANGE)["names"]
    assert values == ["coder", "planner"]
    graph = grafana(
        server, "SelectMergeStacktraces", profile_typeID=TOKENS,
        label_selector='{agent="coder",}', max_nodes=16384, **RANGE,
    )["flamegraph"]  # fmt: skip
    assert sum(stacks_of(graph).values()) == 70
    series = grafana(
        server, "SelectSeries", profile_typeID=TOKENS, label_selector="{}", step=15.0,
        group_by=["agent"], **RANGE,
    )["series"]  # fmt: skip
    assert [one["labels"][0]["value"] for one in series] == ["coder", "planner"]


def test_grafana_variables_name_the_type_in_front(server: QueryServer) -> None:
    """Dashboard variables send `<profile type>{}`, and `__name__` holding the whole id."""
    for selector in (TOKENS + "{}", f'{{__name__="{TOKENS}"}}'):
        names = grafana(server, "LabelNames", matchers=[selector], **RANGE)["names"]
        assert "model" in names
        assert "tool" not in names, "tool calls have no tokens"


def test_grafana_opens_a_span(server: QueryServer) -> None:
    graph = grafana(
        server, "SelectMergeSpanProfile", profile_typeID=TOKENS, label_selector="{}",
        span_selector=["0000000000000001"], **RANGE,
    )["flamegraph"]  # fmt: skip
    assert sum(stacks_of(graph).values()) == 80


def test_large_answers_are_compressed_when_asked(server: QueryServer) -> None:
    request = message_class("ProfileTypesRequest")(**RANGE).SerializeToString()
    with server.http.stream(
        "POST", "/querier.v1.QuerierService/ProfileTypes", content=request,
        headers={"Content-Type": "application/proto", "Accept-Encoding": "gzip"},
    ) as answer:  # fmt: skip
        raw = b"".join(answer.iter_raw())
    assert answer.headers["content-encoding"] == "gzip"
    plain = server.call("ProfileTypes", request, "application/proto", **{"Accept-Encoding": "br"})
    assert "content-encoding" not in plain.headers
    assert gzip.GzipFile(fileobj=io.BytesIO(raw)).read() == plain.content


def test_the_hierarchy_is_chosen_in_the_query(server: QueryServer) -> None:
    """By profile name, by the virtual label with fields, and by naming another hierarchy."""
    by_name = stacks_of(server.graph("by_model:tokens:count:agent:count"))
    assert by_name["haiku;coder;plan work;write code"] == 50
    chosen = {"gpt-5;planner": 30, "gpt-5;coder": 20, "haiku;coder": 50}
    assert stacks_of(server.graph(selector='{stack_by="model, agent"}')) == chosen
    assert stacks_of(server.graph(selector='{stack_by="by_model"}')) == by_name
    labels = stacks_of(server.graph(selector='{stack_by="service_name",agent="planner"}'))
    assert labels == {"svc": 30}
    refused = server.ask(
        "SelectMergeStacktraces",
        {"profileTypeID": TOKENS, "labelSelector": '{stack_by="colour"}', **RANGE},
    )
    assert refused.status_code == 400
    assert "unknown field 'colour'" in refused.json()["message"]


def test_labels_that_no_index_could_hold(server: QueryServer) -> None:
    """Sessions, users and traces are filters like any other, for graphs and for completion."""
    for selector, total in (
        ('{session="s2"}', 20),
        ('{session_id=~"s.*", agent="planner"}', 30),
        ('{user_hash="u1"}', 20),
        ('{user_hash!="u1"}', 80),
        ('{trace_id="00000000000000000000000000000001"}', 80),
        ('{trace_id!="00000000000000000000000000000001"}', 20),
        ('{trace_id=~"0+2"}', 20),
        ('{trace_id="not-hex"}', 0),
        ('{task="write code"}', 50),
        ('{path="plan work"}', 80),
        ('{path!="plan work"}', 20),
        ('{no_such_label=""}', 100),
        ('{no_such_label="x"}', 0),
        ('{outcome=""}', 80),
        ('{turn="0"}', 100),
        ('{turn="first"}', 0),
        ('{turn!="first"}', 100),
        ('{model=~"hai"}', 0),
        ('{model=~"hai.*"}', 50),
        ('{model=~"(?i)HAI.*"}', 50),
        ('{model=~"[[:alpha:]]+"}', 50),
        ('{model!~"(?i)HAI.*|(?s).*5"}', 0),
        (r'{model=~"\\pL+"}', 50),
        ('{outcome=~"[[:alpha:]]*"}', 100),
        ('{outcome!~"[[:digit:]]*"}', 20),
        ('{outcome=~"(?U)c.*|"}', 100),
        ('{__type__="tokens"}', 100),
        ('{__type__="cost"}', 0),
    ):
        assert int(server.graph(selector=selector).get("total", 0)) == total, selector


def test_call_site_keeps_what_is_below_it(server: QueryServer) -> None:
    site = {"callSite": [{"name": "coder"}, {"name": "plan work"}]}
    assert stacks_of(server.graph(stackTraceSelector=site)) == {
        "coder;plan work;write code;call haiku": 50
    }


def test_formats_of_a_merge(server: QueryServer) -> None:
    message = {"profileTypeID": TOKENS, "labelSelector": "{}", **RANGE}
    dot = server.answer("SelectMergeStacktraces", **message, format="PROFILE_FORMAT_DOT")["dot"]
    assert '"call haiku\\n50 of 50 count (50.00%)"' in dot
    pprof = server.answer("SelectMergeStacktraces", **message, format=4)["pprof"]["profile"]
    assert sum(int(sample["value"][0]) for sample in pprof["sample"]) == 100
    for wrong in ("PROFILE_FORMAT_TREE", 9):
        answer = server.ask("SelectMergeStacktraces", {**message, "format": wrong})
        assert answer.json()["code"] == "unimplemented"


@pytest.mark.parametrize("kind", ["application/json", "application/proto"])
@pytest.mark.parametrize(
    "method",
    [
        "querier.v1.QuerierService/SelectSomethingOfTheNextVersion",
        "settings.v1.SettingsService/Set",
        "settings.v1.RecordingRulesService/ListRecordingRules",
        "vcs.v1.VCSService/GithubApp",
        "adhocprofiles.v1.AdHocProfileService/List",
    ],
)
def test_what_is_not_offered_is_said_in_connects_words(
    server: QueryServer, method: str, kind: str
) -> None:
    """Grafana's apps ask for more than there is, and do without where they read this."""
    answer = server.http.post(f"/{method}", content=b"", headers={"Content-Type": kind})
    assert answer.status_code == 501
    assert answer.headers["Content-Type"] == "application/json"
    name = method.rpartition("/")[2]
    assert answer.json() == {"code": "unimplemented", "message": f"{name} is not offered"}


@pytest.mark.parametrize(
    "path",
    ["/settings.v1.SettingsService/Get", "/capabilities.v1.FeatureFlagsService/GetFeatureFlags"],
)
def test_grafanas_app_finds_no_settings_and_goes_on(server: QueryServer, path: str) -> None:
    assert server.http.post(path, json={}).json() == {}
    answer = server.http.post(path, headers={"Content-Type": "application/proto"})
    assert (answer.status_code, answer.content) == (200, b"")
    assert server.http.post(path, content=b"x").status_code == 415


@pytest.mark.parametrize("name", ["PROFILE_FORMAT_FUNCTIONS", "PROFILE_FORMAT_SANDWICH"])
def test_formats_of_later_versions_are_no_fault(server: QueryServer, name: str) -> None:
    """Profiles Drilldown tries them first, and takes a flame graph for the answer of an older server."""
    graph = server.graph(format=name, sandwichFunction="call gpt-5")
    assert graph["levels"]
