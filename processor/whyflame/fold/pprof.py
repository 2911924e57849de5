"""pprof: the format that `go tool pprof`, Pyroscope and Parca read.

Written by hand: the messages are few, and the same integers can be laid out by numpy for millions of
samples. Ids run 1..n (Parca insists), the most frequent frame first, since 127 of them fit one byte.
`system_name` stays empty (else pprof cuts names at brackets), one mapping, one location per function.
Equal profiles give equal bytes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from whyflame.fold.cost import in_micro_usd
from whyflame.fold.numeric import is_numpy_worth_it
from whyflame.fold.packing import gzip_bytes
from whyflame.wire import bytes_field, number_field, varint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whyflame.fold.profile import Labels, Profile

__all__ = ["PprofOptions", "encode", "encode_message"]

_SEVEN_BITS = 0x7F
_LAST = [bytes((value,)) for value in range(128)]
_MORE = [bytes((value | 128,)) for value in range(128)]


@dataclass(frozen=True, slots=True)
class PprofOptions:
    """What a backend may want otherwise.

    Attributes:
        name: Period type, and first part of profile type ids in Pyroscope.
        mapping: Shown by pprof as "File:"; keep it constant per service.
        keep_nano_usd: Cost in nano-USD instead of micro-USD.
        level: zlib level; 1 costs 10 % in size and saves two thirds of the time of 6.
    """

    name: str = "agent"
    mapping: str = "whyflame"
    keep_nano_usd: bool = False
    level: int = 1


_DEFAULT = PprofOptions()


def encode(profile: Profile, options: PprofOptions = _DEFAULT) -> bytes:
    """The gzipped message, ready for a `.pb.gz` file or a push."""
    return gzip_bytes(_pieces(profile, options), options.level)


def encode_message(profile: Profile, options: PprofOptions = _DEFAULT) -> bytes:
    """The bare protobuf message."""
    return b"".join(_pieces(profile, options))


def _pieces(profile: Profile, options: PprofOptions) -> Iterator[bytes]:
    """The message bit by bit, so that what is there can be compressed while samples are laid out."""
    if not options.keep_nano_usd:
        profile, _ = in_micro_usd(profile)
    strings = _Strings()
    head = [
        bytes_field(1, _value_type(strings, item.name, item.unit)) for item in profile.sample_types
    ]
    period_type = _value_type(strings, options.name, "count")
    mapping = (
        number_field(1, 1) + number_field(5, strings.index(options.mapping)) + number_field(7, 1)
    )
    comments = [number_field(13, strings.index(comment)) for comment in profile.comments]
    labels = [_label_messages(strings, labels) for labels in profile.label_sets]
    frame_order = _by_frequency(profile)
    yield b"".join(head)
    yield from _samples(profile, frame_order, labels)
    # While the samples are still being deflated.
    names = strings.indices([profile.frames[number] for number in frame_order])
    default = number_field(14, strings.index(profile.default))
    yield b"".join(
        [
            bytes_field(3, mapping),
            _tables(names),
            *map(_string, strings.texts),
            number_field(9, profile.time_ns),
            number_field(10, profile.duration_ns),
            bytes_field(11, period_type),
            number_field(12, 1),
            *comments,
            default,
        ]
    )


class _Strings:
    """The string table, in order of first use; position 0 is empty."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {"": 0}

    def index(self, text: str) -> int:
        return self._index.setdefault(text, len(self._index))

    def indices(self, texts: Iterable[str]) -> list[int]:
        index = self._index
        return [index.setdefault(text, len(index)) for text in texts]

    @property
    def texts(self) -> Iterable[str]:
        return self._index


def _string(text: str) -> bytes:
    data = text.encode()
    if len(data) <= _SEVEN_BITS:
        return b"\x32%c%b" % (len(data), data)
    return bytes_field(6, data)


def _value_type(strings: _Strings, name: str, unit: str) -> bytes:
    return number_field(1, strings.index(name)) + number_field(2, strings.index(unit))


