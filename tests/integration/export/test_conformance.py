"""What every exporter must do, tried on every exporter that ships."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.doubles.parca import ParcaDouble
from tests.doubles.pyroscope import Double
from tests.doubles.s3 import S3Double
from tests.integration.export.backends import BACKENDS, Backend, Servers, make_payload

from whyflame.errors import ConfigError
from whyflame.export import Exporter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(params=BACKENDS, ids=lambda backend: backend.name)
def backend(request: pytest.FixtureRequest) -> Backend:
    found: Backend = request.param
    return found


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    with Double() as double, ParcaDouble() as parca, S3Double() as s3:
        yield Servers(double, parca, tmp_path, s3)


@pytest.fixture
def options(backend: Backend, servers: Servers) -> dict[str, Any]:
    return backend.options(servers)


def test_it_is_an_exporter(backend: Backend, options: dict[str, Any]) -> None:
    assert isinstance(backend.factory("out", options), Exporter)


def test_unknown_options_are_errors_that_name_the_block(
    backend: Backend, options: dict[str, Any]
) -> None:
    with pytest.raises(ConfigError, match=r"exporters\.out"):
        backend.factory("out", {**options, "no_such_option": 1})


def test_close_without_start_and_twice(backend: Backend, options: dict[str, Any]) -> None:
    exporter = backend.factory("out", options)
    exporter.close(1.0)
    exporter.close(1.0)


def test_a_second_instance_works_after_the_first_was_closed(
    backend: Backend, options: dict[str, Any], servers: Servers
) -> None:
    for number in (1, 2):
        exporter = backend.factory("out", options)
        exporter.start()
        exporter.send(make_payload(number))
        exporter.close(1.0)
    assert backend.count(servers, exporter, False) == (2 if backend.survives else 1) * 120


def test_send_delivers_what_is_in_the_payload(
    backend: Backend, options: dict[str, Any], servers: Servers
) -> None:
    exporter = backend.factory("out", options)
    exporter.start()
    for number in range(1, 4):
        exporter.send(make_payload(number))
    exporter.close(1.0)
    assert backend.count(servers, exporter, False) == 3 * 120


def test_sending_the_same_payload_again_changes_nothing_in_the_end(
    backend: Backend, options: dict[str, Any], servers: Servers
) -> None:
    exporter = backend.factory("out", options)
    exporter.start()
    payload = make_payload(1)
    exporter.send(payload)
    exporter.send(payload)
    exporter.close(1.0)
    servers.pyroscope.compact()
    assert backend.count(servers, exporter, True) == 120


def test_send_from_several_threads(
    backend: Backend, options: dict[str, Any], servers: Servers
) -> None:
    exporter = backend.factory("out", options)
    exporter.start()
    threads = [
        threading.Thread(target=exporter.send, args=(make_payload(number),))
        for number in range(1, 9)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    exporter.close(1.0)
    assert backend.count(servers, exporter, False) == 8 * 120
