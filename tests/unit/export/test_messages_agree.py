"""The descriptions of Pyroscope's messages share no code, so that each can check the other."""

from __future__ import annotations

import pytest
from tests.doubles.pyroscope import wire

from whyflame.serve.pyroscope.messages import message_class

PPROF = ("ValueType", "Label", "Sample", "Mapping", "Line", "Location", "Function", "Profile")
BYTES_OF_STRINGS = {"string_table"}  # see wire.py


def fields(descriptor) -> dict[str, tuple[int, int, bool]]:
    return {
        field.name: (field.number, field.type, field.is_repeated) for field in descriptor.fields
    }


@pytest.mark.parametrize("name", PPROF)
def test_pprof_of_the_query_api_is_the_double_s(name: str) -> None:
    whole = message_class("Profile").DESCRIPTOR.file.message_types_by_name[name]
    theirs = wire.Profile.DESCRIPTOR.file.message_types_by_name[name]
    ours, other = fields(whole), fields(theirs)
    for field in BYTES_OF_STRINGS & set(ours):
        assert ours.pop(field)[0] == other.pop(field)[0]
    assert ours == other


def test_labels_of_series_are_the_double_s() -> None:
    pair = wire.PushRequest.DESCRIPTOR.fields_by_name["series"].message_type
    labels = pair.fields_by_name["labels"].message_type
    assert fields(message_class("LabelPair").DESCRIPTOR) == fields(labels)
