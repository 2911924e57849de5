"""How well predicted groups agree with annotated ones: B-cubed, boundaries, V-measure.

A partition is one group number per step. B-cubed treats steps as the items: precision of a step is
the share of its predicted group that is in its annotated group, recall the reverse; pooled figures
average over all steps of all trajectories (F1 of the pooled values), macro figures over
trajectories. Boundaries are exact positions between adjacent steps of different groups.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

__all__ = ["Tally", "bootstrap", "summarize", "tally"]


@dataclass(frozen=True, slots=True)
class Tally:
    """What one trajectory adds to the pooled figures.

    Attributes:
        steps: Items scored.
        precision, recall: Sums of the steps' B-cubed precision and recall.
        hits, predicted, annotated: Boundaries found rightly, found, and to be found.
        groups_predicted, groups_annotated: Runs of equal group numbers.
        homogeneity, completeness: Of V-measure, for this trajectory.
    """

    steps: int
    precision: float
    recall: float
    hits: int
    predicted: int
    annotated: int
    groups_predicted: int
    groups_annotated: int
    homogeneity: float
    completeness: float


def tally(predicted: Sequence[Hashable], annotated: Sequence[Hashable]) -> Tally:
    """Compare two partitions of the same steps.

    Raises:
        ValueError: Of different lengths.
    """
    if len(predicted) != len(annotated):
        raise ValueError(f"{len(predicted)} predicted steps, {len(annotated)} annotated")
    together = Counter(zip(predicted, annotated, strict=True))
    sizes_predicted, sizes_annotated = Counter(predicted), Counter(annotated)
    precision = sum(n * n / sizes_predicted[p] for (p, _), n in together.items())
    recall = sum(n * n / sizes_annotated[a] for (_, a), n in together.items())
    cuts, gold = boundaries(predicted), boundaries(annotated)
    homogeneity, completeness = _v_parts(together, sizes_predicted, sizes_annotated)
    return Tally(
        steps=len(predicted),
        precision=precision,
        recall=recall,
        hits=len(cuts & gold),
        predicted=len(cuts),
        annotated=len(gold),
        groups_predicted=len(cuts) + bool(predicted),
        groups_annotated=len(gold) + bool(annotated),
        homogeneity=homogeneity,
        completeness=completeness,
    )


def boundaries(partition: Sequence[Hashable]) -> set[int]:
    """Positions whose group differs from the one before."""
    return {i for i in range(1, len(partition)) if partition[i] != partition[i - 1]}


def _v_parts(
    together: Counter[Any], predicted: Counter[Any], annotated: Counter[Any]
) -> tuple[float, float]:
    total = sum(predicted.values())
    if not total:
        return 1.0, 1.0
    mutual = sum(
        n / total * math.log(n * total / (predicted[p] * annotated[a]))
        for (p, a), n in together.items()
    )
    gold, guess = _entropy(annotated, total), _entropy(predicted, total)
    return (mutual / gold if gold else 1.0), (mutual / guess if guess else 1.0)


def _entropy(sizes: Counter[Any], total: int) -> float:
    return -sum(n / total * math.log(n / total) for n in sizes.values())


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def summarize(tallies: Sequence[Tally]) -> dict[str, float]:
    """Pooled and macro figures; empty when there is nothing to score."""
    steps = sum(t.steps for t in tallies)
    if not steps:
        return {}
    precision = sum(t.precision for t in tallies) / steps
    recall = sum(t.recall for t in tallies) / steps
    hits = sum(t.hits for t in tallies)
    found, wanted = sum(t.predicted for t in tallies), sum(t.annotated for t in tallies)
    boundary_precision = hits / found if found else float(not wanted)
    boundary_recall = hits / wanted if wanted else float(not found)
    scored = [t for t in tallies if t.steps]
    return {
        "trajectories": len(scored),
        "steps": steps,
        "b3_precision": precision,
        "b3_recall": recall,
        "b3_f1": _f1(precision, recall),
        "b3_macro_f1": sum(_f1(t.precision / t.steps, t.recall / t.steps) for t in scored)
        / len(scored),
        "boundary_precision": boundary_precision,
        "boundary_recall": boundary_recall,
        "boundary_f1": _f1(boundary_precision, boundary_recall),
        "v_measure": sum(_f1(t.homogeneity, t.completeness) * t.steps for t in scored) / steps,
        "groups_predicted": sum(t.groups_predicted for t in tallies),
        "groups_annotated": sum(t.groups_annotated for t in tallies),
    }


def bootstrap(
    tallies: Sequence[Tally], read: Callable[[dict[str, float]], float], rounds: int = 400
) -> tuple[float, float]:
    """95 % interval of a figure, trajectories drawn with replacement; the same on every run."""
    draw = random.Random(17)  # noqa: S311 - statistics, not secrets
    values = sorted(read(summarize(draw.choices(tallies, k=len(tallies)))) for _ in range(rounds))
    return values[int(0.025 * rounds)], values[min(int(0.975 * rounds), rounds - 1)]
