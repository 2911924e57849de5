"""What the specification's checklist of a good receiver asks for beyond single answers.

`REQUIREMENTS` names, for each of its 26 points, tests that fail when it is not met; that they exist
is a test too.
"""

from __future__ import annotations

import http.client
import logging
import re
import socket
import time
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.integration.receive.test_http import BODY, JSON, PROTOBUF

from whyflame import telemetry
from whyflame.config import Config
from whyflame.errors import ConfigError

TESTS = Path(__file__).resolve().parents[2]
HERE = "integration/receive"
REQUIREMENTS = {
    1: (f"{HERE}/test_grpc.py::test_every_signal_is_taken",
        f"{HERE}/test_http.py::test_every_signal_is_taken",
        f"{HERE}/test_grpc.py::test_unknown_methods_are_unimplemented",
        f"{HERE}/test_good_citizen.py::test_the_path_is_configurable"),
    2: (f"{HERE}/test_grpc.py::test_gzip_is_inflated", f"{HERE}/test_http.py::test_compressions",
        f"{HERE}/test_http.py::test_wrong_bodies_are_refused_for_good"),
    3: (f"{HERE}/test_grpc.py::test_the_size_is_limited_before_and_after_inflating",
        f"{HERE}/test_http.py::test_the_size_is_limited_before_and_after_inflating",
        f"{HERE}/test_good_citizen.py::test_defaults_are_those_of_the_specification"),
    4: ("unit/receive/test_status.py::test_messages_are_short",),
    5: ("unit/receive/test_warnings.py::test_answers_are_what_otlp_says",),
    6: ("unit/receive/test_warnings.py::test_answers_are_what_otlp_says",
        "unit/receive/test_warnings.py::test_a_wrong_clock_is_said"),
    7: ("unit/receive/test_validate.py::test_an_empty_request_is_fine",
        f"{HERE}/test_http.py::test_every_signal_is_taken"),
    8: (f"{HERE}/test_grpc.py::test_malformed_requests_are_refused_for_good",
        f"{HERE}/test_http.py::test_wrong_bodies_are_refused_for_good",
        "unit/receive/test_status.py::test_the_official_messages_read_it"),
    9: (f"{HERE}/test_grpc.py::test_too_much_pending_is_refused_for_now",
        f"{HERE}/test_http.py::test_too_much_pending_is_refused_for_now",
        f"{HERE}/test_refusals.py::test_every_reason_is_answered_as_the_specification_says",
        "integration/journal/test_writer.py::test_a_full_disk_refuses_and_recovers"),
    10: ("unit/receive/test_status.py::test_errors_become_answers",),
    11: ("unit/receive/test_status.py::test_errors_become_answers",),
    12: (f"{HERE}/test_http.py::test_other_types_and_methods_are_refused",
         f"{HERE}/test_http.py::test_wrong_bodies_are_refused_for_good",
         f"{HERE}/test_http.py::test_json_is_journalled_as_protobuf"),
    13: ("unit/receive/test_validate.py::test_json_becomes_the_protobuf_it_means",),
    14: (f"{HERE}/test_good_citizen.py::test_one_connection_takes_both_encodings_and_refusals",),
    15: ("integration/test_corpus_counting.py",),
    16: (f"{HERE}/test_stop.py::test_sigkill_under_load_loses_nothing_acknowledged",),
    17: ("integration/journal/test_tail.py::test_receivers_refuse_while_too_much_waits",
         "unit/receive/test_limits.py::test_bytes_in_hand_are_bounded_and_given_back",
         "integration/journal/test_writer.py::test_bytes_waiting_for_the_disk_are_bounded"),
    18: ("integration/peers/test_collector.py::test_nothing_is_lost_and_nothing_doubled",
         f"{HERE}/test_sdk_exporters.py::test_a_refusal_for_now_is_repeated_until_it_passes"),
    19: (f"{HERE}/test_good_citizen.py::test_pings_never_end_a_connection",
         f"{HERE}/test_good_citizen.py::test_old_connections_are_replaced_without_an_error"),
    20: (f"{HERE}/test_tls.py::test_both_ports_speak_tls",
         f"{HERE}/test_tls.py::test_client_certificates_are_demanded",
         f"{HERE}/test_tls.py::test_a_replaced_certificate_is_taken_up",
         f"{HERE}/test_good_citizen.py::test_defaults_are_those_of_the_specification",
         "unit/config/test_review.py::test_an_open_port_without_tokens_is_said"),
    21: (f"{HERE}/test_grpc.py::test_tokens_are_demanded",
         f"{HERE}/test_http.py::test_tokens_are_demanded",
         f"{HERE}/test_grpc.py::test_tokens_are_read_again_when_the_file_changes",
         f"{HERE}/test_foreign_pages.py::test_foreign_pages_may_not_post"),
    22: ("integration/access/test_tenants.py::test_no_route_shows_another_tenant",
         "integration/export/test_pyroscope_exporter.py"),
    23: (f"{HERE}/test_grpc.py::test_health_is_answered",
         "integration/serve/test_ready.py::test_not_ready_while_starting_stopping_or_full"),
    24: (f"{HERE}/test_good_citizen.py::test_what_became_of_requests_is_counted",
         "unit/test_telemetry.py"),
    25: (f"{HERE}/test_grpc.py::test_watchers_see_the_stop_before_it_happens",
         f"{HERE}/test_stop.py::test_sigterm_under_load_finishes_what_was_begun"),
    26: ("unit/config/test_reading.py", f"{HERE}/test_grpc.py::test_a_used_port_is_a_configuration_error",
         f"{HERE}/test_good_citizen.py::test_nothing_that_was_sent_is_in_the_log",
         f"{HERE}/test_good_citizen.py::test_defaults_are_those_of_the_specification",
         "helm/test_chart.py::test_the_pod_meets_the_restricted_standard"),
}  # fmt: skip


