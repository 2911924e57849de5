"""What whyflame writes and answers, held field by field against Pyroscope's own `.proto` files.

They are in `tests/doubles/pyroscope/api`; the shipped packages have no copy of them.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf import json_format, unknown_fields
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given
from tests.doubles.protos import pool_of
from tests.doubles.pyroscope.wire import API, PREFIX
from tests.fold_strategies import profiles

from whyflame.export import Payload
from whyflame.fold.cost import in_micro_usd
from whyflame.fold.pprof import encode_message
from whyflame.serve.pyroscope.messages import message_class
from whyflame.serve.pyroscope.methods import METHODS
from whyflame_exporters.pyroscope import encode_json, encode_proto

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor
    from google.protobuf.message import Message

    from whyflame.fold.profile import Profile

ROOT = Path(__file__).resolve().parents[3]
POOL = pool_of(API)  # as vendored, while the double's reads string tables as bytes
PUSH, PPROF = (
    GetMessageClass(POOL.FindMessageTypeByName(PREFIX + name))
    for name in ("push.v1.PushRequest", "google.v1.Profile")
)
OURS = sorted(
    {message_class(name).DESCRIPTOR.file for name in ("Profile", "LabelPair", "SeriesRequest")},
    key=lambda file: file.package,
)
MESSAGES = [message for file in OURS for message in file.message_types_by_name.values()]
ENUMS = [enum for file in OURS for enum in file.enum_types_by_name.values()]
SERVICE = POOL.FindServiceByName(f"{PREFIX}querier.v1.QuerierService")
PAYLOAD = Payload(
    id=7,
    exporter="out",
    tenant="",
    labels=(("__name__", "agent"), ("service_name", "shop")),
    time_ns=1,
    body=b"\x1f\x8b\x08" + bytes(range(256)),
    size=1000,
    samples=1,
)

NOT_ANSWERED = {
    "types.v1.Point": {"annotations"},
    "querier.v1.SelectMergeStacktracesResponse": {"async"},
    "querier.v1.AnalyzeQueryResponse": {"query_scopes", "query_impact"},
}
"""Fields of answers that whyflame has nothing for. Of a request none may be missing."""


def named(item: Any) -> Any:
    return item.full_name.removeprefix(PREFIX) if item is not None else None


def meaning(field: FieldDescriptor) -> dict[str, Any]:
    return {
        "number": field.number,
        "type": field.type,
        "repeated": field.is_repeated,
        "presence": field.has_presence,
        "oneof": named(field.containing_oneof),
        "json": field.json_name,
        "message": named(field.message_type),
        "enum": named(field.enum_type),
    }


@pytest.mark.parametrize("message", MESSAGES, ids=named)
def test_every_field_of_a_message_is_pyroscope_s(message: Descriptor) -> None:
    reference = POOL.FindMessageTypeByName(PREFIX + message.full_name)
    ours, theirs = (
        {field.name: meaning(field) for field in one.fields} for one in (message, reference)
    )
    assert ours == {name: theirs[name] for name in ours}
    assert set(theirs) - set(ours) == NOT_ANSWERED.get(message.full_name, set())


@pytest.mark.parametrize("enum", ENUMS, ids=named)
def test_every_value_of_an_enum_is_pyroscope_s(enum: Any) -> None:
    reference = POOL.FindEnumTypeByName(PREFIX + enum.full_name)
    ours, theirs = ([(item.name, item.number) for item in one.values] for one in (enum, reference))
    assert ours == theirs


def test_all_packages_are_compared() -> None:
    assert [file.package for file in OURS] == ["google.v1", "querier.v1", "types.v1"]
    assert {name for name in NOT_ANSWERED if name.endswith("Request")} == set()


def test_every_method_is_answered() -> None:
    assert {method.name for method in SERVICE.methods} == set(METHODS)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_method_takes_and_gives_pyroscope_s_messages(name: str) -> None:
    method = SERVICE.FindMethodByName(name)
    assert named(method.input_type) == message_class(f"{name}Request").DESCRIPTOR.full_name
    answer = "Profile" if name == "SelectMergeProfile" else f"{name}Response"
    assert named(method.output_type) == message_class(answer).DESCRIPTOR.full_name


def assert_nothing_unknown(message: Message) -> None:
    assert not list(unknown_fields.UnknownFieldSet(message)), message.DESCRIPTOR.full_name
    for field, value in message.ListFields():
        if field.message_type is not None:
            for child in value if field.is_repeated else [value]:
                assert_nothing_unknown(child)


def test_a_push_is_pyroscope_s_message() -> None:
    pushed = PUSH.FromString(encode_proto(PAYLOAD))
    assert_nothing_unknown(pushed)
    assert json_format.Parse(encode_json(PAYLOAD), PUSH()) == pushed
    (series,) = pushed.series
    assert [(pair.name, pair.value) for pair in series.labels] == list(PAYLOAD.labels)
    assert [sample.raw_profile for sample in series.samples] == [PAYLOAD.body]
    assert series.samples[0].ID


@given(profiles)
def test_a_profile_is_pyroscope_s_message(profile: Profile) -> None:
    message = PPROF.FromString(encode_message(profile))
    assert_nothing_unknown(message)
    texts = message.string_table
    functions = {function.id: texts[function.name] for function in message.function}
    frames = {one.id: functions[one.line[0].function_id] for one in message.location}
    found = [
        (
            tuple(frames[number] for number in reversed(sample.location_id)),
            tuple((texts[label.key], texts[label.str]) for label in sample.label),
            tuple(sample.value),
        )
        for sample in message.sample
    ]
    rounded, _ = in_micro_usd(profile)
    assert found == [
        (tuple(stack), labels, tuple(values)) for stack, labels, values in rounded.stacks()
    ]
    types = [(texts[item.type], texts[item.unit]) for item in message.sample_type]
    assert types == [(item.name, item.unit) for item in rounded.sample_types]
    assert texts[message.default_sample_type] == rounded.default
    assert (message.time_nanos, message.duration_nanos) == (profile.time_ns, profile.duration_ns)
    assert message.mapping[0].has_functions


def test_the_files_are_what_the_pinned_module_has() -> None:
    script = ROOT / "scripts/vendor-protos"
    done = subprocess.run([script, "--check"], capture_output=True, text=True, check=False)
    if done.returncode == 2:
        pytest.skip(f"needs Go and its module proxy: {done.stderr}")
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_file_says_that_it_was_changed_and_where_from() -> None:
    version = next(
        line.split()[1]
        for line in (ROOT / "tests/peers/go.mod").read_text().splitlines()
        if "github.com/grafana/pyroscope/api" in line
    )
    assert "Apache License" in (API / "LICENSE").read_text()
    assert version in (API / "README.md").read_text()
    for file in API.rglob("*.proto"):
        notice = file.read_text().splitlines()[0]
        assert notice.startswith("// Changed by whyflame")
        assert version in notice
