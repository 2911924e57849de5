"""The double's legacy `/ingest` route; numbers are those of the checks."""

from __future__ import annotations

import httpx
import pytest
from tests.doubles.pyroscope import Double
from tests.integration.doubles.messages import profile


def ingest(double: Double, query: str, body: bytes = b"", **files: bytes) -> httpx.Response:
    url = f"{double.url}/ingest?{query}"
    if files:
        return httpx.post(url, files=dict(files), trust_env=False)
    return httpx.post(url, content=body, trust_env=False)


def test_check_46_folded_cpu() -> None:
    with Double() as double:
        response = ingest(double, "name=app.cpu{a=b}&from=now-1m&until=now", b"foo;bar 100\n")
        assert response.status_code == 200
        assert double.profiles.type_ids() == ["process_cpu:cpu:nanoseconds:cpu:nanoseconds"]
        (labels,) = double.profiles.label_sets()
        assert dict(labels)["a"] == "b"
        assert dict(labels)["service_name"] == "app"
        assert double.profiles.stacks("cpu") == {("foo", "bar"): 100 * 10**9 // 100}


def test_check_47_tokens_cannot_be_folded() -> None:
    with Double() as double:
        response = ingest(double, "name=app.tokens", b"foo;bar 100\n")
        assert response.status_code == 422
        assert "unknown profile type: tokens" in response.text


def test_check_48_the_name_is_the_last_sample_type() -> None:
    with Double() as double:
        assert ingest(double, "name=app&format=pprof", profile()).status_code == 200
        assert {dict(labels)["__name__"] for labels in double.profiles.label_sets()} == {"tokens"}


@pytest.mark.parametrize(("flavour", "status"), [("v2.2", 429), ("v2.0", 422), ("v1.21", 422)])
def test_check_49_refusals(flavour: str, status: int) -> None:
    with Double(flavour) as double:
        both = ingest(double, "name=app", profile=profile(), prev_profile=profile())
        assert both.status_code == 422
        assert ingest(double, "name=app", profile=profile()).status_code == 200
        assert ingest(double, "name=app.cpu", b"x" * (5 << 20)).status_code == 413
        assert ingest(double, "", b"foo 1\n").status_code == 400
        double.set_limits(burst_bytes=10)
        limited = ingest(double, "name=app.cpu", b"foo 1\n")
        assert limited.status_code == status
        assert "resource_exhausted" in limited.text
