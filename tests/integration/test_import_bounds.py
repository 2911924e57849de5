"""Requests that come over the API keep the bounds of the receivers."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from tests.otlp import Row, traces
from tests.serving import Serving

from whyflame.journal.parts import MAX_PARTS
from whyflame.serve.remote import RemoteQuestions

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


def test_a_request_of_too_many_parts_is_refused_for_good(tmp_path: Path) -> None:
    with Serving(tmp_path / "data") as serving:
        request = Request(
            f"http://{serving.api}/api/v1/import",
            data=b"\x0a\x00" * (MAX_PARTS + 1),
            headers={"Content-Type": "application/x-protobuf"},
        )
        with pytest.raises(HTTPError) as caught:
            urlopen(request, timeout=20)
        with caught.value as answer:
            assert answer.status == 400
            assert b"send smaller ones" in answer.read()


def test_requests_wait_where_too_much_waits_to_be_stored(tmp_path: Path) -> None:
    """A raw client is asked to come again; `whyflame import` does, and all are stored once."""
    call = {"gen_ai.operation.name": "chat", "gen_ai.usage.output_tokens": 1}
    bodies = [traces(Row("test", "chat", call, trace=number)) for number in range(1, 4)]
    with Serving(tmp_path / "data", {"otlp": {"max_pending_bytes": 1}}) as serving:
        server = RemoteQuestions(f"http://{serving.api}")
        server.ingest("traces", bodies[0])
        request = Request(
            f"http://{serving.api}/api/v1/import",
            data=bodies[0],
            headers={"Content-Type": "application/x-protobuf"},
        )
        with pytest.raises(HTTPError) as caught:
            urlopen(request, timeout=20)
        with caught.value as answer:
            assert answer.status == 503
            assert int(answer.headers["Retry-After"]) >= 1
        for body in bodies[1:]:
            server.ingest("traces", body)
        server.segment(None, None)
        (row,) = serving.totals()
        assert row["llm_calls"] == len(bodies)
