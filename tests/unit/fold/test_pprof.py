"""pprof files: read back, checked by the strictest reader's rules, the same bytes every time."""

from __future__ import annotations

import gzip
import hashlib
import io
import threading
import zlib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st
from tests import pprof_reader
from tests.fold_strategies import profile_of, profiles

from whyflame.fold import pprof
from whyflame.fold.cost import in_micro_usd
from whyflame.fold.packing import gzip_bytes
from whyflame.fold.pprof import PprofOptions, encode, encode_message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whyflame.fold.profile import Profile

EXAMPLE = profile_of(
    [
        (("coder", "fix login", "call gpt-5"), (("model", "gpt-5"),), (3, 1_234_567, 9, 4_000)),
        (("coder", "fix login", "run bash"), (), (2, 0, 7_000_000_000, 0)),
        (("coder", "tool: search<web>(q)"), (), (1, 500, 1, 300)),
    ]
)


@pytest.fixture(params=["plain", "vectorised"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(pprof, "is_numpy_worth_it", lambda _: request.param == "vectorised")
    return str(request.param)


@given(profiles)
def test_what_is_written_can_be_read(profile: Profile) -> None:
    for is_worth_it in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pprof, "is_numpy_worth_it", lambda _, answer=is_worth_it: answer)
            data = encode_message(profile)
        rounded, _ = in_micro_usd(profile)
        found = pprof_reader.read(data)
        assert found.stacks() == {
            (stack, labels): values for stack, labels, values in rounded.stacks()
        }
        assert {name: found.total(name) for name, _ in found.sample_types} == rounded.totals()


@given(profiles)
def test_both_ways_write_the_same_bytes(profile: Profile) -> None:
    written = []
    for is_worth_it in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pprof, "is_numpy_worth_it", lambda _, answer=is_worth_it: answer)
            written.append(encode_message(profile))
    assert written[0] == written[1]


@pytest.mark.usefixtures("way")
def test_deep_stacks_with_long_ids_and_large_values_are_whole() -> None:
    """Lengths and ids above one byte, values above 35 bits."""
    names = [f"name {number}" for number in range(20_000)]
    rows = [
        (tuple(names[start : start + depth]), (("model", "m" * 200),), (1, 1 << 40, 1 << 62, value))
        for start, depth, value in ((0, 300, 5), (100, 19_900, 1 << 21), (7, 1, (1 << 35) - 1))
    ]
    found = pprof_reader.read(encode_message(profile_of(rows), PprofOptions(keep_nano_usd=True)))
    assert found.stacks() == {(stack, labels): values for stack, labels, values in rows}


@pytest.mark.usefixtures("way")
def test_types_and_header_are_those_of_the_contract() -> None:
    found = pprof_reader.read(encode(EXAMPLE))
    assert found.sample_types == [
        ("operations", "count"),
        ("cost", "microusd"),
        ("duration", "nanoseconds"),
        ("tokens", "count"),
    ]
    assert found.period_type == ("agent", "count")
    assert (found.period, found.default, found.mapping) == (1, "tokens", "whyflame")
    assert found.total("cost") == 1235


@pytest.mark.usefixtures("way")
def test_the_most_frequent_frames_have_the_smallest_ids() -> None:
    rows = [((agent, "check", leaf), (), (1, 0, 0, 0)) for agent, leaf in ("ab", "ac", "bc", "dc")]
    found = pprof_reader.read(encode(profile_of(rows)))
    # As many as there are stacks, then three, two, and by text where that is equal.
    assert found.functions == ["check", "c", "a", "b", "d"]


def test_a_backend_may_want_other_names() -> None:
    options = PprofOptions(name="agent_by_tool", mapping="shop", keep_nano_usd=True)
    found = pprof_reader.read(encode(EXAMPLE, options))
    assert found.period_type == ("agent_by_tool", "count")
    assert found.mapping == "shop"
    assert found.sample_types[1] == ("cost", "nanousd")
    assert found.total("cost") == 1_235_067


def test_the_gzip_header_carries_no_time_and_no_name() -> None:
    assert encode(EXAMPLE)[:10] in {
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03",
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\x03",
    }


def test_a_large_body_is_one_gzip_member_and_always_the_same() -> None:
    data = b"".join(hashlib.sha256(str(i).encode()).digest() for i in range(80_000)) + b"end"
    packed = gzip_bytes([data], 1)
    pieces = [data[start : start + 300_007] for start in range(0, len(data), 300_007)]
    assert packed == gzip_bytes([data], 1) == gzip_bytes(pieces, 1)
    assert gzip.GzipFile(fileobj=io.BytesIO(packed)).read() == data
    reader = zlib.decompressobj(31)
    assert reader.decompress(packed) == data
    assert reader.eof
    assert not reader.unused_data


@given(st.lists(st.binary(max_size=300), max_size=5), st.integers(1, 900), st.sampled_from((1, 6)))
def test_bytes_do_not_depend_on_how_a_body_was_cut(
    texts: list[bytes], times: int, level: int
) -> None:
    pieces = [text * times for text in texts]
    body = b"".join(pieces)
    assert gzip_bytes(pieces, level) == gzip_bytes([body], level)
    assert gzip.decompress(gzip_bytes([body], level)) == body


@pytest.mark.parametrize("size", [0, 1, (1 << 16) - 1, 1 << 16, 1 << 19, (1 << 19) + 1])
def test_a_body_of_whole_chunks_ends_as_any_other(size: int) -> None:
    before = threading.active_count()
    assert gzip.decompress(gzip_bytes([bytes(size)], 1)) == bytes(size)
    assert threading.active_count() == before


def test_a_small_body_is_what_zlib_makes_of_it_in_one_go() -> None:
    body = b"call gpt-5 " * 5000
    packer = zlib.compressobj(1, zlib.DEFLATED, -15, 9)
    assert gzip_bytes([body], 1)[10:-8] == packer.compress(body) + packer.flush()


def test_an_error_while_pieces_are_made_is_the_callers_and_leaves_no_thread() -> None:
    def pieces() -> Iterator[bytes]:
        yield b"x" * (1 << 17)
        raise ValueError("no more")

    before = threading.active_count()
    with pytest.raises(ValueError, match="no more"):
        gzip_bytes(pieces(), 1)
    assert threading.active_count() == before


def test_an_error_of_a_thread_is_the_callers() -> None:
    before = threading.active_count()
    with pytest.raises(ValueError, match="Invalid initialization option"):
        gzip_bytes([bytes(1 << 18)], 99)
    assert threading.active_count() == before


def test_an_empty_profile_is_a_valid_file() -> None:
    found = pprof_reader.read(encode(profile_of([])))
    assert found.samples == []
    assert found.functions == []
