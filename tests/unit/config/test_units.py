"""Durations, sizes and addresses."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from whyflame.config.units import (
    format_bytes,
    format_duration,
    parse_address,
    parse_bytes,
    parse_duration,
)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        (2, 2.0),
        (0.5, 0.5),
        ("30", 30.0),
        ("250ms", 0.25),
        ("30s", 30.0),
        ("5m", 300.0),
        ("1h30m", 5400.0),
        ("4 h", 14400.0),
        ("7d", 604800.0),
        ("2w", 1209600.0),
    ],
)
def test_durations_are_seconds_or_carry_units(written: object, seconds: float) -> None:
    assert parse_duration(written) == seconds


@pytest.mark.parametrize("written", ["", "5 minutes", "m", "-5s", "1x", "5m!", True, None, []])
def test_what_is_no_duration_is_refused(written: object) -> None:
    with pytest.raises(ValueError, match="expected a duration"):
        parse_duration(written)


@pytest.mark.parametrize(
    ("written", "size"),
    [
        (0, 0),
        (1024, 1024),
        ("64MiB", 64 << 20),
        ("64 mib", 64 << 20),
        ("1.5KiB", 1536),
        ("10MB", 10_000_000),
        ("2GiB", 2 << 30),
        ("7B", 7),
    ],
)
def test_sizes_are_bytes_or_carry_units(written: object, size: int) -> None:
    assert parse_bytes(written) == size


@pytest.mark.parametrize("written", ["", "MiB", "64 miles", "-1", "1.5B", True, None])
def test_what_is_no_size_is_refused(written: object) -> None:
    with pytest.raises(ValueError, match="expected a"):
        parse_bytes(written)


@given(st.integers(min_value=0, max_value=10**9))
def test_a_written_duration_reads_back(milliseconds: int) -> None:
    seconds = milliseconds / 1000
    assert parse_duration(format_duration(seconds)) == pytest.approx(seconds)


@given(st.integers(min_value=0, max_value=1 << 50))
def test_a_written_size_reads_back(size: int) -> None:
    assert parse_bytes(format_bytes(size)) == size


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("127.0.0.1:4317", ("127.0.0.1", 4317)),
        ("[::]:0", ("::", 0)),
        ("localhost:65535", ("localhost", 65535)),
    ],
)
def test_an_address_is_host_and_port(written: str, address: tuple[str, int]) -> None:
    assert parse_address(written) == address


@pytest.mark.parametrize("written", ["", "4317", ":4317", "host:", "host:x", "h:65536", "::1:4317"])
def test_what_is_no_address_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match=r"host:port|brackets"):
        parse_address(written)