@pytest.mark.parametrize("number", range(1, 27))
def test_every_requirement_has_its_test(number: int) -> None:
    for named in REQUIREMENTS[number]:
        file, _, test = named.partition("::")
        text = (TESTS / file).read_text(encoding="utf-8")
        assert re.search(rf"^def {test or 'test_'}", text, re.MULTILINE), named


def test_defaults_are_those_of_the_specification() -> None:
    """64 MiB a request; nothing listens beyond this machine, in plain text or not."""
    config = Config()
    assert config.otlp.max_request_bytes == 64 << 20
    assert (config.otlp.grpc, config.otlp.http) == ("127.0.0.1:4317", "127.0.0.1:4318")
    assert config.http.listen == "127.0.0.1:4319"


@pytest.mark.parametrize("prefix", ["otlp/in", "/otlp/in", "/otlp/in/"])
def test_the_path_is_configurable(start: Any, make_body: Any, prefix: str) -> None:
    running = start(http_prefix=prefix)
    below = running.url().replace("/v1/", "/otlp/in/v1/")
    assert post(below, make_body(), PROTOBUF) == 200
    assert post(running.url(), make_body(), PROTOBUF) == 404


def test_a_path_that_is_none_stops_the_start(start: Any) -> None:
    with pytest.raises(ConfigError, match=r"otlp\.http_prefix '/\{x\}'"):
        start(http_prefix="/{x}")


def post(url: str, body: bytes, headers: dict[str, str]) -> int:
    host, _, path = url.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host, timeout=20)
    connection.request("POST", f"/{path}", body, headers)
    status = connection.getresponse().status
    connection.close()
    return status


def test_one_connection_takes_both_encodings_and_refusals(running: Any, make_body: Any) -> None:
    """HTTP/1.1 with keep-alive: a refusal does not cost the connection either."""
    connection = http.client.HTTPConnection(running.addresses.http, timeout=20)
    connection.connect()
    opened = connection.sock
    for body, headers, status in (
        (make_body(), PROTOBUF, 200),
        (BODY.encode(), JSON, 200),
        (b"{", JSON, 400),
        (b"x", {"content-type": "text/xml"}, 415),
        (make_body(), PROTOBUF, 200),
    ):
        connection.request("POST", "/v1/traces", body, headers)
        answer = connection.getresponse()
        answer.read()
        assert (answer.status, answer.version) == (status, 11)
        assert connection.sock is opened
    connection.close()
    assert len(running.frames()) == 3


