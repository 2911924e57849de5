"""The real `whyflame serve` answers Grafana on its HTTP port."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import httpx
import jsonschema
import pytest
from tests import otlp
from tests.closed_schema import answer_schema
from tests.serving import Serving, wait_until

from whyflame import native
from whyflame.serve.openapi import description

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow
CALL = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "gpt-5",
    "gen_ai.usage.input_tokens": 70,
    "gen_ai.usage.output_tokens": 30,
}


def test_serve_answers_grafana(tmp_path: Path) -> None:
    """From OTLP to a flame graph, in the words of Pyroscope's API."""
    with Serving(tmp_path / "d") as running:
        running.send([("traces", otlp.traces(otlp.Row("genai", "chat gpt-5", CALL)))])
        running.settle()
        (row,) = running.totals()
        with httpx.Client(base_url=f"http://{running.api}", trust_env=False) as client:
            service = "/querier.v1.QuerierService"
            types = client.post(f"{service}/ProfileTypes", json={"start": 1, "end": 1 << 42}).json()
            ids = [item["ID"] for item in types["profileTypes"]]
            assert "by_task:tokens:count:agent:count" in ids
            graph = client.post(
                f"{service}/SelectMergeStacktraces",
                json={
                    "profileTypeID": "by_task:tokens:count:agent:count",
                    "labelSelector": "{}",
                    "start": 1,
                    "end": 1 << 42,
                },
            ).json()["flamegraph"]
    assert int(graph["total"]) == row["input_tokens"] + row["output_tokens"] == 100


def test_what_only_a_running_server_says_is_described(tmp_path: Path) -> None:
    """Not a key more than in the description: status, settling, forgetting."""
    described = description()
    with Serving(tmp_path / "d") as running:
        running.send([("traces", otlp.traces(otlp.Row("genai", "chat gpt-5", CALL)))])
        running.settle()
        with httpx.Client(base_url=f"http://{running.api}/api/v1", trust_env=False) as client:

            def ask(path: str, **more: Any) -> Any:
                method, named = ("post", path) if more else ("get", path.split("?", maxsplit=1)[0])
                answer = client.request(method, path, **more)
                named = "/forget/{id}" if named.startswith("/forget/") else named
                schema = answer_schema(
                    described, f"/api/v1{named}", method, str(answer.status_code)
                )
                jsonschema.validate(answer.json(), schema)
                return answer.json()

            status = ask("/status")
            assert {"unsettled_traces", "journal_losses"} <= set(status)
            assert status["native"] == native.described()
            assert status["otlp"] == {
                "grpc": running.grpc, "http": running.http, "tls": False, "token": False
            }  # fmt: skip
            assert set(ask("/segment", json={})) == {"traces", "operations", "unstored_bytes"}
            session = ask("/sessions")["sessions"][0]["session"]
            noted = ask("/forget", json={"session": session})["id"]

            def is_done() -> bool:
                with suppress(httpx.TransportError):
                    return bool(ask(f"/forget/{noted}")["state"] == "done")
                return False

            wait_until(is_done)
