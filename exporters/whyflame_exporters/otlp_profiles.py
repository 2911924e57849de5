"""OTLP profiles over HTTP or gRPC: for collectors and backends that speak the draft standard.

One profile per measure, since OTLP has one sample type a profile; the profile type ids come out as
those of a Pyroscope push. Resource attributes are the labels of the series.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whyflame.config.fields import setting
from whyflame.config.reading import read_options
from whyflame.errors import ConfigError
from whyflame.export.reshape import unpack
from whyflame_exporters.answers import answer_error
from whyflame_exporters.http import Endpoint, EndpointOptions
from whyflame_exporters.rpc import GrpcEndpoint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whyflame.export import Payload
    from whyflame.fold.profile import Profile

__all__ = ["OtlpProfilesExporter", "OtlpProfilesOptions", "encode"]

_PATH = "/v1development/profiles"
_METHOD = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
_NAMESPACE = uuid.UUID("1c0d6f0e-40cf-4f0e-93d5-5b8a5c6b7d20")
# Numbers of opentelemetry-proto 1.10; before, servers answered 200 and stored nothing.
_SAMPLE_FIELDS = {"stack_index": 1, "attribute_indices": 2, "link_index": 3, "values": 4}


@dataclass(frozen=True, slots=True)
class OtlpProfilesOptions(EndpointOptions):
    """Options of the OTLP profiles exporter."""

    protocol: str = setting("http", "transport", choices=("http", "grpc"))
    path: str = setting(_PATH, "path of the endpoint, for HTTP")


class OtlpProfilesExporter:
    """Sends profiles to any OTLP profiles endpoint.

    Args:
        name: Name of the exporter block.
        options: The block's own keys.

    Raises:
        ConfigError: An option is unknown or wrong.
    """

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        read: OtlpProfilesOptions = read_options(OtlpProfilesOptions, options, f"exporters.{name}")
        if not read.url:
            raise ConfigError(f"exporters.{name}: url is missing")
        self._options = read
        self._http = Endpoint(name, read)
        self._grpc = GrpcEndpoint(name, read) if read.protocol == "grpc" else None

    def start(self) -> None:
        """Check that the installed messages have the numbers that servers expect."""
        _check_numbers()
        (self._grpc or self._http).start()

    def send(self, payload: Payload) -> None:
        """Send one profile per measure, in one request."""
        body = encode(payload)
        headers = {"X-Scope-OrgID": payload.tenant} if payload.tenant else {}
        if self._grpc is not None:
            self._grpc.call(_METHOD, body, headers)
            return
        headers["Content-Type"] = "application/x-protobuf"
        error = answer_error(self._http.post(self._options.path, body, headers))
        if error is not None:
            raise error

    def close(self, deadline_seconds: float) -> None:  # noqa: ARG002 - closing does not wait
        """Close the connections."""
        (self._grpc or self._http).close()


def _check_numbers() -> None:
    from opentelemetry.proto.profiles.v1development.profiles_pb2 import Sample

    found = {field.name: field.number for field in Sample.DESCRIPTOR.fields}
    wrong = {name for name, number in _SAMPLE_FIELDS.items() if found.get(name) != number}
    if wrong:
        raise ConfigError(
            "the installed opentelemetry-proto numbers profile samples in another way than "
            "version 1.10, which servers expect: install opentelemetry-proto>=1.40"
        )


def encode(payload: Payload) -> bytes:
    """`ExportProfilesServiceRequest` of a payload; equal payloads are equal bytes."""
    from opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2 import (
        ExportProfilesServiceRequest,
    )

    request = ExportProfilesServiceRequest()
    profile, options = unpack(payload.body)
    tables = _Tables(request.dictionary)
    resource = request.resource_profiles.add()
    for name, value in payload.labels:
        if not name.startswith("__"):
            key = "service.name" if name == "service_name" else name
            resource.resource.attributes.add(key=key).value.string_value = value
    scope = resource.scope_profiles.add()
    scope.scope.name = "whyflame"
    for column, sample_type in enumerate(profile.sample_types):
        target = scope.profiles.add(
            time_unix_nano=payload.time_ns,
            duration_nano=profile.duration_ns,
            period=1,
            profile_id=uuid.uuid5(_NAMESPACE, f"{payload.id}/{payload.time_ns}/{column}").bytes,
        )
        target.sample_type.type_strindex = tables.string(sample_type.name)
        target.sample_type.unit_strindex = tables.string(sample_type.unit)
        target.period_type.type_strindex = tables.string(options.name)
        target.period_type.unit_strindex = tables.string("count")
        _add_samples(target, profile, column, tables)
    encoded: bytes = request.SerializeToString(deterministic=True)
    return encoded


def _add_samples(target: Any, profile: Profile, column: int, tables: _Tables) -> None:
    for stack, labels, values in profile.stacks():
        if values[column]:
            sample = target.samples.add(stack_index=tables.stack(stack), values=[values[column]])
            named = dict(labels)
            if "span_id" in named:
                sample.link_index = tables.link(named["span_id"])


class _Tables:
    """The dictionary of one request; element 0 of every table is the zero value."""

    def __init__(self, dictionary: Any) -> None:
        self._dictionary = dictionary
        dictionary.mapping_table.add()
        dictionary.location_table.add()
        dictionary.function_table.add()
        dictionary.link_table.add()
        dictionary.string_table.append("")
        dictionary.attribute_table.add()
        dictionary.stack_table.add()
        self._strings = {"": 0}
        self._locations: dict[str, int] = {}
        self._stacks: dict[tuple[str, ...], int] = {}
        self._links: dict[str, int] = {}

    def string(self, text: str) -> int:
        if text not in self._strings:
            self._strings[text] = len(self._strings)
            self._dictionary.string_table.append(text)
        return self._strings[text]

    def stack(self, frames: tuple[str, ...]) -> int:
        if frames not in self._stacks:
            locations = [self._location(frame) for frame in reversed(frames)]
            self._stacks[frames] = len(self._dictionary.stack_table)
            self._dictionary.stack_table.add(location_indices=locations)
        return self._stacks[frames]

    def _location(self, frame: str) -> int:
        if frame not in self._locations:
            function = len(self._dictionary.function_table)
            self._dictionary.function_table.add(name_strindex=self.string(frame))
            self._locations[frame] = len(self._dictionary.location_table)
            self._dictionary.location_table.add().lines.add(function_index=function)
        return self._locations[frame]

    def link(self, span_id: str) -> int:
        if span_id not in self._links:
            self._links[span_id] = len(self._dictionary.link_table)
            self._dictionary.link_table.add(span_id=bytes.fromhex(span_id))
        return self._links[span_id]