def test_pings_never_end_a_connection(running: Any) -> None:
    """Many times what gRPC's own default (one in five minutes, two strikes) ends with GOAWAY."""
    settings, ping, goaway = 4, 6, 7
    host, _, port = running.addresses.grpc.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(settings))
        answers = connection.makefile("rb")
        for number in range(40):
            connection.sendall(frame(ping, number.to_bytes(8, "big")))
            kind, payload = read_frame(answers)
            while kind != ping or payload != number.to_bytes(8, "big"):
                assert kind != goaway
                kind, payload = read_frame(answers)


def read_frame(answers: Any) -> tuple[int, bytes]:
    """Kind and payload of the next frame; fails when the connection has been closed."""
    head = answers.read(9)
    assert len(head) == 9
    return head[3], answers.read(int.from_bytes(head[:3], "big"))


def frame(kind: int, payload: bytes = b"") -> bytes:
    """One HTTP/2 frame of the connection itself."""
    return len(payload).to_bytes(3, "big") + bytes([kind, 0, 0, 0, 0, 0]) + payload


@pytest.mark.slow
def test_old_connections_are_replaced_without_an_error(start: Any, make_body: Any) -> None:
    """So that clients spread over replicas that came later."""
    running = start(max_connection_age=0.3)
    export, states = running.export(), []
    running.channels[-1].subscribe(states.append)
    deadline = time.monotonic() + 20
    sent = 0
    while states.count(grpc.ChannelConnectivity.READY) < 3 and time.monotonic() < deadline:
        export(make_body(), wait_for_ready=True, timeout=20)
        sent += 1
        time.sleep(0.02)
    assert states.count(grpc.ChannelConnectivity.READY) >= 3
    assert len(running.frames()) == sent


def count_of(kind: str, **labels: str) -> float:
    """One counter of the receiver, summed over the labels that are not named."""
    wanted = [f'{name}="{value}"' for name, value in labels.items()]
    return sum(
        float(line.rpartition(" ")[2])
        for line in telemetry.render()[0].decode().splitlines()
        if line.startswith(f"whyflame_receiver_{kind}_total{{")
        and all(label in line for label in wanted)
    )


def test_what_became_of_requests_is_counted(start: Any, make_body: Any) -> None:
    """Accepted, refused for now, invalid for good: by transport and signal."""
    running = start(max_pending_bytes=1000)
    kinds = ("accepted_items", "accepted_requests", "refused_requests", "invalid_requests")
    before = {kind: count_of(kind, transport="http", signal="traces") for kind in kinds}
    assert post(running.url(), b"\xff\xff", PROTOBUF) == 400
    assert post(running.url(), make_body(3, "x" * 2000), PROTOBUF) == 200
    assert post(running.url(), make_body(), PROTOBUF) == 503
    after = {kind: count_of(kind, transport="http", signal="traces") for kind in kinds}
    changed = {kind: after[kind] - before[kind] for kind in kinds}
    assert changed == {
        "accepted_items": 3, "accepted_requests": 1, "refused_requests": 1, "invalid_requests": 1
    }  # fmt: skip


def test_nothing_that_was_sent_is_in_the_log(
    start: Any, make_body: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither of what was taken nor of what was refused, at any level."""
    caplog.set_level(logging.DEBUG)
    secret = "correct-horse-battery"
    running = start(max_pending_bytes=1000)
    body = make_body(1, f"{secret} {'x' * 2000}")
    damaged = make_body(1, secret)[:-3]
    assert post(running.url(), damaged, PROTOBUF) == 400
    assert post(running.url(), f'{{"{secret}'.encode(), JSON) == 400
    assert post(running.url(), body, PROTOBUF | {"authorization": f"Bearer {secret}"}) == 200
    assert post(running.url(), body, PROTOBUF) == 503
    with pytest.raises(grpc.RpcError):
        running.export()(damaged)
    assert secret not in caplog.text
    assert secret not in telemetry.render()[0].decode()
