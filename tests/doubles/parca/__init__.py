"""A Parca for tests: `WriteRaw` over gRPC and as JSON over HTTP, with Parca's stricter checks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Self

from google.protobuf import json_format
from google.protobuf.message_factory import GetMessageClass

from tests.doubles.http import Handler, HttpServer
from tests.doubles.protos import pool_of
from tests.doubles.pyroscope.distributor import inflate
from tests.doubles.pyroscope.errors import Refusal, invalid
from tests.doubles.pyroscope.grpc_port import GrpcPort
from tests.doubles.pyroscope.normalize import Normal, normalize
from tests.doubles.pyroscope.wire import Profile

METHOD = "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw"
PATH = "/api/profiles/writeraw"
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_TYPE_PART = re.compile(r"[a-zA-Z0-9_]+")
_MAX_BYTES = 64 << 20
WriteRawRequest = GetMessageClass(
    pool_of(Path(__file__).parent).FindMessageTypeByName("whyflame.parca.WriteRawRequest")
)

__all__ = ["ParcaDouble", "WriteRawRequest"]


class ParcaDouble:
    """Keeps every profile that Parca would take."""

    def __init__(self) -> None:
        self.stored: list[tuple[tuple[tuple[str, str], ...], int, Normal]] = []
        self._grpc = GrpcPort({METHOD: lambda _, body: self._write_proto(body)})
        self._server = HttpServer(_Handler, self)

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def grpc_url(self) -> str:
        return f"http://{self._grpc.address}"

    def tokens(self, *, distinct: bool = False) -> int:
        """Sum of the sample type `tokens`; profiles of equal labels and time once if asked."""
        stored = {(entry[0], entry[1]): entry for entry in self.stored}.values()
        return sum(
            stack.values[[name for name, _ in normal.types].index("tokens")]
            for _, _, normal in (stored if distinct else self.stored)
            for stack in normal.stacks
        )

    def write(self, request: Any) -> None:
        for series in request.series:
            labels = [(label.name, label.value) for label in series.labels.labels]
            _check_labels(labels)
            for sample in series.samples:
                profile = Profile.FromString(inflate(sample.raw_profile, _MAX_BYTES))
                check_ids(profile)
                normal = normalize(profile)
                for text in (dict(labels)["__name__"], *normal.period_type, *sum(normal.types, ())):
                    if not _TYPE_PART.fullmatch(text):
                        raise invalid(f"{text!r} cannot be part of a profile type")
                self.stored.append((tuple(sorted(labels)), profile.time_nanos, normal))

    def _write_proto(self, body: bytes) -> bytes:
        self.write(WriteRawRequest.FromString(body))
        return b""

    def __enter__(self) -> Self:
        self._server.start()
        self._grpc.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()
        self._grpc.close()


def _check_labels(labels: list[tuple[str, str]]) -> None:
    names = [name for name, _ in labels]
    if "__name__" not in names:
        raise invalid("missing __name__ label")
    if len(set(names)) < len(names):
        raise invalid("duplicate label names found")
    for name in names:
        if not _LABEL.fullmatch(name):
            raise invalid(f"invalid label name: {name}")


def check_ids(profile: Any) -> None:
    """Ids of mappings, functions and locations run 1, 2, 3 ... in the order of their tables."""
    for table in (profile.mapping, profile.function, profile.location):
        for number, entry in enumerate(table, 1):
            if entry.id != number:
                raise invalid(f"id {entry.id} is not sequential, expected {number}")


class _Handler(Handler):
    def respond(self) -> None:
        body = self.read_body()
        if self.path != PATH:
            self.answer(404, b"{}")
            return
        try:
            self.double.write(json_format.Parse(body, WriteRawRequest()))
            self.answer(200, b"{}")
        except (Refusal, json_format.ParseError) as error:
            self.answer(400, str(error).encode())
