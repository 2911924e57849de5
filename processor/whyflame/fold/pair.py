"""Two profiles side by side: the same stacks, one column each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from whyflame.fold.profile import Profile, SampleType
from whyflame.fold.stack_keys import Rows, to_array
from whyflame.fold.vectors import as_array

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import NDArray

    from whyflame.fold.stack_keys import Array

__all__ = ["BASE", "TARGET", "merge_profiles", "pair_profiles"]

BASE, TARGET = "base", "target"


def pair_profiles(base: Profile, target: Profile, measure: str | None = None) -> Profile:
    """One profile whose sample types `base` and `target` hold one measure of each."""
    name = measure or target.default
    left, right = as_array(base.column(name)), as_array(target.column(name))
    unit = target.unit(name)
    like = replace(
        target,
        sample_types=(SampleType(BASE, unit), SampleType(TARGET, unit)),
        values=(to_array("q", left[:0]), to_array("q", left[:0])),
        default=TARGET,
    )
    columns = [
        np.concatenate([left, np.zeros_like(right)]),
        np.concatenate([np.zeros_like(left), right]),
    ]
    return _combined([base, target], columns, like)


def merge_profiles(profiles: Sequence[Profile]) -> Profile:
    """The sum of profiles with equal sample types, over all their times."""
    columns = [
        np.concatenate([as_array(profile.values[number]) for profile in profiles])
        for number in range(len(profiles[0].values))
    ]
    timed = [item for item in profiles if item.time_ns]
    start = min((item.time_ns for item in timed), default=0)
    end = max((item.time_ns + item.duration_ns for item in timed), default=0)
    like = replace(profiles[0], time_ns=start, duration_ns=end - start)
    return _combined(profiles, columns, like)


def _combined(profiles: Sequence[Profile], values: list[Array], like: Profile) -> Profile:
    frames = sorted({frame for profile in profiles for frame in profile.frames})
    label_sets = sorted({labels for profile in profiles for labels in profile.label_sets})
    number_of = {frame: number for number, frame in enumerate(frames, 1)}
    label_number = {labels: number for number, labels in enumerate(label_sets)}
    blocks = [_numbers(profile, number_of) for profile in profiles]
    depth = max(len(block) for block in blocks)
    numbers = np.concatenate(
        [np.pad(block, ((0, depth - len(block)), (0, 0))) for block in blocks], axis=1
    )
    label_ids = np.concatenate(
        [
            np.array([label_number[labels] for labels in profile.label_sets], dtype=np.int64)[
                as_array(profile.label_ids)
            ]
            for profile in profiles
        ]
    )
    if not len(label_ids):
        return like
    return Rows(frames, numbers, label_sets, label_ids, values).profile(like)


def _numbers(profile: Profile, number_of: dict[str, int]) -> NDArray[Any]:
    """Frame numbers of all stacks, a row per level, 0 where a stack has ended."""
    offsets, flat = as_array(profile.offsets), as_array(profile.frame_ids)
    lengths = np.diff(offsets)
    table = np.array([number_of[frame] for frame in profile.frames], dtype=np.int32)
    numbers = np.zeros((max(1, int(lengths.max(initial=0))), len(lengths)), dtype=np.int32)
    for depth in range(len(numbers)):
        is_deep = lengths > depth
        numbers[depth, is_deep] = table[flat[offsets[:-1][is_deep] + depth]]
    return numbers
