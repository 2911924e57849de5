"""OTLP profiles as the server takes them: one measure a profile, ids from the period type."""

from __future__ import annotations

from typing import Any

from google.protobuf import json_format
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2 import (
    ExportProfilesServiceRequest,
    ExportProfilesServiceResponse,
)

from tests.doubles.pyroscope.distributor import Distributor, inflate
from tests.doubles.pyroscope.errors import Refusal, invalid
from tests.doubles.pyroscope.wire import Profile

OTLP_PATH = "/v1development/profiles"
OTLP_METHOD = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
_PROTOBUF = {"application/x-protobuf", "application/protobuf"}


class ConversionError(Exception):
    """The request hangs together wrongly; HTTP calls that 500, gRPC InvalidArgument."""


def handle_otlp(
    distributor: Distributor, headers: dict[str, str], body: bytes
) -> tuple[int, str, bytes]:
    """Status, content type and body of the HTTP answer."""
    kind = headers.get("content-type", "")
    if kind not in {*_PROTOBUF, "application/json"}:
        return 415, "text/plain", b"unsupported content type\n"
    try:
        tenant = distributor.tenant(headers.get("x-scope-orgid"))
        if headers.get("content-encoding") == "gzip":
            body = inflate(body, distributor.limits.request_bytes)
        if len(body) > distributor.limits.request_bytes:
            return 413, "text/plain", b"request body too large\n"
        export_profiles(distributor, tenant, _parse(kind, body))
    except Refusal as refusal:
        status = 413 if "payload size" in refusal.message else refusal.http_status
        return status, "text/plain", refusal.message.encode()
    except ConversionError as error:
        return 500, "text/plain", str(error).encode()
    return 200, "application/x-protobuf", ExportProfilesServiceResponse().SerializeToString()


def handle_grpc(distributor: Distributor, tenant: str | None, body: bytes) -> bytes:
    """The gRPC answer; what HTTP calls 500 is an invalid argument here."""
    request = ExportProfilesServiceRequest.FromString(body)
    try:
        export_profiles(distributor, distributor.tenant(tenant), request)
    except ConversionError as error:
        raise invalid(str(error)) from None
    response: bytes = ExportProfilesServiceResponse().SerializeToString()
    return response


def _parse(kind: str, body: bytes) -> Any:
    try:
        if kind == "application/json":
            return json_format.Parse(body, ExportProfilesServiceRequest())
        return ExportProfilesServiceRequest.FromString(body)
    except (DecodeError, json_format.ParseError, UnicodeDecodeError) as error:
        raise invalid(str(error)) from None


def export_profiles(distributor: Distributor, tenant: str, request: Any) -> None:
    """Convert every profile to pprof and push it down the usual path."""
    if not request.HasField("dictionary"):
        raise ConversionError("missing profiles dictionary")
    table = request.dictionary
    for resource in request.resource_profiles:
        labels = _attributes(resource.resource.attributes)
        for scope in resource.scope_profiles:
            own = labels | _attributes(scope.scope.attributes)
            for profile in scope.profiles:
                _push(distributor, tenant, own, profile, table)


def _attributes(attributes: Any) -> dict[str, str]:
    found = {}
    for pair in attributes:
        if pair.value.HasField("string_value"):
            found[pair.key] = pair.value.string_value
        elif pair.value.HasField("int_value"):
            found[pair.key] = str(pair.value.int_value)
    return found


def _push(
    distributor: Distributor, tenant: str, labels: dict[str, str], profile: Any, table: Any
) -> None:
    strings = table.string_table
    if not table.mapping_table:
        raise ConversionError("mapping_index out of range")
    name = strings[profile.period_type.type_strindex] if profile.period else ""
    pairs = [("__name__", name)] if name else []
    service = labels.get("service.name", "unknown_service")
    pairs += sorted((key, value) for key, value in labels.items() if key != "service.name")
    pairs.append(("service_name", service))
    try:
        converted = _Converter(profile, table)
    except IndexError:
        raise ConversionError("index out of range") from None
    distributor.push_profile(tenant, pairs, converted.message.SerializeToString())


class _Converter:
    """One OTLP profile as a pprof message."""

    def __init__(self, profile: Any, table: Any) -> None:
        self.message = Profile(time_nanos=profile.time_unix_nano, period=profile.period)
        self._table = table
        self._strings: dict[bytes, int] = {}
        self._locations: dict[int, int] = {}
        self._string("")
        strings = table.string_table
        for target, source in (
            (self.message.sample_type.add(), profile.sample_type),
            (self.message.period_type, profile.period_type),
        ):
            target.type = self._string(strings[source.type_strindex])
            target.unit = self._string(strings[source.unit_strindex])
        self.message.mapping.add(id=1)
        for sample in profile.samples:
            self._add(sample)

    def _string(self, text: str) -> int:
        number = self._strings.setdefault(text.encode(), len(self._strings))
        if number == len(self.message.string_table):
            self.message.string_table.append(text.encode())
        return number

    def _add(self, sample: Any) -> None:
        table = self._table
        values = list(sample.values) or [len(sample.timestamps_unix_nano)]
        converted = self.message.sample.add(value=values[:1])
        stack = table.stack_table[sample.stack_index]
        converted.location_id.extend(self._location(index) for index in stack.location_indices)
        known = [index for index in sample.attribute_indices if index < len(table.attribute_table)]
        for index in known:
            attribute = table.attribute_table[index]
            converted.label.add(
                key=self._string(table.string_table[attribute.key_strindex]),
                str=self._string(attribute.value.string_value),
            )
        link = table.link_table[sample.link_index] if sample.link_index else None
        if link is not None:
            for key, value in (("span_id", link.span_id), ("trace_id", link.trace_id)):
                converted.label.add(key=self._string(key), str=self._string(value.hex()))

    def _location(self, index: int) -> int:
        if index in self._locations:
            return self._locations[index]
        number = self._locations[index] = len(self._locations) + 1
        location = self.message.location.add(id=number, mapping_id=1)
        for line in self._table.location_table[index].lines:
            function = self._table.function_table[line.function_index]
            identifier = len(self.message.function) + 1
            name = self._string(self._table.string_table[function.name_strindex])
            self.message.function.add(id=identifier, name=name)
            location.line.add(function_id=identifier)
        return number
