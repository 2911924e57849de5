"""Two profiles in one file: pprof with the base's samples marked, SVG in two colours."""

from __future__ import annotations

from array import array
from dataclasses import replace
from typing import TYPE_CHECKING

from whyflame.errors import UsageError
from whyflame.fold import pprof
from whyflame.fold.cost import in_micro_usd
from whyflame.fold.numeric import share_out
from whyflame.fold.pair import BASE, TARGET, merge_profiles, pair_profiles
from whyflame.fold.svg import SvgText, brief, noun, render
from whyflame.fold.svg_tree import build_svg_tree

if TYPE_CHECKING:
    from whyflame.fold.profile import Labels, Profile

__all__ = ["encode_pprof", "encode_svg", "scale_profile"]

_BASE_LABEL = ("pprof::base", "true")


def scale_profile(profile: Profile, numerator: int, denominator: int) -> Profile:
    """Every value times a fraction, in whole numbers that still add up.

    Args:
        profile: For example the base of a difference.
        numerator: For example how many runs the target has.
        denominator: And how many the base has: the result is the base as if of equal size.
    """
    return replace(
        profile,
        values=tuple(
            array("q", share_out([value * numerator for value in column], denominator))
            for column in profile.values
        ),
    )


def encode_pprof(
    base: Profile, target: Profile, options: pprof.PprofOptions | None = None
) -> bytes:
    """Target minus base: base samples are negative and carry pprof's own mark for them.

    `go tool pprof` shows such a file as it shows `-diff_base`, percentages of the base included.

    Raises:
        UsageError: The profiles have different sample types.
    """
    if base.sample_types != target.sample_types:
        raise UsageError("only profiles of the same measures can be compared")
    # Each side is rounded by itself, so that both totals stay exact.
    before, _ = in_micro_usd(base)
    after, _ = in_micro_usd(target)
    negative = replace(
        before,
        values=tuple(array("q", [-value for value in column]) for column in before.values),
        label_sets=tuple(_with_base_label(labels) for labels in before.label_sets),
    )
    return pprof.encode(merge_profiles([after, negative]), options or pprof.PprofOptions())


def _with_base_label(labels: Labels) -> Labels:
    return tuple(sorted((*labels, _BASE_LABEL)))


def encode_svg(
    base: Profile,
    target: Profile,
    measure: str | None = None,
    names: tuple[str, str] = (BASE, TARGET),
) -> bytes:
    """A flame graph of both: width is the mean of the two shares, colour what changed.

    Args:
        base: What is compared with; blue is what shrank since.
        target: What is looked at; orange is what grew.
        measure: By default the one that the target's width shows.
        names: What the two are called in the file.
    """
    name = measure or target.default
    pair = pair_profiles(base, target, name)
    tree = build_svg_tree(pair, [BASE, TARGET])
    totals = [
        f"{side}: {brief(pair.total(column), pair.unit(column), noun(name))}"
        for side, column in zip(names, (BASE, TARGET), strict=True)
    ]
    return render(
        tree,
        SvgText(
            title=f"What changed: {noun(name)}",
            figures="  ·  ".join(totals),
            legend=[
                ("diff-0", f"smaller share in {names[1]}"),
                ("diff-3", "about the same"),
                ("diff-6", f"larger share in {names[1]}"),
            ],
            nouns=list(names),
            is_diff=True,
        ),
    )
