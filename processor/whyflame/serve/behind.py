"""What a frame was summed from: the sessions behind it, or the steps of one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyflame.errors import NothingMatched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whyflame.fold.profile import Labels, Profile
    from whyflame.serve.questions import FrameRequest

__all__ = ["what_is_behind"]


def what_is_behind(profile: Profile, request: FrameRequest, limit: int) -> dict[str, Any]:
    """Sums over the stacks that run through a frame, by the labels of the profile, widest first.

    Args:
        profile: Labelled by session and run, or, for one session, by run, lane and step.
        request: Which frame; none when all stacks run through it. limit: How many rows; how many more there are is said.

    Raises:
        NothingMatched: No stack runs through it.
    """
    sums: dict[Labels, list[int]] = {}
    for labels, values in _through(profile, request):
        into = sums.setdefault(labels, [0] * len(values))
        for number, value in enumerate(values):
            into[number] += value
    if not sums:
        raise NothingMatched(f"nothing is behind {' > '.join(request.frames) or 'this frame'}")
    names = [item.name for item in profile.sample_types]
    width = names.index(profile.default)
    ranked = sorted(sums.items(), key=lambda item: (-item[1][width], item[0]))
    rows = [{**dict(labels), **dict(zip(names, row, strict=True))} for labels, row in ranked]
    return {
        "measure": profile.default,
        "unit": profile.unit(profile.default),
        "total": sum(row[width] for row in sums.values()),
        "rows": rows[:limit],
        "not_shown": max(0, len(rows) - limit),
    }


def _through(profile: Profile, request: FrameRequest) -> Iterator[tuple[Labels, tuple[int, ...]]]:
    wanted = request.frames
    for stack, labels, values in profile.stacks():
        is_in = (
            wanted[-1] in stack if request.anywhere and wanted else stack[: len(wanted)] == wanted
        )
        if is_in:
            yield labels, values
