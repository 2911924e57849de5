"""Halves and other times of payloads that were made already."""

from __future__ import annotations

import zlib
from array import array

from hypothesis import given, settings, strategies as st
from tests.doubles.pyroscope.wire import Profile as Message

from whyflame.export.payloads import compress
from whyflame.export.reshape import halve, restamp, unpack
from whyflame.fold.pprof import PprofOptions, encode_message
from whyflame.fold.profile import Profile, SampleType, build_profile

EMPTY = Profile(
    sample_types=(SampleType("cost", "microusd"), SampleType("tokens", "count")),
    frames=(),
    offsets=array("q", [0]),
    frame_ids=array("i"),
    values=(array("q"), array("q")),
    default="tokens",
    time_ns=1_900_000_000_000_000_000,
    duration_ns=15_000_000_000,
)
OPTIONS = PprofOptions(name="agent", mapping="shop", keep_nano_usd=True)
ROWS = st.lists(
    st.tuples(
        st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=5).map(tuple),
        st.sampled_from([(), (("span_id", "00f067aa0ba902b7"),)]),
        st.tuples(st.integers(0, 2**40), st.integers(1, 2**40)),
    ),
    min_size=1,
    max_size=8,
)


def packed(profile: Profile) -> bytes:
    return compress(encode_message(profile, OPTIONS))


@settings(max_examples=30)
@given(ROWS)
def test_unpack_is_the_inverse_of_encoding(rows: list) -> None:
    profile = build_profile(rows, like=EMPTY)
    again, options = unpack(packed(profile))
    assert again == profile
    assert options == OPTIONS


@settings(max_examples=30)
@given(ROWS)
def test_halves_hold_every_stack_once(rows: list) -> None:
    profile = build_profile(rows, like=EMPTY)
    times = (profile.time_ns - 1, profile.time_ns - 2)
    halves = halve(packed(profile), times)
    if len(profile) == 1:
        assert halves == []
        return
    parts = [unpack(half.body)[0] for half in halves]
    assert [part.time_ns for part in parts] == list(times)
    assert sorted([*parts[0].stacks(), *parts[1].stacks()]) == sorted(profile.stacks())
    assert [half.samples for half in halves] == [len(part) for part in parts]


def test_restamp_changes_the_time_only() -> None:
    profile = build_profile([(("a", "b"), (), (1, 2))], like=EMPTY)
    before = Message.FromString(encode_message(profile, OPTIONS))
    result = restamp(packed(profile), 1_900_000_100_000_000_000)
    after = Message.FromString(zlib.decompress(result.body, wbits=31))
    assert after.time_nanos == 1_900_000_100_000_000_000
    after.time_nanos = before.time_nanos
    assert after == before
