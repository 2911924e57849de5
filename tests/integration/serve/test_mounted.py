"""The real `whyflame serve` answers Grafana on its HTTP port."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
from tests import otlp
from tests.serving import Serving

if TYPE_CHECKING:
    from pathlib import Path

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
