"""A small pprof reader, independent of the writer: what the tests believe about a file."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from typing import Any

Fields = list[tuple[int, Any]]


def read_fields(data: bytes) -> Fields:
    """(number, value) of every field: an int for varints, bytes for the rest."""
    fields: Fields = []
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        if key & 7 == 0:
            value, position = _varint(data, position)
            fields.append((key >> 3, value))
        elif key & 7 == 2:
            length, position = _varint(data, position)
            fields.append((key >> 3, data[position : position + length]))
            position += length
            assert position <= len(data), "a field runs over the end"
        else:
            raise AssertionError(f"wire type {key & 7} is not used by pprof")
    return fields


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, position


def _packed(data: bytes) -> list[int]:
    values, position = [], 0
    while position < len(data):
        value, position = _varint(data, position)
        values.append(value - (1 << 64) if value >> 63 else value)
    return values


@dataclass
class Sample:
    """One sample: frames root first, values, string labels."""

    frames: tuple[str, ...]
    values: tuple[int, ...]
    labels: tuple[tuple[str, str], ...]


@dataclass
class PprofFile:
    """What a file says, checked as `go tool pprof` and Parca check it."""

    sample_types: list[tuple[str, str]]
    samples: list[Sample]
    period_type: tuple[str, str]
    period: int
    default: str
    comments: list[str]
    mapping: str
    time_ns: int
    duration_ns: int
    functions: list[str]

    def total(self, name: str) -> int:
        column = [item for item, _ in self.sample_types].index(name)
        return sum(sample.values[column] for sample in self.samples)

    def stacks(self) -> dict[tuple[Any, ...], tuple[int, ...]]:
        found = {(sample.frames, sample.labels): sample.values for sample in self.samples}
        assert len(found) == len(self.samples), "equal samples are not merged"
        return found


def read(data: bytes) -> PprofFile:
    """Parse a `.pb.gz` file or a bare message."""
    if data[:2] == b"\x1f\x8b":
        data = gzip.GzipFile(fileobj=__import__("io").BytesIO(data)).read()
    fields = read_fields(data)
    strings = [value.decode("utf-8") for number, value in fields if number == 6]
    assert strings[0] == ""
    assert len(set(strings)) == len(strings)
    one = dict(fields)
    functions = _functions(fields, strings)
    return PprofFile(
        sample_types=[_type(value, strings) for number, value in fields if number == 1],
        samples=[_sample(value, strings, functions) for number, value in fields if number == 2],
        period_type=_type(one[11], strings),
        period=one[12],
        default=strings[one.get(14, 0)],
        comments=[strings[value] for number, value in fields if number == 13],
        mapping=_mapping(fields, strings),
        time_ns=one.get(9, 0),
        duration_ns=one.get(10, 0),
        functions=functions,
    )


def _type(data: bytes, strings: list[str]) -> tuple[str, str]:
    fields = dict(read_fields(data))
    return strings[fields[1]], strings[fields[2]]


def _mapping(fields: Fields, strings: list[str]) -> str:
    mappings = [dict(read_fields(value)) for number, value in fields if number == 3]
    assert [mapping[1] for mapping in mappings] == [1]
    assert mappings[0][7] == 1, "has_functions keeps addresses out of the way"
    return strings[mappings[0][5]]


def _functions(fields: Fields, strings: list[str]) -> list[str]:
    """Names by location id - 1; ids must run 1..n in table order."""
    functions = [dict(read_fields(value)) for number, value in fields if number == 5]
    locations = [read_fields(value) for number, value in fields if number == 4]
    assert [function[1] for function in functions] == list(range(1, len(functions) + 1))
    assert all(set(function) == {1, 2} for function in functions), "system_name stays empty"
    for position, location in enumerate(locations, 1):
        known = dict(location)
        assert known[1] == position
        assert known[2] == 1
        assert set(known) == {1, 2, 4}
        assert read_fields(known[4]) == [(1, position)]
    assert len(locations) == len(functions)
    return [strings[function[2]] for function in functions]


def _sample(data: bytes, strings: list[str], functions: list[str]) -> Sample:
    fields = read_fields(data)
    locations = [number for field, value in fields if field == 1 for number in _packed(value)]
    values = [number for field, value in fields if field == 2 for number in _packed(value)]
    labels = [dict(read_fields(value)) for field, value in fields if field == 3]
    return Sample(
        frames=tuple(functions[number - 1] for number in reversed(locations)),
        values=tuple(values),
        labels=tuple((strings[label[1]], strings[label[2]]) for label in labels),
    )
