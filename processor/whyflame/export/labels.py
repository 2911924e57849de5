"""Labels of pushed series: from an allow-list, cleaned, and bounded in number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.fold.frames import cut_text

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["OVERFLOW", "LabelSet", "SeriesGuard", "clean_value", "make_labels"]

LabelSet = tuple[tuple[str, str], ...]
"""(name, value) pairs, sorted by name."""

OVERFLOW = "overflow"
"""Value of labels that were taken from a series because there were too many."""

MAX_VALUE_BYTES = 256
_SERVICE = "service_name"
_UNKNOWN_SERVICE = "unknown_service"
# Series beyond the limit are folded into coarser ones; that many may be added for them.
_COARSE_SHARE = 10


def clean_value(text: str) -> str:
    """A label value that every backend stores: printable, trimmed, at most 256 bytes."""
    if not text.isprintable():
        text = text.encode(errors="replace").decode()
        text = "".join(char if char.isprintable() else " " for char in text)
    return cut_text(text.strip(), MAX_VALUE_BYTES)


def make_labels(profile: str, values: Iterable[tuple[str, str]]) -> LabelSet:
    """The label set of a series; unknown values are left out, the service never is.

    Args:
        profile: Value of `__name__`.
        values: (label, value) for the labels of the allow-list.
    """
    found = {name: cleaned for name, value in values if value and (cleaned := clean_value(value))}
    found.setdefault(_SERVICE, _UNKNOWN_SERVICE)
    found["__name__"] = profile
    return tuple(sorted(found.items()))


class SeriesGuard:
    """Keeps the number of label sets of one tenant bounded.

    Known label sets pass for ever. Once the limit is reached, a new one keeps its service and
    environment and says `overflow` for the rest; when even those are too many, for everything.

    Args:
        max_sets: Label sets that may exist beside the coarse ones.
    """

    def __init__(self, max_sets: int) -> None:
        self._coarse = max(1, max_sets // _COARSE_SHARE)
        self._fine = max(1, max_sets - self._coarse)
        self._known: dict[str, set[LabelSet]] = {}
        self._coarse_known: dict[str, set[LabelSet]] = {}
        self.overflowed = 0

    def remember(self, tenant: str, labels: LabelSet) -> None:
        """Note a label set that the backend knows already."""
        kind = self._coarse_known if _is_coarse(labels) else self._known
        kind.setdefault(tenant, set()).add(labels)

    def admit(self, tenant: str, labels: LabelSet) -> LabelSet:
        """The label set to use for this one."""
        known = self._known.setdefault(tenant, set())
        if labels in known or len(known) < self._fine:
            known.add(labels)
            return labels
        self.overflowed += 1
        coarse = self._coarse_known.setdefault(tenant, set())
        folded = _fold(labels, keep=("__name__", _SERVICE, "environment"))
        if folded in coarse or len(coarse) < self._coarse - 1:
            coarse.add(folded)
            return folded
        return _fold(labels, keep=("__name__",))


def _fold(labels: LabelSet, keep: tuple[str, ...]) -> LabelSet:
    if keep == ("__name__",):
        # One set for all that is left, whatever labels it had.
        return (("__name__", dict(labels)["__name__"]), (_SERVICE, OVERFLOW))
    kept = [(name, value) for name, value in labels if name in keep]
    return tuple(sorted([*kept, ("agent", OVERFLOW)]))


def _is_coarse(labels: LabelSet) -> bool:
    named = dict(labels)
    return named.get(_SERVICE) == OVERFLOW or named.get("agent") == OVERFLOW
