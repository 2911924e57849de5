"""Which frames differ between two sets of runs, and which of the differences may be noise.

Values are means per unit of observation (a run, a session, whatever labels name it), so that sets of
different size compare. Each difference has a bootstrap interval: units are drawn again with
replacement, many times; where the middle 95 % of the differences reach over zero, it may be noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whyflame.errors import UsageError
from whyflame.fold.vectors import as_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whyflame.fold.profile import Profile
    from whyflame.fold.stack_keys import Array

__all__ = ["Comparison", "FrameChange", "compare", "format_table"]

_ROUNDS = 1000
_LOW, _HIGH = 2.5, 97.5
_FEW_UNITS = 3  # fewer on a side say nothing about spread
_CELLS = 20_000_000  # of the largest matrix: bounds memory whatever the number of units


@dataclass(frozen=True, slots=True)
class FrameChange:
    """One frame, wherever it stands in a stack; recursion counts once.

    Attributes:
        base: Mean per unit on the base side, in the unit of the measure.
        target: Likewise on the target side.
        low: Lower end of the 95 % interval of target - base; None with too few units.
        high: Upper end.
    """

    frame: str
    base: float
    target: float
    low: float | None
    high: float | None

    @property
    def change(self) -> float:
        """Target minus base."""
        return self.target - self.base

    @property
    def may_be_noise(self) -> bool:
        """True when the interval reaches over zero, or there is none."""
        return self.low is None or self.high is None or self.low <= 0 <= self.high


@dataclass(frozen=True, slots=True)
class Comparison:
    """All frames, the largest change first.

    Attributes:
        measure: What was compared, `unit` in which integers.
        per: What values are means of: "run" or "session".
        base_units: How many of these the base had; `target_units` likewise.
        pairs: Values of the pairing field that both sides have; None without pairing.
    """

    measure: str
    unit: str
    per: str
    base_units: int
    target_units: int
    pairs: int | None
    rows: list[FrameChange]


@dataclass(frozen=True, slots=True)
class _Side:
    """Values by unit and frame, sparsely.

    Attributes:
        keys: Value of the pairing label of every unit; "" without pairing.
        units: Unit of each entry; `frames` its frame and `values` its value.
    """

    keys: list[str]
    units: Array
    frames: Array
    values: NDArray[np.float64]

    def block(self, start: int, end: int) -> NDArray[np.float64]:
        """Units in rows, the frames from `start` to `end` in columns."""
        is_in = (self.frames >= start) & (self.frames < end)
        cells = self.units[is_in] * (end - start) + self.frames[is_in] - start
        size = len(self.keys) * (end - start)
        flat = np.bincount(cells, weights=self.values[is_in], minlength=size)
        return np.asarray(flat.reshape(len(self.keys), end - start), dtype=np.float64)

    def only(self, keys: set[str]) -> _Side:
        """The units with one of these keys."""
        is_kept = np.array([key in keys for key in self.keys])
        place = np.cumsum(is_kept) - 1
        entries = is_kept[self.units]
        return _Side(
            keys=[key for key in self.keys if key in keys],
            units=place[self.units[entries]],
            frames=self.frames[entries],
            values=self.values[entries],
        )


def compare(
    base: Profile,
    target: Profile,
    *,
    measure: str | None = None,
    unit: Sequence[str] = ("session", "run"),
    pair_by: str | None = None,
) -> Comparison:
    """The difference of two profiles, frame by frame.

    Args:
        base: What is compared with.
        target: What is looked at.
        measure: By default the one that the target's width shows.
        unit: Labels that together tell one unit from the next. Profiles without them are one unit.
        pair_by: Label by which runs are paired (`root`: the same task): only its values that both
            sides have count, and the base is weighted as if it had the target's mix of them.

    Raises:
        UsageError: Nothing can be paired.
    """
    name = measure or target.default
    frames = sorted({*base.frames, *target.frames})
    before = _side(base, name, frames, (tuple(unit), pair_by))
    after = _side(target, name, frames, (tuple(unit), pair_by))
    shared = set(before.keys) & set(after.keys)
    if not shared:
        raise UsageError(f"no value of {pair_by!r} is on both sides: nothing to pair")
    before, after = before.only(shared), after.only(shared)
    rows = _rows(before, after, frames)
    rows.sort(key=lambda row: (-abs(row.change), row.frame))
    return Comparison(
        measure=name,
        unit=target.unit(name),
        per=unit[-1],
        base_units=len(before.keys),
        target_units=len(after.keys),
        pairs=None if pair_by is None else len(shared),
        rows=rows,
    )


def _side(
    profile: Profile, measure: str, frames: Sequence[str], by: tuple[tuple[str, ...], str | None]
) -> _Side:
    unit, pair_by = by
    units: dict[tuple[str, ...], int] = {}
    keys: list[str] = []
    unit_of = []
    for labels in profile.label_sets:
        named = dict(labels)
        key = named.get(pair_by, "") if pair_by else ""
        place = units.setdefault((*(named.get(name, "") for name in unit), key), len(units))
        if place == len(keys):
            keys.append(key)
        unit_of.append(place)
    number_of = {frame: number for number, frame in enumerate(frames)}
    table = np.array([number_of[frame] for frame in profile.frames], dtype=np.int64)
    lengths = np.diff(as_array(profile.offsets))
    rows = np.repeat(np.arange(len(profile)), lengths)
    # A frame that stands in a stack twice counts its value once.
    cells = np.unique(rows * len(frames) + table[as_array(profile.frame_ids)])
    rows, columns = np.divmod(cells, max(1, len(frames)))
    return _Side(
        keys=keys,
        units=np.array(unit_of, dtype=np.int64)[as_array(profile.label_ids)[rows]],
        frames=columns,
        values=as_array(profile.column(measure))[rows].astype(np.float64),
    )


def _rows(before: _Side, after: _Side, frames: Sequence[str]) -> list[FrameChange]:
    sides = (before, after)
    keys = sorted(set(before.keys))
    weights = [_weights(side, after, keys) for side in sides]
    units = max(len(side.keys) for side in sides)
    has_interval = min(len(side.keys) for side in sides) >= _FEW_UNITS
    rounds = min(_ROUNDS, max(_ROUNDS // 5, _CELLS // units))
    draws = _draws(sides, weights, keys, rounds) if has_interval else None
    width = max(1, _CELLS // max(units, rounds))
    rows: list[FrameChange] = []
    for start in range(0, len(frames), width):
        end = min(start + width, len(frames))
        blocks = [side.block(start, end) for side in sides]
        means = [weight @ block for weight, block in zip(weights, blocks, strict=True)]
        low, high = _interval(draws, blocks)
        for i in np.flatnonzero((means[0] != 0) | (means[1] != 0)).tolist():
            ends = (None, None) if low is None or high is None else (float(low[i]), float(high[i]))
            rows.append(
                FrameChange(frames[start + i], float(means[0][i]), float(means[1][i]), *ends)
            )
    return rows


def _weights(side: _Side, target: _Side, keys: Sequence[str]) -> NDArray[np.float64]:
    """Weight of every unit, so that a side has the target's mix of keys; they add up to 1."""
    number_of = {key: number for number, key in enumerate(keys)}
    own = np.array([number_of[key] for key in side.keys])
    wanted = np.bincount([number_of[key] for key in target.keys], minlength=len(keys))
    weight = (wanted / np.bincount(own, minlength=len(keys)))[own]
    return np.asarray(weight / weight.sum(), dtype=np.float64)


