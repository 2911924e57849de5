"""The shipped boundary weights: a logistic model a setting and boosted trees, averaged."""

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

__all__ = ["LOGISTIC_SHARE", "Head", "Logistic", "load_heads"]

LOGISTIC_SHARE = 0.6  # the rest is the trees'


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
    """What says how likely one kind of boundary is.

    Attributes:
        logistic: A model for each setting of `speakers`.
        forest: Trees, the same for all.
    """

    logistic: tuple[Logistic, ...]
    forest: Forest

    def score(self, blocks: Blocks, columns: NDArray[np.float32]) -> NDArray[np.float32]:
        """Log odds before each step; `columns` are `blocks.columns()`."""
        total = LOGISTIC_SHARE * self._by_setting(blocks)
        total += (1 - LOGISTIC_SHARE) * self.forest.score(columns)
        return np.asarray(total, np.float32)

    def _by_setting(self, blocks: Blocks) -> NDArray[np.float32]:
        """Log odds, of each row by the model of its setting."""
        present: list[int] = np.unique(blocks.settings).tolist()
        if len(present) == 1:
            return self.logistic[present[0]].score(blocks)
        total = np.empty(len(blocks.settings), np.float32)
        for setting in present:
            rows = np.flatnonzero(blocks.settings == setting)
            total[rows] = self.logistic[setting].score(blocks.take(rows))
        return total


@cache
def load_heads() -> dict[str, Head]:
    """Heads by name: "outer" (tasks) and "inner" (any level)."""
    text = files("whyflame.segment.auto").joinpath("weights.json").read_text("utf-8")
    return {name: _read_head(head) for name, head in json.loads(text)["heads"].items()}


def _read_head(head: dict[str, Any]) -> Head:
    models = tuple(_read_logistic(raw) for raw in head["logistic"])
    return Head(models, Forest.from_json(head["forest"]))


def _read_logistic(raw: dict[str, Any]) -> Logistic:
    return Logistic(
        bias=raw["bias"],
        codes={name: _expand(values) for name, values in raw["codes"].items()},
        numbers={name: _expand(values) for name, values in raw["numbers"].items()},
    )


def _expand(packed: dict[str, Any]) -> NDArray[np.float32]:
    """{"size": n, "at": [...], "is": [...]} -> dense."""
    values = np.zeros(packed["size"], np.float32)
    values[packed["at"]] = packed["is"]
    return values
