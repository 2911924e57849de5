"""What the server refuses in a profile, and what it silently cuts, before it stores anything."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tests.doubles.pyroscope.errors import invalid

if TYPE_CHECKING:
    from tests.doubles.pyroscope.limits import Flavour, Limits

_LEGACY_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
NANO = 1_000_000_000


def validate_profile(profile: Any, labels: str, limits: Limits, now_ns: int) -> None:
    """Refuse or cut in place, in the server's order; times at or below zero become now."""
    if not profile.sample_type:
        raise invalid("empty profile: no sample types")
    if profile.time_nanos <= 0:
        profile.time_nanos = now_ns
    _check_window(profile.time_nanos, labels, limits, now_ns)
    if len(profile.sample) > limits.samples:
        raise invalid(
            f"the profile with labels '{labels}' exceeds the samples count limit "
            f"(max_profile_stacktrace_samples, actual: {len(profile.sample)}, "
            f"limit: {limits.samples})"
        )
    strings = _check_strings(profile, limits)
    if any(b"-" in strings[value_type.type] for value_type in profile.sample_type):
        raise invalid("sample type contains -")
    if any(location.id == 0 for location in profile.location):
        raise invalid("location id is 0")
    if any(function.id == 0 for function in profile.function):
        raise invalid("function id is 0")
    for sample in profile.sample:
        _check_sample(sample, len(profile.sample_type), labels, limits)


def _check_sample(sample: Any, types: int, labels: str, limits: Limits) -> None:
    if len(sample.value) != types:
        raise invalid("sample value length mismatch")
    if len(sample.label) > limits.sample_labels:
        raise invalid(
            f"the profile with labels '{labels}' exceeds the sample labels limit "
            f"(max_profile_stacktrace_sample_labels, actual: {len(sample.label)}, "
            f"limit: {limits.sample_labels})"
        )
    if len(sample.location_id) > limits.depth:
        # Leaf first: what stands nearest to the leaf goes.
        del sample.location_id[: len(sample.location_id) - limits.depth]


def _check_window(time_ns: int, labels: str, limits: Limits, now_ns: int) -> None:
    too_old = limits.reject_older_seconds and (
        time_ns <= now_ns - limits.reject_older_seconds * NANO
    )
    too_new = limits.reject_newer_seconds and (
        time_ns >= now_ns + limits.reject_newer_seconds * NANO
    )
    if too_old or too_new:
        seconds = limits.reject_newer_seconds if too_new else -limits.reject_older_seconds
        bound = f"{'ends' if too_new else 'starts'} at {_written(now_ns + seconds * NANO)}"
        raise invalid(
            f"profile with labels '{labels}' is outside of ingestion window "
            f"(profile timestamp: {_written(time_ns)}, the ingestion window {bound})"
        )


def _written(time_ns: int) -> str:
    return f"{datetime.fromtimestamp(time_ns / NANO, UTC):%Y-%m-%d %H:%M:%S} +0000 UTC"


def _check_strings(profile: Any, limits: Limits) -> Any:
    table = profile.string_table
    if not table or table[0] != b"":
        raise invalid("string 0 should be empty string")
    for number, text in enumerate(table):
        if len(text) > limits.string_bytes:
            table[number] = text[-limits.string_bytes :]
        try:
            table[number].decode()
        except UnicodeDecodeError:
            raise invalid(f"invalid utf8 string hex: {table[number][:20].hex()}") from None
    for index in _string_indices(profile):
        if not 0 <= index < len(table):
            raise invalid("string index out of range")
    return table


def _string_indices(profile: Any) -> Any:
    for value_type in [*profile.sample_type, profile.period_type]:
        yield from (value_type.type, value_type.unit)
    for function in profile.function:
        yield from (function.name, function.system_name, function.filename)
    for mapping in profile.mapping:
        yield from (mapping.filename, mapping.build_id)
    for sample in profile.sample:
        for label in sample.label:
            yield from (label.key, label.str, label.num_unit)
    yield from profile.comment
    yield from (profile.drop_frames, profile.keep_frames, profile.default_sample_type)


def label_text(labels: list[tuple[str, str]]) -> str:
    """Labels as the server shows them in its messages."""
    return "{" + ", ".join(f'{name}="{value}"' for name, value in sorted(labels)) + "}"


def validate_labels(
    labels: list[tuple[str, str]], limits: Limits, flavour: Flavour
) -> list[tuple[str, str]]:
    """Refuse a label set, or return it sorted and, on v1, with legacy names."""
    shown = label_text(labels)
    if len(labels) > limits.label_names:
        raise invalid(
            f"profile series '{shown}' has {len(labels)} label names; limit {limits.label_names}"
        )
    if not dict(labels).get("__name__"):
        raise invalid(f"invalid labels '{shown}' with error: invalid metric name")
    if flavour.is_v1:
        labels = _sanitize(labels)
    seen: set[str] = set()
    for name, value in labels:
        if name in seen:
            raise invalid(f"profile with labels '{shown}' has duplicate label name: '{name}'")
        seen.add(name)
        if len(name.encode()) > limits.label_name_bytes:
            raise invalid(f"profile with labels '{shown}' has label name too long: '{name}'")
        if len(value.encode()) > limits.label_value_bytes:
            raise invalid(f"profile with labels '{shown}' has label value too long: '{value}'")
    return sorted(labels)


def _sanitize(labels: list[tuple[str, str]]) -> list[tuple[str, str]]:
    named: dict[str, str] = {}
    result = []
    for name, value in labels:
        legacy = name.replace(".", "_")
        if not _LEGACY_NAME.fullmatch(legacy):
            raise invalid(f"invalid label name {name!r}")
        if legacy != name and named.get(legacy, value) == value and legacy in named:
            continue
        if legacy in named and named[legacy] != value:
            raise invalid(f"duplicate label name {legacy!r} after sanitizing {name!r}")
        named[legacy] = value
        result.append((legacy, value))
    return result


def is_legacy_name(name: str) -> bool:
    """Names that LabelNames and Series show without being asked for UTF-8."""
    return bool(_LEGACY_NAME.fullmatch(name))
