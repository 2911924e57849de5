"""From a valid pprof message to stacks: the silent changes a server makes on the way in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.doubles.pyroscope.errors import Refusal

if TYPE_CHECKING:
    from tests.doubles.pyroscope.limits import Flavour

SPAN_LABELS = ("span_id", "profile_id")


@dataclass(frozen=True, slots=True)
class Stack:
    """A sample after normalising: frames root first, string labels, one value a sample type."""

    frames: tuple[str, ...]
    labels: tuple[tuple[str, str], ...]
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Normal:
    """A profile after normalising."""

    types: tuple[tuple[str, str], ...]
    period_type: tuple[str, str]
    stacks: tuple[Stack, ...]


def normalize(profile: Any) -> Normal:
    """Drop, merge and resolve samples.

    Raises:
        Refusal: `unknown` for the panic that a missing period type causes.
    """
    strings = [text.decode() for text in profile.string_table]
    kept, dropped = [], []
    for sample in profile.sample:
        negative = any(value < 0 for value in sample.value)
        (dropped if negative or not any(sample.value) else kept).append(sample)
    names = _frame_names(profile, strings)
    _check_panic(profile, kept, dropped)
    merged: dict[tuple[tuple[str, ...], tuple[tuple[str, str], ...]], list[int]] = {}
    for sample in kept:
        if not all(location in names for location in sample.location_id):
            continue
        frames = tuple(
            frame for location in reversed(sample.location_id) for frame in names[location]
        )
        labels = tuple(
            sorted((strings[label.key], strings[label.str]) for label in sample.label if label.str)
        )
        values = merged.setdefault((frames, labels), [0] * len(sample.value))
        for number, value in enumerate(sample.value):
            values[number] += value
    return Normal(
        types=tuple((strings[t.type], strings[t.unit]) for t in profile.sample_type),
        period_type=(strings[profile.period_type.type], strings[profile.period_type.unit]),
        stacks=tuple(
            Stack(frames, labels, tuple(values)) for (frames, labels), values in merged.items()
        ),
    )


def _frame_names(profile: Any, strings: list[str]) -> dict[int, list[str]]:
    """Frames by location id, outermost first; locations that lead nowhere are absent."""
    functions = {function.id: strings[function.name] for function in profile.function}
    names = {}
    for location in profile.location:
        lines = [functions.get(line.function_id) for line in location.line]
        if any(name is None for name in lines) or (not lines and not location.address):
            continue
        names[location.id] = [name for name in reversed(lines) if name is not None] or [
            f"0x{location.address:x}"
        ]
    return names


def _check_panic(profile: Any, kept: list[Any], dropped: list[Any]) -> None:
    """A dropped sample whose symbols nobody else uses makes the server walk a nil period type."""
    if profile.HasField("period_type"):
        return
    used = {location for sample in kept for location in sample.location_id}
    if any(location not in used for sample in dropped for location in sample.location_id):
        raise Refusal("unknown", "panic: invalid memory address or nil pointer dereference")


def split_by_labels(
    stacks: tuple[Stack, ...], flavour: Flavour
) -> dict[tuple[tuple[str, str], ...], list[Stack]]:
    """Group stacks by the sample labels that become series labels; span ids stay with the sample."""
    stays = {"span_id"} | ({"trace_id"} if flavour.keeps_trace_id_in_samples else set())
    groups: dict[tuple[tuple[str, str], ...], list[Stack]] = {}
    for stack in stacks:
        renamed = [
            ("span_id" if name in SPAN_LABELS else name, value) for name, value in stack.labels
        ]
        promoted = tuple(pair for pair in renamed if pair[0] not in stays)
        inner = tuple(pair for pair in renamed if pair[0] in stays)
        groups.setdefault(promoted, []).append(Stack(stack.frames, inner, stack.values))
    return groups
