"""Requests that come over the API keep the bounds of the receivers."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from tests.serving import Serving

from whyflame.journal.parts import MAX_PARTS

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
