"""The double keeps the contract of Pyroscope's OTLP profiles; numbers are those of the checks."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import grpc
import httpx
import pytest
from opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2 import (
    ExportProfilesServiceRequest,
)
from tests.doubles.pyroscope import Double
from tests.doubles.pyroscope.otlp import OTLP_METHOD, OTLP_PATH
from tests.integration.export.backends import LABELS, make_payload

from whyflame_exporters.otlp_profiles import encode_measures

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def double() -> Iterator[Double]:
    with Double() as started:
        yield started


def requests() -> dict[str, Any]:
    """A request for each measure, by its name."""
    found = [
        ExportProfilesServiceRequest.FromString(one) for one in encode_measures(make_payload(1))
    ]
    return {_measure(one): one for one in found}


def _measure(one: Any) -> str:
    (profile,) = one.resource_profiles[0].scope_profiles[0].profiles
    name: str = one.dictionary.string_table[profile.sample_type.type_strindex]
    return name


def request() -> Any:
    return requests()["tokens"]


def post(double: Double, message: Any, **headers: str) -> httpx.Response:
    body = message if isinstance(message, bytes) else message.SerializeToString()
    sent = {"Content-Type": "application/x-protobuf"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.post(double.url + OTLP_PATH, content=body, headers=sent, trust_env=False)


def test_check_50_ids(double: Double) -> None:
    assert {post(double, one).status_code for one in requests().values()} == {200}
    assert double.profiles.type_ids() == [
        "agent:cost:microusd:agent:count",
        "agent:duration:nanoseconds:agent:count",
        "agent:operations:count:agent:count",
        "agent:tokens:count:agent:count",
    ]
    assert double.sums() == {"operations": 2, "cost": 2, "duration": 8, "tokens": 120}


def test_check_51_no_period(double: Double) -> None:
    message = request()
    for profile in message.resource_profiles[0].scope_profiles[0].profiles:
        profile.period = 0
    response = post(double, message)
    assert response.status_code == 400
    assert "invalid metric name" in response.text


def test_check_52_old_numbering_never_becomes_data(double: Double) -> None:
    message = request()
    for profile in message.resource_profiles[0].scope_profiles[0].profiles:
        for sample in profile.samples:
            # Field 2 held the values before; read today it is a list of attributes.
            sample.attribute_indices.extend(sample.values)
            del sample.values[:]
    assert post(double, message).status_code in {200, 400}
    assert not double.profiles.all


def test_check_53_errors(double: Double) -> None:
    bare = request()
    bare.ClearField("dictionary")
    assert post(double, bare).status_code == 500
    dangling = request()
    dangling.resource_profiles[0].scope_profiles[0].profiles[0].samples[0].stack_index = 99
    assert post(double, dangling).status_code == 500
    assert post(double, request(), content_type="text/plain").status_code == 415
    parameters = "application/x-protobuf; charset=utf-8"
    assert post(double, request(), content_type=parameters).status_code == 415
    packed = gzip.compress(request().SerializeToString())
    assert post(double, packed, content_encoding="gzip").status_code == 200
    with grpc.insecure_channel(double.grpc_address) as channel:
        with pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary(OTLP_METHOD)(bare.SerializeToString(), timeout=5)
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        double.set_limits(burst_bytes=10)
        with pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary(OTLP_METHOD)(request().SerializeToString(), timeout=5)
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert post(double, request()).status_code == 429
    double.set_limits(request_bytes=10)
    assert post(double, request()).status_code == 413


def test_check_54_labels_and_links(double: Double) -> None:
    message = request()
    resource = message.resource_profiles[0].resource
    resource.attributes.add(key="k8s.pod.name").value.string_value = "p"
    message.dictionary.link_table.add(span_id=bytes.fromhex("00f067aa0ba902b7"))
    for profile in message.resource_profiles[0].scope_profiles[0].profiles:
        profile.samples[0].link_index = 1
    assert post(double, message).status_code == 200
    (labels,) = double.profiles.label_sets()
    assert dict(labels) == dict(LABELS) | {"k8s.pod.name": "p"}
    assert sum(double.profiles.of_span("00f067aa0ba902b7", "tokens").values()) == 20
