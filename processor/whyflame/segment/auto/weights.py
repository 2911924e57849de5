"""The shipped boundary weights: a logistic model and boosted trees, averaged."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from whyflame.segment.auto.forest import Forest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyflame.segment.auto.gaps import Blocks

__all__ = ["Head", "Logistic", "load_heads"]


@dataclass(frozen=True)
class Logistic:
    """Weights of the logistic model.

    Attributes:
        bias: Log odds of a boundary when nothing is known.
        codes: Per categorical block, a weight per code.
        numbers: Per numeric block, a weight per column.
    """

    bias: float
    codes: dict[str, NDArray[np.float32]]
    numbers: dict[str, NDArray[np.float32]]

    def score(self, blocks: Blocks) -> NDArray[np.float32]:
        """Log odds of a boundary before each step."""
        weights = np.concatenate([self.numbers[name] for name in blocks.numbers])
        # Not a BLAS product: its rounding depends on the batch, and equal lanes must score alike.
        product = np.einsum("ij,j->i", blocks.matrix, weights.astype(np.float32))
        total = np.asarray(product + np.float32(self.bias), np.float32)
        for name, (codes, _) in blocks.codes.items():
            total += self.codes[name][codes]
        return total


@dataclass(frozen=True)
class Head:
    """What says how likely one kind of boundary is."""

    logistic: Logistic
    forest: Forest

    def score(self, blocks: Blocks, columns: NDArray[np.float32]) -> NDArray[np.float32]:
        """Log odds before each step; `columns` are `blocks.columns()`."""
        total = self.logistic.score(blocks) + self.forest.score(columns)
        return np.asarray(total / 2, np.float32)


@cache
def load_heads() -> dict[str, Head]:
    """Heads by name: "outer" (tasks) and "inner" (any level)."""
    text = files("whyflame.segment.auto").joinpath("weights.json").read_text("utf-8")
    return {name: _read_head(head) for name, head in json.loads(text)["heads"].items()}


def _read_head(head: dict[str, Any]) -> Head:
    raw = head["logistic"]
    logistic = Logistic(
        bias=raw["bias"],
        codes={name: _expand(values) for name, values in raw["codes"].items()},
        numbers={name: _expand(values) for name, values in raw["numbers"].items()},
    )
    return Head(logistic, Forest.from_json(head["forest"]))


def _expand(packed: dict[str, Any]) -> NDArray[np.float32]:
    """{"size": n, "at": [...], "is": [...]} -> dense."""
    values = np.zeros(packed["size"], np.float32)
    values[packed["at"]] = packed["is"]
    return values
