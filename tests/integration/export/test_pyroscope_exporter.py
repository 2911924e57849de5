"""The Pyroscope exporter against the double: credentials, tenants, TLS, connections, faults."""

from __future__ import annotations

import base64
import ssl
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from tests.doubles.http import Handler, HttpServer
from tests.doubles.pyroscope import LOST_ANSWER, RESET, TIMEOUT, Double, Fault, Flavour, Limits
from tests.integration.export.backends import make_certificate, make_payload
from tests.integration.export.world import World, make_job

from whyflame.export import (
    LateError,
    PausedError,
    RateLimitedError,
    TooLargeError,
    UnavailableError,
)
from whyflame.model import Kind
from whyflame_exporters.pyroscope import PyroscopeExporter

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def double() -> Iterator[Double]:
    with Double() as started:
        yield started


Start = Callable[..., PyroscopeExporter]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts exporters for a double or an address, and closes them at the end."""
    made: list[PyroscopeExporter] = []

    def begin(target: Double | str, **options: Any) -> PyroscopeExporter:
        url = target if isinstance(target, str) else target.url
        made.append(PyroscopeExporter("out", {"url": url, **options}))
        made[-1].start()
        return made[-1]

    yield begin
    for exporter in made:
        exporter.close(1)


def test_basic_auth_reads_the_password_file_anew(
    double: Double, tmp_path: Path, start: Start
) -> None:
    secret = tmp_path / "password"
    secret.write_text("old\n")
    exporter = start(double, basic_auth={"username": "me", "password_file": str(secret)})
    exporter.send(make_payload(1))
    secret.write_text("new\n")
    exporter.send(make_payload(2))
    sent = [headers["authorization"] for headers in double.headers]
    assert [base64.b64decode(value.split()[1]) for value in sent] == [b"me:old", b"me:new"]


def test_bearer_token_and_headers(double: Double, tmp_path: Path, start: Start) -> None:
    token = tmp_path / "token"
    token.write_text("abc\n")
    start(double, bearer_token_file=str(token), headers={"X-Team": "a"}).send(make_payload(1))
    assert double.headers[0]["authorization"] == "Bearer abc"
    assert double.headers[0]["x-team"] == "a"


def test_tenant_of_the_data_or_of_the_configuration(start: Start) -> None:
    with Double(limits=Limits(multitenancy=True)) as double:
        exporter = start(double)
        exporter.send(make_payload(1, tenant="a"))
        start(double, tenant_id="fixed").send(make_payload(2, tenant="a"))
        with pytest.raises(PausedError):
            exporter.send(make_payload(3))
        assert double.profiles.sums("a")["tokens"] == 120
        assert double.profiles.sums("fixed")["tokens"] == 120


def test_one_connection_serves_many_pushes(double: Double, start: Start) -> None:
    exporter = start(double)
    for number in range(1, 6):
        exporter.send(make_payload(number))
    assert double.connections == 1


def test_a_connection_that_the_server_closed_is_replaced(double: Double, start: Start) -> None:
    exporter = start(double)
    exporter.send(make_payload(1))
    double.fail_next(RESET)
    exporter.send(make_payload(2))
    assert double.sums()["tokens"] == 240


def test_a_path_prefix_is_kept(double: Double, start: Start) -> None:
    exporter = start(double.url + "/prefix/")
    with pytest.raises(PausedError, match="404"):
        exporter.send(make_payload(1))


@pytest.mark.parametrize(
    ("limits", "error"),
    [
        ({"reject_older_seconds": 1}, LateError),
        ({"samples": 1}, TooLargeError),
        ({"profile_bytes": 100}, TooLargeError),
        ({"rate_bytes_per_second": 600, "burst_bytes": 100}, TooLargeError),
    ],
)
def test_refusals_of_the_server(
    double: Double, limits: dict[str, int], error: type, start: Start
) -> None:
    double.set_limits(**limits)
    with pytest.raises(error):
        start(double).send(make_payload(2000))


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (503, UnavailableError),
        (500, UnavailableError),
        (429, RateLimitedError),
        (401, PausedError),
        (Fault(502, text="<html>"), UnavailableError),
    ],
)
def test_faults(double: Double, fault: Fault | int, error: type, start: Start) -> None:
    double.fail_next(fault)
    with pytest.raises(error):
        start(double).send(make_payload(1))


def test_nobody_listens(start: Start) -> None:
    exporter = start("http://127.0.0.1:9")
    with pytest.raises(UnavailableError, match="127\\.0\\.0\\.1:9"):
        exporter.send(make_payload(1))


def test_an_answer_that_takes_too_long_may_still_have_been_stored(
    double: Double, start: Start
) -> None:
    exporter, payload = start(double, timeout="200ms"), make_payload(1)
    double.fail_next(TIMEOUT)
    with pytest.raises(UnavailableError, match="timed out"):
        exporter.send(payload)
    exporter.send(payload)
    assert double.sums()["tokens"] == 240
    double.compact()
    assert double.sums()["tokens"] == 120


def test_redirects_are_not_followed(start: Start) -> None:
    class Redirect(Handler):
        def respond(self) -> None:
            self.read_body()
            self.answer(307, Location="http://127.0.0.1:9/")

    with HttpServer(Redirect) as server:
        exporter = start(server.url)
        with pytest.raises(PausedError, match="307"):
            exporter.send(make_payload(1))
        exporter.close(1)


def test_lost_answers_are_resent_with_identical_bytes(
    double: Double, tmp_path: Path, start: Start
) -> None:
    world = World(tmp_path / "store.duckdb")
    world.clock.now_ns = time.time_ns()
    world.settle(*[world.operation(agent=f"a{number}") for number in range(3)])
    double.fail_next(LOST_ANSWER, times=2)
    double.fail_next(Fault(500, stored=True))
    job = make_job(world, start(double))
    for _ in range(30):
        if not job.tick(0.3):
            break
        world.clock.advance(2)
    assert len(double.bodies) > 3
    assert len(set(double.bodies)) == 3
    double.compact()
    assert double.sums() == world.totals()
    job.close()
    world.store.close()


@pytest.mark.parametrize("flavour", list(Flavour))
def test_every_flavour_gets_the_totals(flavour: Flavour, tmp_path: Path, start: Start) -> None:
    world = World(tmp_path / "store.duckdb")
    with Double(flavour, clock=world.clock) as double:
        for trace in range(20):
            world.settle(
                world.operation(trace=trace, agent=f"a{trace % 4}", cost_nanousd=777),
                world.operation(trace=trace, kind=Kind.TOOL,
                                model=None, leaf="run search", cost_nanousd=None,
                                input_uncached=None, output_visible=None),
            )  # fmt: skip
        job = make_job(world, start(double))
        while job.tick(0.3):
            world.clock.advance(1)
        double.compact()
        assert double.sums() == world.totals()
        job.close()
    world.store.close()


def test_tls_with_a_private_authority(tmp_path: Path, start: Start) -> None:
    certificate, key = make_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with Double() as double:
        double.wrap_tls(context)
        url = double.url.replace("http://", "https://")
        trusting = start(url, tls={"ca_file": str(certificate)})
        trusting.send(make_payload(1))
        trusting.close(1)
        assert double.sums()["tokens"] == 120
        doubting = start(url)
        with pytest.raises(UnavailableError, match="CERTIFICATE_VERIFY_FAILED"):
            doubting.send(make_payload(2))
