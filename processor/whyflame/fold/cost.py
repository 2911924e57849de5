"""Money in files: nano-USD are kept exactly, profiles are written in whole micro-USD."""

from __future__ import annotations

from array import array
from dataclasses import replace

from whyflame.fold.numeric import is_numpy_worth_it, share_out
from whyflame.fold.profile import Profile, SampleType

__all__ = ["in_micro_usd"]

_NANO, _MICRO, _PER_MICRO = "nanousd", "microusd", 1000


def in_micro_usd(profile: Profile, carried_nano: int | None = None) -> tuple[Profile, int]:
    """The profile with its cost in micro-USD, stack by stack, without losing any of the total.

    Args:
        profile: Any profile; one without a cost in nano-USD comes back as it is.
        carried_nano: What an earlier profile of the same series left over: the total is then
            rounded down and the rest handed back. None rounds the total to the nearest.

    Returns:
        The profile, and the nano-USD that are left for the next one (0 when nothing is carried).
    """
    types, columns, rest = list(profile.sample_types), list(profile.values), carried_nano or 0
    for number, sample_type in enumerate(profile.sample_types):
        if sample_type.unit != _NANO:
            continue
        total = None
        if carried_nano is not None:
            total, rest = divmod(sum(columns[number]) + carried_nano, _PER_MICRO)
        types[number] = SampleType(sample_type.name, _MICRO)
        columns[number] = _shared(columns[number], total)
    return replace(profile, sample_types=tuple(types), values=tuple(columns)), rest


def _shared(values: array[int], total: int | None) -> array[int]:
    if not values:
        return array("q")
    if is_numpy_worth_it(len(values)):
        from whyflame.fold.vectors import share_out_array

        return share_out_array(values, _PER_MICRO, total)
    return array("q", share_out(values, _PER_MICRO, total))
