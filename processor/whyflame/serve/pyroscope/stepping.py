"""What questions over time share: one measure of a selection, in steps, by labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from whyflame.fold.measures import find_measure
from whyflame.fold.projection import compile_filter
from whyflame.serve.pyroscope.connect import ConnectError
from whyflame.serve.pyroscope.labels import field_of
from whyflame.serve.pyroscope.ranges import MILLISECOND
from whyflame.store.timeline import Steps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whyflame.fold.measures import Measure
    from whyflame.fold.projection import Projection
    from whyflame.fold.where import Fragment
    from whyflame.serve.pyroscope.asking import Asking, Wanted

__all__ = ["LabelPairs", "Stepping", "add_labels", "check_limit", "step_ms_of", "stepping"]

MAX_STEPS = 100_000
_NANO_PER_MICRO = 1000

LabelPairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Stepping:
    """A selection by time steps and labels, ready to be asked of the store.

    Attributes:
        measure: What is summed. labels: Fields by the label that was asked for.
        steps: The time steps.
    """

    measure: Measure
    labels: Mapping[str, str]
    steps: Steps
    _projection: Projection

    @property
    def fields(self) -> list[str]:
        """Fields that become labels."""
        return list(self.labels.values())

    @property
    def scale(self) -> int:
        """Stored units in one that is shown."""
        return _NANO_PER_MICRO if self.measure.unit == "nanousd" else 1

    @property
    def in_range(self) -> Fragment:
        """Operations that ended in the range."""
        return compile_filter(self._projection)

    @property
    def in_steps(self) -> Fragment:
        """Operations that belong to a step: the first one began before the range."""
        steps = self.steps
        return compile_filter(
            replace(self._projection, since_ns=steps.since_ns, until_ns=steps.until_ns)
        )

    def labelled(self, texts: Sequence[str | None]) -> LabelPairs:
        """Labels with these values, without the empty ones."""
        pairs = sorted(zip(self.labels, texts, strict=True))
        return tuple((name, text) for name, text in pairs if text)


def stepping(
    asking: Asking, wanted: Wanted, step_ms: int, group_by: Sequence[str]
) -> Stepping | None:
    """The question, or None when nothing can be in its answer.

    Raises:
        UsageError: It is no question.
    """
    if step_ms < 1:
        raise ConnectError("invalid_argument", "step is at least 0.001 seconds")
    projection = asking.projection(wanted)
    range_ = asking.range(wanted.start, wanted.end)
    if projection is None or range_ is None:
        return None
    if (range_.end_ms - range_.start_ms) // step_ms > MAX_STEPS:
        raise ConnectError("invalid_argument", f"more than {MAX_STEPS} steps: choose a longer step")
    labels = {name: found for name in group_by if (found := field_of(name, asking.promoted))}
    steps = Steps(range_.start_ms * MILLISECOND, range_.end_ms * MILLISECOND, step_ms * MILLISECOND)
    return Stepping(find_measure(projection.default), labels, steps, projection)


def check_limit(limit: int) -> None:
    """Refuse to give less than nothing.

    Raises:
        ConnectError: The limit is negative.
    """
    if limit < 0:
        raise ConnectError("invalid_argument", f"limit is not negative: {limit}")


def step_ms_of(seconds: float) -> int:
    """A step in milliseconds; 0, which is refused, for what is none."""
    return round(seconds * 1000) if 0 < seconds < 1 << 40 else 0


def add_labels(message: Any, labels: LabelPairs) -> None:
    """Write labels into a message that has them."""
    for name, value in labels:
        message.labels.add(name=name, value=value)
