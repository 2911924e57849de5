"""Every exporter that ships, with a backend to send to."""

from __future__ import annotations

import shutil
import subprocess
import time
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from tests.doubles.s3 import KEY_ID, REGION, SECRET, S3Double

from whyflame.export import Payload
from whyflame.export.fake import MemoryExporter
from whyflame.export.payloads import compress
from whyflame.export.reshape import unpack
from whyflame.fold.pprof import PprofOptions, encode_message
from whyflame.fold.profile import Profile, SampleType, build_profile
from whyflame_exporters.files import FilesExporter
from whyflame_exporters.otlp_profiles import OtlpProfilesExporter
from whyflame_exporters.parca import ParcaExporter
from whyflame_exporters.pyroscope import PyroscopeExporter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.doubles.parca import ParcaDouble
    from tests.doubles.pyroscope import Double

    from whyflame.export import Exporter

LABELS = (("__name__", "agent"), ("agent", "planner"), ("service_name", "shop"))


def make_payload(number: int, tenant: str = "") -> Payload:
    """A payload with a time of its own; 120 tokens."""
    time_ns = time.time_ns() - 1_000_000 * (1000 + number)
    empty = Profile(
        sample_types=(
            SampleType("operations", "count"),
            SampleType("cost", "microusd"),
            SampleType("duration", "nanoseconds"),
            SampleType("tokens", "count"),
        ),
        frames=(),
        offsets=array("q", [0]),
        frame_ids=array("i"),
        values=tuple(array("q") for _ in range(4)),
        default="tokens",
        time_ns=time_ns,
        duration_ns=15_000_000_000,
    )
    rows = [
        (("planner", "plan trip", "call gpt-5"), (), (1, 2, 3, 100)),
        (("planner", "book hotel", "run search"), (), (1, 0, 5, 20)),
    ]
    profile = build_profile(rows, like=empty)
    message = encode_message(profile, PprofOptions(name="agent", mapping="shop"))
    return Payload(number, "out", tenant, LABELS, time_ns, compress(message), len(message), 2)


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """A self-signed certificate for 127.0.0.1, made by the openssl command."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("the openssl command, which makes the test certificate, is not here")
    certificate, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        [
            openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
            "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
            "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate),
        ],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return certificate, key


@dataclass(frozen=True)
class Servers:
    """Everything an exporter may send to, fresh for each test."""

    pyroscope: Double
    parca: ParcaDouble
    folder: Path
    s3: S3Double


@dataclass(frozen=True)
class Backend:
    """One exporter and how to see what arrived.

    Attributes:
        factory: As an entry point names it.
        options: Options for the servers.
        count: Tokens that arrived; asked for distinct ones, repeats count once.
        survives: What arrived stays when the exporter goes.
    """

    name: str
    factory: Callable[[str, dict[str, Any]], Exporter]
    options: Callable[[Servers], dict[str, Any]]
    count: Callable[[Servers, Any, bool], int]
    survives: bool = True


def _in_double(servers: Servers, *_: object) -> int:
    return servers.pyroscope.sums().get("tokens", 0)


def _in_parca(servers: Servers, _: Any, distinct: bool) -> int:
    return servers.parca.tokens(distinct=distinct)


def _in_folder(servers: Servers, *_: object) -> int:
    files = servers.folder.rglob("*.pb.gz")
    return sum(unpack(file.read_bytes())[0].total("tokens") for file in files)


def _in_bucket(servers: Servers, *_: object) -> int:
    return sum(unpack(body)[0].total("tokens") for body in servers.s3.objects.values())


def _bucket(servers: Servers) -> dict[str, Any]:
    key = {"access_key_id": KEY_ID, "secret_access_key": SECRET}
    return {"s3": {"bucket": "profiles", "region": REGION, "endpoint": servers.s3.url, **key}}


def _in_memory(_: Servers, exporter: MemoryExporter, distinct: bool) -> int:
    accepted = set(exporter.accepted) if distinct else exporter.accepted
    return sum(unpack(payload.body)[0].total("tokens") for payload in accepted)


def _pyroscope(servers: Servers) -> dict[str, Any]:
    return {"url": servers.pyroscope.url}


BACKENDS = [
    Backend("memory", MemoryExporter, lambda _: {}, _in_memory, survives=False),
    Backend("pyroscope", PyroscopeExporter, _pyroscope, _in_double),
    Backend(
        "pyroscope-json-gzip",
        PyroscopeExporter,
        lambda servers: {**_pyroscope(servers), "encoding": "json", "compression": "gzip"},
        _in_double,
    ),
    Backend("otlp-http", OtlpProfilesExporter, _pyroscope, _in_double),
    Backend(
        "otlp-grpc",
        OtlpProfilesExporter,
        lambda servers: {"url": f"http://{servers.pyroscope.grpc_address}", "protocol": "grpc"},
        _in_double,
    ),
    Backend(
        "parca-grpc", ParcaExporter, lambda servers: {"url": servers.parca.grpc_url}, _in_parca
    ),
    Backend(
        "parca-http",
        ParcaExporter,
        lambda servers: {"url": servers.parca.url, "protocol": "http"},
        _in_parca,
    ),
    Backend("files", FilesExporter, lambda servers: {"directory": str(servers.folder)}, _in_folder),
    Backend("s3", FilesExporter, _bucket, _in_bucket),
]