def _label_messages(strings: _Strings, labels: Labels) -> bytes:
    return b"".join(
        bytes_field(3, number_field(1, strings.index(name)) + number_field(2, strings.index(value)))
        for name, value in labels
    )


def _tables(names: Sequence[int]) -> bytes:
    """Locations and functions, numbered alike."""
    if is_numpy_worth_it(len(names)):
        from whyflame.fold.pprof_vectors import encode_tables

        return encode_tables(names)
    # Location i: id i, mapping 1, one line in function i. Both lengths fit one byte.
    locations, functions = [], []
    for position, name in enumerate(names, 1):
        number, text = varint(position), varint(name)
        line = b"\x22%c\x08%b" % (1 + len(number), number)
        locations.append(b"\x22%c\x08%b\x10\x01%b" % (3 + len(number) + len(line), number, line))
        functions.append(b"\x2a%c\x08%b\x10%b" % (2 + len(number) + len(text), number, text))
    return b"".join(locations + functions)


def _by_frequency(profile: Profile) -> list[int]:
    """Frame numbers, those that stand in most stacks first; by text where that is equal."""
    if is_numpy_worth_it(len(profile)):
        from whyflame.fold.pprof_vectors import by_frequency

        return by_frequency(profile)
    times = Counter(profile.frame_ids)
    return sorted(range(len(profile.frames)), key=times.__getitem__, reverse=True)


def _samples(
    profile: Profile, frame_order: Sequence[int], labels: Sequence[bytes]
) -> Iterator[bytes]:
    if is_numpy_worth_it(len(profile)):
        from whyflame.fold.pprof_vectors import encode_samples

        yield from encode_samples(profile, frame_order, labels)
        return
    encoded = dict(zip(frame_order, _varints(range(1, len(frame_order) + 1)), strict=True))
    # Backwards: leaf first, the last sample at the beginning.
    pieces = list(map(encoded.__getitem__, reversed(profile.frame_ids)))
    bounds = [len(pieces) - offset for offset in profile.offsets]
    locations = [
        b"".join(pieces[start:end]) for start, end in zip(bounds[1:], bounds, strict=False)
    ]
    values = list(map(b"".join, zip(*map(_varints, profile.values), strict=True)))
    sets = map(labels.__getitem__, profile.label_ids)
    parts = (_heads(b"\x0a", locations), locations, _heads(b"\x12", values), values, sets)
    bodies = list(map(b"".join, zip(*parts, strict=True)))
    yield b"".join(chain.from_iterable(zip(_heads(b"\x12", bodies), bodies, strict=True)))


def _heads(tag: bytes, bodies: Sequence[bytes]) -> Iterator[bytes]:
    """Tag and length of each body."""
    lengths = list(map(len, bodies))
    head = {length: tag + varint(length) for length in set(lengths)}
    return map(head.__getitem__, lengths)


def _varints(values: Sequence[int]) -> list[bytes]:
    """As `varint`, of a whole column in half the time: what repeats is encoded once."""
    distinct = set(values)
    if 2 * len(distinct) > len(values):
        return _each_varint(values)
    encoded = dict(zip(distinct, _each_varint(distinct), strict=True))
    return list(map(encoded.__getitem__, values))


def _each_varint(values: Iterable[int]) -> list[bytes]:
    """From tables, without a loop in the loop."""
    encoded = []
    more, last = _MORE, _LAST
    for value in values:
        if not 0 <= value < 1 << 35:
            encoded.append(varint(value))
        elif value < 1 << 7:
            encoded.append(last[value])
        elif value < 1 << 14:
            encoded.append(more[value & 127] + last[value >> 7])
        elif value < 1 << 21:
            encoded.append(more[value & 127] + more[value >> 7 & 127] + last[value >> 14])
        else:
            head = more[value & 127] + more[value >> 7 & 127] + more[value >> 14 & 127]
            rest = value >> 21
            encoded.append(
                head + (last[rest] if rest < 1 << 7 else more[rest & 127] + last[rest >> 7])
            )
    return encoded
