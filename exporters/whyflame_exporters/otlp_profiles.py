"""OTLP profiles over HTTP or gRPC: for collectors and backends that speak the draft standard.

One profile and one request per measure, since OTLP has one sample type a profile and a server may
take some profiles of a request and refuse the rest; the profile type ids come out as those of a
Pyroscope push. Resource attributes are the labels of the series.
"""

from __future__ import annotations

import threading
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whyflame.config.fields import setting
from whyflame.config.reading import read_options
from whyflame.errors import ConfigError, PermanentError, TransientError
from whyflame.export import RateLimitedError, TooLargeError
from whyflame.export.reshape import unpack
from whyflame_exporters.http import tenant_header
from whyflame_exporters.server import PROTOBUF, ServerExporter, ServerOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whyflame.export import Payload
    from whyflame.fold.pprof import PprofOptions
    from whyflame.fold.profile import Profile

__all__ = ["OtlpProfilesExporter", "OtlpProfilesOptions", "encode_measures"]

_PATH = "/v1development/profiles"
_METHOD = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
# Payloads whose sending was interrupted, of which is known what the server took.
_MOST_INTERRUPTED = 1024
_NAMESPACE = uuid.UUID("1c0d6f0e-40cf-4f0e-93d5-5b8a5c6b7d20")
# Numbers of opentelemetry-proto 1.10; before, servers answered 200 and stored nothing.
_SAMPLE_FIELDS = {"stack_index": 1, "attribute_indices": 2, "link_index": 3, "values": 4}


@dataclass(frozen=True, slots=True)
class OtlpProfilesOptions(ServerOptions):
    """Options of the OTLP profiles exporter."""

    protocol: str = setting("http", "transport", choices=("http", "grpc"))
    path: str = setting(_PATH, "path of the endpoint, for HTTP")


class OtlpProfilesExporter(ServerExporter):
    """Sends profiles to any OTLP profiles endpoint.

    Args:
        name: Name of the exporter block.
        options: The block's own keys.

    Raises:
        ConfigError: An option is unknown or wrong.
    """

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        read = read_options(OtlpProfilesOptions, options, f"exporters.{name}")
        super().__init__(name, read)
        self._options = read
        self._taken: dict[tuple[int, int], int] = {}
        self._lock = threading.Lock()

    def start(self) -> None:
        """Check that the installed messages have the numbers that servers expect."""
        _check_numbers()
        super().start()

    def send(self, payload: Payload) -> None:
        """Send one request per measure, so that a server takes each whole or not at all.

        The largest goes first: what is refused for its size is refused before anything is taken.
        After a failure the next attempt goes on where this one stopped.
        """
        key = (payload.id, payload.time_ns)
        with self._lock:
            first = self._taken.get(key, 0)
        for number, body in enumerate(encode_measures(payload)[first:], first):
            try:
                self._deliver(body, payload.tenant)
            except (TooLargeError, TransientError) as error:
                if number:
                    raise _interrupted(error) from error
                raise
            # At once: whatever ends the next one, this one was taken.
            self._remember(key, number + 1)
        with self._lock:
            self._taken.pop(key, None)

    def _deliver(self, body: bytes, tenant: str) -> None:
        headers = tenant_header(tenant)
        if self._grpc is not None:
            self._grpc.call(_METHOD, body, headers)
        else:
            self._http.post(self._options.path, body, headers | {"Content-Type": PROTOBUF})

    def _remember(self, key: tuple[int, int], number: int) -> None:
        """Requests of a payload that were taken; a payload that was given up is forgotten in time."""
        with self._lock:
            self._taken.pop(key, None)
            self._taken[key] = number
            while len(self._taken) > _MOST_INTERRUPTED:
                del self._taken[next(iter(self._taken))]


def _interrupted(error: Exception) -> Exception:
    """What to make of an error in the middle of a payload: never halves of the rest.

    Halves have times of their own, so what was taken would count twice.
    """
    if isinstance(error, TooLargeError):
        return PermanentError(f"others were taken: {error}", "partly_too_large")
    if isinstance(error, RateLimitedError):
        return RateLimitedError(
            str(error), error.retry_after_seconds, error.resume_at_ns, partly_taken=True
        )
    return error


def _check_numbers() -> None:
    from opentelemetry.proto.profiles.v1development.profiles_pb2 import Sample

    found = {field.name: field.number for field in Sample.DESCRIPTOR.fields}
    wrong = {name for name, number in _SAMPLE_FIELDS.items() if found.get(name) != number}
    if wrong:
        raise ConfigError(
            "the installed opentelemetry-proto numbers profile samples in another way than "
            "version 1.10, which servers expect: install opentelemetry-proto>=1.40"
        )


def encode_measures(payload: Payload) -> list[bytes]:
    """A request for each measure that has values, the largest first."""
    profile, options = unpack(payload.body)
    columns = [number for number, column in enumerate(profile.values) if any(column)]
    bodies = [_encode(payload, profile, options, column) for column in columns]
    return sorted(bodies, key=len, reverse=True)


def _encode(payload: Payload, profile: Profile, options: PprofOptions, column: int) -> bytes:
    """`ExportProfilesServiceRequest` with one measure; equal payloads are equal bytes."""
    from opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2 import (
        ExportProfilesServiceRequest,
    )

    request = ExportProfilesServiceRequest()
    tables = _Tables(request.dictionary)
    resource = request.resource_profiles.add()
    for name, value in payload.labels:
        if not name.startswith("__"):
            key = "service.name" if name == "service_name" else name
            resource.resource.attributes.add(key=key).value.string_value = value
    scope = resource.scope_profiles.add()
    scope.scope.name = "whyflame"
    target = scope.profiles.add(
        time_unix_nano=payload.time_ns,
        duration_nano=profile.duration_ns,
        period=1,
        profile_id=uuid.uuid5(_NAMESPACE, f"{payload.id}/{payload.time_ns}/{column}").bytes,
    )
    sample_type = profile.sample_types[column]
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
