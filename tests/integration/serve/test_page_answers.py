"""What the page asks beside the common API, over HTTP."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from tests.query_server import QueryServer, made, open_filled, serving

from whyflame.config import Config, HttpConfig
from whyflame.model import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LINKS = {"Jaeger": "http://localhost:16686/trace/{trace_id}"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[QueryServer]:
    operations = [
        made(1, 1, path="fix login;run tests", tokens=70, agent="coder", model="gpt"),
        made(1, 2, path="fix login", tokens=20, agent="coder", model="gpt"),
        made(2, 3, path="write docs", tokens=5, agent="writer", model="Claude"),
    ]
    store = open_filled(tmp_path / "store.duckdb", operations)
    with serving(store, Config(http=HttpConfig(trace_links=LINKS))) as running:
        yield running
    store.close()


def test_the_page_and_its_files_keep_a_strict_policy(server: QueryServer) -> None:
    page = server.http.get("/")
    links = re.findall(r'(?:src|href)="(/static/[^"]+)"', page.text)
    assert len(links) >= 4
    for path in ["/", *links, "/static/tree.js"]:
        answer = server.http.get(path)
        assert answer.status_code == 200
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
    assert "<script>" not in page.text
    assert " style=" not in page.text
    assert "http://" not in page.text + server.http.get("/static/page.css").text


@pytest.mark.parametrize(
    "path",
    ["/api/v1/totals", "/api/v1/profile?format=svg", "/api/v1/nothing", "/metrics", "/healthz"],
)
def test_other_answers_keep_a_closed_policy(server: QueryServer, path: str) -> None:
    answer = server.http.get(path)
    assert answer.headers["x-content-type-options"] == "nosniff"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "'self'" not in policy


def test_no_file_outside_the_folder_is_given(server: QueryServer) -> None:
    for path in ("/static/../page.py", "/static/%2e%2e/page.py", "/static/"):
        assert server.http.get(path).status_code == 404


def test_options_name_what_can_be_asked(server: QueryServer) -> None:
    found = server.http.get("/api/v1/options").json()
    assert {"tokens", "cost", "errors"} <= {view["name"] for view in found["views"]}
    assert "cache_read_tokens" in [item["name"] for item in found["measures"]]
    assert all(item["doc"] for item in found["fields"])
    assert found["trace_links"] == LINKS


@pytest.mark.parametrize(
    ("field", "contains", "wanted"),
    [
        ("agent", "", ["coder", "writer"]),
        ("model", "c", ["Claude"]),
        ("path", "", ["fix login", "run tests", "write docs"]),
        ("task", "log", ["fix login"]),
        ("run", "", ["0"]),
        ("token_kind", "cache_", ["cache_read", "cache_write"]),
    ],
)
def test_values_are_completed_the_most_frequent_first(
    server: QueryServer, field: str, contains: str, wanted: list[str]
) -> None:
    found = server.http.get("/api/v1/values", params={"field": field, "contains": contains}).json()
    assert [row["value"] for row in found["values"]] == wanted


def test_values_are_counted_within_the_filters_and_bounded(server: QueryServer) -> None:
    found = server.http.get(
        "/api/v1/values", params={"field": "path", "where": "agent=coder", "limit": 1}
    ).json()
    assert found == {"values": [{"value": "fix login", "operations": 2}], "not_shown": 1}


def test_values_of_an_unknown_field_are_refused(server: QueryServer) -> None:
    answer = server.http.get("/api/v1/values", params={"field": "agnet"})
    assert answer.status_code == 400
    assert "did you mean 'agent'" in answer.json()["error"]
    assert server.http.get("/api/v1/values").status_code == 400


def test_behind_a_frame_are_its_sessions_and_in_each_its_steps(server: QueryServer) -> None:
    asked = {"view": "tokens", "frame": ["coder", "fix login"]}
    found = server.http.get("/api/v1/behind", params=asked).json()
    assert (found["total"], found["rows"][0]["session"]) == (90, "s1")
    steps = server.http.get("/api/v1/behind", params={**asked, "session": "s1"}).json()
    assert sum(row["tokens"] for row in steps["rows"]) == 90
    nothing = server.http.get("/api/v1/behind", params={**asked, "session": "s2"})
    assert nothing.status_code == 404
    assert server.http.get("/api/v1/behind").status_code == 400


def test_the_session_field_may_be_a_frame_too(server: QueryServer) -> None:
    asked = {"view": "tokens", "stack": "session,path", "frame": "s1"}
    found = server.http.get("/api/v1/behind", params=asked).json()
    assert (found["total"], found["rows"][0]["session"]) == (90, "s1")


def test_a_difference_comes_as_a_tree_with_both_sides(server: QueryServer) -> None:
    asked = {"base": "agent=coder", "target": "agent=writer", "format": "tree"}
    found = server.http.get("/api/v1/diff", params=asked).json()
    assert [column[0] for column in found["totals"]] == [90, 5]
    assert {row["frame"] for row in found["comparison"]["frames"]} >= {"coder", "writer"}


def test_each_side_of_a_difference_may_have_its_own_time(server: QueryServer) -> None:
    newest = server.http.get("/api/v1/status").json()["newest_ns"]
    asked = {"base_until": newest, "target_since": newest, "format": "tree"}
    found = server.http.get("/api/v1/diff", params=asked).json()
    assert [column[0] for column in found["totals"]] == [90, 5]


def test_coverage_comes_with_advice(tmp_path: Path) -> None:
    silent = made(1, 1, tokens=None, kind=Kind.LLM)
    store = open_filled(tmp_path / "store.duckdb", [silent])
    with serving(store) as server:
        found = server.http.get("/api/v1/coverage").json()
    store.close()
    assert found["coverage"]["calls_without_usage"] == 1
    assert any("report no tokens" in item["what"] and item["mend"] for item in found["findings"])


def test_a_session_tells_the_colour_of_every_name(server: QueryServer) -> None:
    found = server.http.get("/api/v1/sessions/s1").json()
    assert {"fix login", "run tests"} <= set(found["colours"])


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/api/v1/totals/x", "/api/v1/sessions"])
def test_a_path_that_is_none_is_answered_in_json_too(server: QueryServer, path: str) -> None:
    answer = server.http.delete(path)
    assert answer.status_code in {404, 405}
    assert path in answer.json()["error"]
    assert answer.status_code == 404 or "GET" in answer.headers["Allow"]


def test_a_session_may_be_called_anything(tmp_path: Path) -> None:
    name = "a/b\n?#%2F ü"
    store = open_filled(tmp_path / "w.duckdb", [made(1, 1, session=name)])
    with serving(store) as running:
        answer = running.http.get(f"/api/v1/sessions/{quote(name, safe='')}")
        assert answer.json()["session"] == name
    store.close()


def test_sums_may_come_without_their_coverage(server: QueryServer) -> None:
    full = server.http.get("/api/v1/totals?by=agent").json()
    assert set(full) == {"rows", "coverage"}
    assert server.http.get("/api/v1/totals?by=agent&coverage=false").json() == {
        "rows": full["rows"]
    }
