"""The double keeps the contract of Pyroscope's push side; numbers are those of the checks."""

from __future__ import annotations

import gzip
import time
from typing import TYPE_CHECKING

import grpc
import httpx
import pytest
from tests.doubles.pyroscope import LOST_ANSWER, RESET, Double, Fault, Limits
from tests.doubles.pyroscope.server import LABEL_NAMES_PATH, PUSH_PATH
from tests.doubles.pyroscope.wire import PushRequest
from tests.integration.doubles.messages import (
    LABELS,
    Fixture,
    padded,
    profile,
    push,
    push_body,
    push_json,
    push_proto,
    series,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

MINUTE = 60 * 1_000_000_000
MIB = 1 << 20
FLAVOURS = ["v1.21", "v2.0", "v2.2"]


class Clock:
    """A clock that only tests move."""

    def __init__(self) -> None:
        self.now_ns = time.time_ns()

    def __call__(self) -> int:
        return self.now_ns


@pytest.fixture
def double() -> Iterator[Double]:
    with Double() as started:
        yield started


@pytest.fixture
def clock() -> Clock:
    return Clock()


def refused(response: httpx.Response, status: int, text: str) -> None:
    assert response.status_code == status, response.text
    assert text in response.json()["message"]


def test_check_01_json(double: Double) -> None:
    response = push(double, profile())
    assert (response.status_code, response.text) == (200, "{}")
    assert double.sums() == {"operations": 2, "cost": 4, "duration": 6, "tokens": 8}


def test_check_02_proto(double: Double) -> None:
    response = push_proto(double, profile())
    assert (response.status_code, response.content) == (200, b"")
    assert response.headers["content-type"] == "application/proto"
    assert double.sums()["tokens"] == 8


def test_check_03_grpc(double: Double) -> None:
    assert double.url == f"http://{double.grpc_address}"
    with grpc.insecure_channel(double.grpc_address) as channel:
        call = channel.unary_unary(PUSH_PATH)
        assert call(push_body(profile()), timeout=5) == b""
        with pytest.raises(grpc.RpcError) as caught:
            call(PushRequest().SerializeToString(), timeout=5)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert double.sums()["tokens"] == 8


def test_check_04_content_encoding(double: Double) -> None:
    assert push_proto(double, profile(), content_encoding="gzip").status_code == 200
    assert push_proto(double, profile(), content_encoding="zstd").status_code == 501


def test_check_05_raw_profile_may_be_gzip(double: Double) -> None:
    content = profile()
    assert push(double, content).status_code == 200
    assert push(double, gzip.compress(content)).status_code == 200
    first, second = double.profiles.all[0], double.profiles.all[4]
    assert first.stacks == second.stacks


def test_check_06_methods_types_and_broken_json(double: Double) -> None:
    url = double.url + PUSH_PATH
    assert httpx.get(url, trust_env=False).status_code == 405
    plain = httpx.post(url, content=b"{}", headers={"Content-Type": "text/plain"}, trust_env=False)
    assert plain.status_code == 415
    broken = httpx.post(
        url, content=b"{nope", headers={"Content-Type": "application/json"}, trust_env=False
    )
    assert broken.status_code == 400
    assert broken.json()["code"] == "invalid_argument"


def test_check_07_json_names(double: Double) -> None:
    body = series(LABELS, profile())
    body["unheard"] = {"of": 1}
    body["samples"][0]["raw_profile"] = body["samples"][0].pop("rawProfile")
    assert push_json(double, {"series": [body]}).status_code == 200
    assert double.sums()["tokens"] == 8


def test_check_08_nothing_in_it(double: Double) -> None:
    refused(push_json(double, {"series": []}), 400, "no profiles received")
    refused(push(double), 400, "no profiles received")


def test_check_09_no_service(double: Double) -> None:
    assert push(double, profile(), labels={"__name__": "agent"}).status_code == 200
    assert double.sums(service_name="unknown_service")["tokens"] == 8


def test_check_10_no_name(double: Double) -> None:
    refused(push(double, profile(), labels={"service_name": "s"}), 400, "invalid metric name")


def test_check_11_label_twice(double: Double) -> None:
    labels = [*LABELS.items(), ("a", "1"), ("a", "2")]
    refused(push(double, profile(), labels=labels), 400, "duplicate label name")


def test_check_12_label_names(double: Double) -> None:
    def labels(count: int) -> dict[str, str]:
        return LABELS | {f"l{number}": "x" for number in range(count - 2)}

    refused(push(double, profile(), labels=labels(31)), 400, "has 31 label names; limit 30")
    assert push(double, profile(), labels=labels(30)).status_code == 200
    promoted = Fixture().sample(["a"], model="m").encode()
    refused(push(double, promoted, labels=labels(30)), 400, "has 31 label names")


def test_check_13_label_lengths(double: Double) -> None:
    assert push(double, profile(), labels=LABELS | {"a" * 1025: "x"}).status_code == 400
    assert push(double, profile(), labels=LABELS | {"a": "x" * 2049}).status_code == 400
    assert push(double, profile(), labels=LABELS | {"a" * 1024: "x" * 2048}).status_code == 200


def test_check_14_label_names_beyond_legacy() -> None:
    with Double("v2.2") as v2:
        assert push(v2, profile(), labels=LABELS | {"a.b": "1", "a-b": "2"}).status_code == 200
        assert dict(v2.profiles.all[0].labels)["a.b"] == "1"
        assert v2.profiles.label_names() == ["__name__", "service_name"]
    with Double("v1.21") as v1:
        assert push(v1, profile(), labels=LABELS | {"a.b": "1"}).status_code == 200
        assert dict(v1.profiles.all[0].labels)["a_b"] == "1"
        assert push(v1, profile(), labels=LABELS | {"a.b": "1", "a_b": "2"}).status_code == 400
        assert push(v1, profile(), labels=LABELS | {"a-b": "1"}).status_code == 400


def test_check_15_utf8_names_on_request(double: Double) -> None:
    push(double, profile(), labels=LABELS | {"a.b": "1"})
    shown = httpx.post(
        double.url + LABEL_NAMES_PATH,
        json={},
        headers={"Accept": "application/json;allow-utf8-labelnames=true"},
        trust_env=False,
    )
    assert "a.b" in shown.json()["names"]
    hidden = httpx.post(double.url + LABEL_NAMES_PATH, json={}, trust_env=False)
    assert "a.b" not in hidden.json()["names"]


def test_check_16_ingestion_window(clock: Clock) -> None:
    with Double(clock=clock) as double:
        for minutes in (-61, 11):
            late = push(double, profile(clock() + minutes * MINUTE))
            refused(late, 400, "outside of ingestion window")
        assert push(double, profile(clock() - 59 * MINUTE)).status_code == 200
        double.set_limits(reject_older_seconds=0)
        assert push(double, profile(clock() - 9999 * MINUTE)).status_code == 200


def test_check_17_no_time(clock: Clock) -> None:
    with Double(clock=clock) as double:
        assert push(double, profile(0)).status_code == 200
        assert double.profiles.all[0].time_ns == clock()


def test_check_18_profile_size(double: Double) -> None:
    double.set_limits(burst_bytes=64 * MIB)
    too_large = padded(4 * MIB + 100_000)
    refused(push_proto(double, too_large), 400, "uncompressed profile payload size exceeds limit")
    bomb = gzip.compress(b"\0" * (64 * MIB))
    refused(push_proto(double, bomb), 400, "uncompressed profile payload size exceeds limit")


def test_check_19_burst(double: Double) -> None:
    for _ in range(3):
        response = push_proto(double, padded(int(2.5 * MIB)))
        text = "push rate limit (4.0 MiB) exceeded while adding 2.5 MiB"
        refused(response, 429, text)
        assert response.json()["code"] == "resource_exhausted"
        assert "retry-after" not in response.headers


def test_check_20_rate(clock: Clock) -> None:
    with Double(clock=clock) as double:
        content = padded(MIB - 100_000)
        statuses = [push_proto(double, content).status_code for _ in range(4)]
        assert statuses == [200, 200, 429, 429]
        clock.now_ns += 1_000_000_000
        assert push_proto(double, content).status_code == 200


def test_check_21_rate_before_validation(double: Double) -> None:
    fixture = Fixture().sample(["a"])
    fixture.message.sample_type[0].type = fixture.string("in-put")
    for number in range(50):
        fixture.message.string_table.append(b"%03d" % number + b"x" * 50_000)
    assert push_proto(double, fixture.encode()).status_code == 429


def test_check_22_request_size(double: Double) -> None:
    double.set_limits(request_bytes=100_000)
    response = push_proto(double, padded(60_000), padded(60_000))
    text = "uncompressed batched profile payload size exceeds limit"
    refused(response, 400, text)


def test_check_23_samples(double: Double) -> None:
    def many(count: int) -> bytes:
        fixture = Fixture()
        location = fixture.location("a")
        for _ in range(count):
            fixture.message.sample.add(location_id=[location], value=(1, 1, 1, 1))
        return fixture.encode()

    refused(push_proto(double, many(16_001)), 400, "exceeds the samples count limit")
    assert push_proto(double, many(16_000)).status_code == 200


def test_check_24_labels_of_a_sample(double: Double) -> None:
    labels = {f"l{number}": "x" for number in range(101)}
    response = push(double, Fixture().sample(["a"], **labels).encode())
    refused(response, 400, "exceeds the sample labels limit")


def test_check_25_deep_stack(double: Double) -> None:
    stack = [f"f{number}" for number in range(1200)]
    assert push(double, Fixture().sample(stack).encode()).status_code == 200
    assert list(double.profiles.stacks("tokens")) == [tuple(stack[:1000])]


def test_check_26_long_names(double: Double) -> None:
    name = "".join(chr(97 + number % 26) for number in range(70_000))
    assert push(double, Fixture().sample([name]).encode()).status_code == 200
    assert list(double.profiles.stacks("tokens")) == [(name[-65_535:],)]
    cut_inside = Fixture().sample(["ä" * 35_000]).encode()
    refused(push(double, cut_inside), 400, "invalid utf8")


def test_check_27_invalid_utf8(double: Double) -> None:
    fixture = Fixture().sample(["a"])
    fixture.message.string_table.append(b"\xff\xfe")
    refused(push(double, fixture.encode()), 400, "invalid utf8")
    ingest = double.url + "/ingest?name=app&format=pprof"
    assert httpx.post(ingest, content=fixture.encode(), trust_env=False).status_code == 422


def test_check_28_dash_in_sample_type(double: Double) -> None:
    fixture = Fixture().sample(["a"])
    fixture.message.sample_type[3].type = fixture.string("input-tokens")
    refused(push(double, fixture.encode()), 400, "sample type contains -")


def test_check_29_zero_ids(double: Double) -> None:
    fixture = Fixture().sample(["a"])
    fixture.message.location.add(id=0)
    refused(push(double, fixture.encode()), 400, "location id is 0")
    fixture = Fixture().sample(["a"])
    fixture.message.function.add(id=0)
    refused(push(double, fixture.encode()), 400, "function id is 0")


def test_check_30_malformed_tables(double: Double) -> None:
    refused(push(double, Fixture().sample(["a"], (1, 2)).encode()), 400, "length mismatch")
    empty = Fixture().sample(["a"])
    del empty.message.sample_type[:]
    refused(push(double, empty.encode()), 400, "empty profile")
    shifted = Fixture().sample(["a"])
    shifted.message.string_table[0] = b"x"
    assert push(double, shifted.encode()).status_code == 400
    beyond = Fixture().sample(["a"])
    beyond.message.function[0].name = 999
    assert push(double, beyond.encode()).status_code == 400


def test_check_31_negative_and_empty_samples(double: Double) -> None:
    mixed = Fixture().sample(["a"], (1, -2, 3, 4)).sample(["b"], (0, 0, 0, 0)).sample(["c"])
    assert push(double, mixed.encode()).status_code == 200
    assert double.profiles.stacks("tokens") == {("c",): 4}
    before = len(double.profiles.all)
    assert push(double, Fixture().sample(["a"], (0, 0, 0, 0)).encode()).status_code == 200
    assert len(double.profiles.all) == before


def test_check_32_no_period_type(double: Double) -> None:
    doomed = Fixture(period=False).sample(["a"]).sample(["b"], (0, 0, 0, 0))
    response = push(double, doomed.encode())
    assert (response.status_code, response.json()["code"]) == (500, "unknown")
    assert push(double, Fixture(period=False).sample(["a"]).encode()).status_code == 200
    assert all(name.endswith("::") for name in double.profiles.type_ids())


def test_check_33_equal_samples_are_added(double: Double) -> None:
    push(double, Fixture().sample(["a"]).sample(["a"]).encode())
    assert double.profiles.stacks("tokens") == {("a",): 8}
    assert len(double.profiles.all[3].stacks) == 1


def test_check_34_numeric_labels_go(double: Double) -> None:
    fixture = Fixture().sample(["a"])
    fixture.message.sample[0].label.add(key=fixture.string("turn"), num=7)
    assert push(double, fixture.encode()).status_code == 200
    assert double.profiles.label_sets() == {tuple(sorted(LABELS.items()))}
    assert double.profiles.all[0].stacks[0][1] == ()


def test_check_35_string_labels_become_series_labels(double: Double) -> None:
    two = Fixture().sample(["a"], model="x").sample(["a"], model="y").encode()
    push(double, two)
    assert {dict(labels)["model"] for labels in double.profiles.label_sets()} == {"x", "y"}
    push(double, two, labels=LABELS | {"model": "z", "agent": "b"})
    assert double.sums(agent="b", model="z")["tokens"] == 8


@pytest.mark.parametrize("label", ["span_id", "profile_id"])
def test_check_36_span_id_stays_with_the_sample(double: Double, label: str) -> None:
    push(double, Fixture().sample(["a"], **{label: "00f067aa0ba902b7"}).sample(["b"]).encode())
    assert double.profiles.label_names() == ["__name__", "service_name"]
    assert double.profiles.of_span("00f067aa0ba902b7", "tokens") == {("a",): 4}


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_check_37_trace_id(flavour: str) -> None:
    with Double(flavour) as double:
        push(double, Fixture().sample(["a"], trace_id="1" * 32).encode())
        shown = "trace_id" in double.profiles.label_names()
        assert shown is (flavour != "v2.2")


def test_check_38_session_label_goes(double: Double) -> None:
    push(double, profile(), labels=LABELS | {"__session_id__": "ab"})
    assert double.profiles.label_sets() == {tuple(sorted(LABELS.items()))}


def test_check_39_annotations_are_ignored(double: Double) -> None:
    body = series(LABELS, profile()) | {"annotations": [{"key": "a", "value": "b"}]}
    assert push_json(double, {"series": [body]}).status_code == 200


def test_check_40_one_bad_series_fails_the_call(double: Double) -> None:
    good, bad = series(LABELS, profile()), series({"service_name": "s"}, profile())
    response = push_json(double, {"series": [good, bad]})
    refused(response, 400, "push series with index 1 and id id-0 failed")
    assert double.sums()["tokens"] == 8


def test_check_41_tenants() -> None:
    with Double(limits=Limits(multitenancy=True)) as double:
        response = push(double, profile())
        assert response.status_code == 401
        assert response.json()["code"] == "unauthenticated"
        assert push(double, profile(), headers={"X-Scope-OrgID": "a"}).status_code == 200
        assert double.profiles.sums("a")
        assert not double.profiles.sums("b")
    with Double() as double:
        for tenant in ("a", "b"):
            push(double, profile(), headers={"X-Scope-OrgID": tenant})
        assert double.profiles.sums("anonymous")["tokens"] == 16


def test_check_42_compaction(double: Double) -> None:
    now = time.time_ns()
    content = profile(now)
    for _ in range(2):
        push(double, content)
    assert double.sums()["tokens"] == 16
    assert double.compact() == 4
    assert double.sums()["tokens"] == 8
    push(double, Fixture(now).sample(["elsewhere"]).encode())
    double.compact()
    assert ("elsewhere",) not in double.profiles.stacks("tokens")


def test_check_42_v1_joins_milliseconds() -> None:
    moment = time.time_ns() // 1_000_000 * 1_000_000
    for flavour, left in (("v1.21", 4), ("v2.2", 8)):
        with Double(flavour) as double:
            push(double, profile(moment))
            push(double, profile(moment + 1000))
            double.compact()
            assert len(double.profiles.all) == left


def test_check_43_ids_are_the_servers(double: Double) -> None:
    push(double, profile())
    assert all("id-" not in stored.id for stored in double.profiles.all)


def test_check_44_errors_are_json_for_protobuf_too(double: Double) -> None:
    response = push_proto(double)
    assert response.headers["content-type"] == "application/json"
    assert response.json()["code"] == "invalid_argument"


def test_check_45_faults(double: Double) -> None:
    for status in (503, 500, 429):
        double.fail_next(status)
        assert push(double, profile()).status_code == status
    assert not double.profiles.all
    double.fail_next(Fault(502, text="<html>bad gateway</html>", headers={"Retry-After": "7"}))
    response = push(double, profile())
    assert (response.status_code, response.headers["retry-after"]) == (502, "7")
    double.fail_next(RESET)
    with pytest.raises(httpx.RemoteProtocolError):
        push(double, profile())
    assert not double.profiles.all
    double.fail_next(LOST_ANSWER)
    with pytest.raises(httpx.RemoteProtocolError):
        push(double, profile())
    assert double.sums()["tokens"] == 8


def test_v1_bounds_active_series() -> None:
    limits = Limits(active_series=8)
    with Double("v1.21", limits) as v1, Double("v2.2", limits) as v2:
        for double, last in ((v1, 429), (v2, 200)):
            answers = [
                push(double, profile(), labels=LABELS | {"agent": str(number)}).status_code
                for number in range(3)
            ]
            assert answers == [200, 200, last]


def test_ready_and_state(double: Double) -> None:
    push(double, profile())
    assert httpx.get(double.url + "/ready", trust_env=False).status_code == 200
    state = httpx.get(double.url + "/double/state", trust_env=False).json()
    assert state["sums"]["tokens"] == 8
    assert state["series"] == 4
    folded = httpx.get(double.url + "/double/stacks/tokens", trust_env=False).text
    assert folded == "".join(
        f"{';'.join(frames)} {value}\n"
        for frames, value in sorted(double.profiles.stacks("tokens").items())
    )