def _draws(
    sides: tuple[_Side, _Side],
    weights: Sequence[NDArray[np.float64]],
    keys: Sequence[str],
    rounds: int,
) -> list[NDArray[np.float64]]:
    """Weights of all units in every round: keys are drawn again, and units within their key."""
    random = np.random.default_rng(0)  # the same data give the same interval
    chosen = random.multinomial(len(keys), [1 / len(keys)] * len(keys), size=rounds)
    drawn = []
    for side, weight in zip(sides, weights, strict=True):
        counts = np.empty((rounds, len(side.keys)))
        own = np.array(side.keys)
        for number, key in enumerate(keys):
            members = np.flatnonzero(own == key)
            share = [1 / len(members)] * len(members)
            times = random.multinomial(len(members), share, size=rounds)
            counts[:, members] = times * chosen[:, [number]]
        counts *= weight
        drawn.append(counts / counts.sum(axis=1, keepdims=True))
    return drawn


def _interval(
    draws: Sequence[NDArray[np.float64]] | None, blocks: Sequence[NDArray[np.float64]]
) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
    if draws is None:
        return None, None
    changes = draws[1] @ blocks[1] - draws[0] @ blocks[0]
    low, high = np.percentile(changes, [_LOW, _HIGH], axis=0)
    return low, high


def format_table(comparison: Comparison, limit: int = 30) -> str:
    """The largest changes as plain text, a line per frame."""
    title = (
        f"{comparison.measure} per {comparison.per}: base {comparison.base_units:,} "
        f"{comparison.per}s, target {comparison.target_units:,}"
    )
    if comparison.pairs is not None:
        title += f", {comparison.pairs:,} pairs"
    rows = [_cells(row, comparison.unit) for row in comparison.rows[:limit]]
    rows.insert(0, ("base", "target", "change", "95 % interval", "frame"))
    widths = [max(map(len, column)) for column in list(zip(*rows, strict=True))[:-1]]
    lines = [title]
    for *figures, frame in rows:
        padded = (text.rjust(width) for text, width in zip(figures, widths, strict=True))
        lines.append("  ".join((*padded, frame)))
    hidden = len(comparison.rows) - limit
    if hidden > 0:
        lines.append(f"smaller changes not shown: {hidden:,}; JSON has all")
    return "\n".join(lines) + "\n"


def _cells(row: FrameChange, unit: str) -> tuple[str, ...]:
    """A frame as the table shows it."""
    interval = "-"
    if row.low is not None and row.high is not None:
        interval = f"{_shown(row.low, unit)} .. {_shown(row.high, unit)}"
    noise = "  (may be noise)" if row.may_be_noise else ""
    plus = "+" if row.change >= 0 else ""
    return (
        _shown(row.base, unit),
        _shown(row.target, unit),
        plus + _shown(row.change, unit),
        interval,
        row.frame + noise,
    )


def _shown(value: float, unit: str) -> str:
    minus, size = "-" if value < 0 else "", abs(value)
    if unit == "nanousd":
        return f"{minus}${size / 1e9:,.4f}"
    if unit == "nanoseconds":
        return f"{minus}{size / 1e9:,.1f} s"
    return f"{minus}{size:,.0f}"
