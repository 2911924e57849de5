"""Changing a payload after it was made: halves of one too large, another time for one too old.

Reads only what `fold.pprof` writes: one mapping, one line per location.
"""

from __future__ import annotations

import zlib
from array import array
from dataclasses import dataclass, replace

from whyflame.export.payloads import compress
from whyflame.fold.pprof import PprofOptions, encode_message
from whyflame.fold.profile import Profile, SampleType, build_profile
from whyflame.wire import read_fields, read_varint

__all__ = ["Packed", "halve", "restamp", "unpack"]


@dataclass(frozen=True, slots=True)
class Packed:
    """A message ready for the outbox: bytes, their size before compression, samples."""

    body: bytes
    size: int
    samples: int


def unpack(body: bytes) -> tuple[Profile, PprofOptions]:
    """The profile in a payload, and the options it was written with."""
    fields = _Fields(zlib.decompress(body, wbits=31))  # noqa: TID251 - made by ourselves
    strings = [text.decode() for text in fields.messages(6)]
    types = tuple(
        SampleType(strings[item.number(1)], strings[item.number(2)])
        for item in map(_Fields, fields.messages(1))
    )
    functions = {
        item.number(1): strings[item.number(2)] for item in map(_Fields, fields.messages(5))
    }
    locations = {
        item.number(1): functions[_Fields(item.messages(4)[0]).number(1)]
        for item in map(_Fields, fields.messages(4))
    }
    rows = []
    for sample in map(_Fields, fields.messages(2)):
        stack = tuple(locations[number] for number in reversed(sample.packed(1)))
        labels = tuple(
            (strings[label.number(1)], strings[label.number(2)])
            for label in map(_Fields, sample.messages(3))
        )
        rows.append((stack, labels, sample.packed(2)))
    empty = Profile(
        sample_types=types,
        frames=(),
        offsets=array("q", [0]),
        frame_ids=array("i"),
        values=tuple(array("q") for _ in types),
        default=strings[fields.number(14)],
        time_ns=fields.number(9),
        duration_ns=fields.number(10),
        comments=tuple(strings[number] for number in fields.numbers(13)),
    )
    period = _Fields(fields.messages(11)[0])
    mapping = _Fields(fields.messages(3)[0])
    options = PprofOptions(
        name=strings[period.number(1)], mapping=strings[mapping.number(5)], keep_nano_usd=True
    )
    return build_profile(rows, like=empty), options


def restamp(body: bytes, time_ns: int) -> Packed:
    """The same profile at another time."""
    profile, options = unpack(body)
    return _pack(replace(profile, time_ns=time_ns), options)


def halve(body: bytes, times_ns: tuple[int, int]) -> list[Packed]:
    """Two profiles with half of the stacks each; none when there is only one stack."""
    profile, options = unpack(body)
    rows = list(profile.stacks())
    if len(rows) < 2:  # noqa: PLR2004 - nothing to divide
        return []
    middle = len(rows) // 2
    return [
        _pack(build_profile(half, like=replace(profile, time_ns=time_ns)), options)
        for half, time_ns in zip((rows[:middle], rows[middle:]), times_ns, strict=True)
    ]


def _pack(profile: Profile, options: PprofOptions) -> Packed:
    message = encode_message(profile, options)
    return Packed(compress(message), len(message), len(profile))


class _Fields:
    """Fields of one protobuf message, by number."""

    def __init__(self, message: bytes) -> None:
        self._found: dict[int, list[int | bytes]] = {}
        for number, value in read_fields(message):
            self._found.setdefault(number, []).append(value)

    def numbers(self, field: int) -> list[int]:
        return [value for value in self._found.get(field, []) if isinstance(value, int)]

    def number(self, field: int) -> int:
        return next(reversed(self.numbers(field)), 0)

    def messages(self, field: int) -> list[bytes]:
        return [value for value in self._found.get(field, []) if isinstance(value, bytes)]

    def packed(self, field: int) -> list[int]:
        """Repeated integers, packed into one or several runs."""
        found: list[int] = []
        for run in self.messages(field):
            at = 0
            while at < len(run):
                value, at = read_varint(run, at)
                found.append(value)
        return found
