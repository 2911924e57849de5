"""The Pyroscope exporter's options and requests."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import json_format
from tests.doubles.pyroscope.wire import PushRequest

from whyflame.errors import ConfigError
from whyflame.export import Payload
from whyflame_exporters.pyroscope import PyroscopeExporter, encode_json, encode_proto

URL = {"url": "http://localhost:4040"}
PAYLOAD = Payload(
    id=7,
    exporter="out",
    tenant="",
    labels=(("__name__", "agent"), ("service_name", "sho\u0131p " + "x" * 300)),
    time_ns=1,
    body=b"\x1f\x8b\x08" + bytes(range(256)),
    size=1000,
    samples=1,
)


def test_json_and_protobuf_say_the_same() -> None:
    from_json = json_format.Parse(encode_json(PAYLOAD), PushRequest())
    from_proto = PushRequest.FromString(encode_proto(PAYLOAD))
    assert from_json == from_proto
    (series,) = from_proto.series
    assert [(pair.name, pair.value) for pair in series.labels] == list(PAYLOAD.labels)
    (sample,) = series.samples
    assert sample.raw_profile == PAYLOAD.body


def test_equal_payloads_are_equal_bytes() -> None:
    assert encode_proto(PAYLOAD) == encode_proto(PAYLOAD)
    assert encode_json(PAYLOAD) == encode_json(PAYLOAD)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "url is missing"),
        ({"url": "pyroscope:4040"}, 'expected an address such as "http://pyroscope:4040"'),
        ({"url": "http://user:pw@host"}, "credentials belong into basic_auth"),
        ({**URL, "encoding": "xml"}, "encoding: unknown value 'xml'"),
        ({**URL, "timeout": "soon"}, "timeout: expected a duration"),
        ({**URL, "basic_auth": {"username": "me"}}, "password_file is missing"),
        (
            {
                **URL,
                "bearer_token_file": "/nowhere",
                "basic_auth": {"username": "a", "password": "b"},
            },
            "exclude each other",
        ),
        ({**URL, "tls": {"cert_file": "x"}}, "cert_file and key_file must be given together"),
        ({**URL, "headers": {"a b": "c"}}, "'a b' is no header"),
        ({**URL, "tenant": "x"}, "did you mean tenant_id?"),
    ],
)
def test_wrong_options_name_the_key(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        PyroscopeExporter("out", options)
    assert text in str(caught.value)
    assert "exporters.out" in str(caught.value)


def test_a_missing_secret_shows_at_start(tmp_path: Any) -> None:
    exporter = PyroscopeExporter("out", {**URL, "bearer_token_file": str(tmp_path / "none")})
    with pytest.raises(ConfigError, match="secret file"):
        exporter.start()
