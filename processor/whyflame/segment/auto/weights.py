"""The shipped boundary weights and how they score gaps."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyflame.segment.auto.gaps import Blocks

__all__ = ["Head", "load_heads"]


@dataclass(frozen=True)
class Head:
    """One logistic model over the gap features.

    Attributes:
        bias: Log odds of a boundary when nothing is known.
        tables: Per categorical block, a weight per code.
        vectors: Per numeric block, a weight per column.
    """

    bias: float
    tables: dict[str, NDArray[np.float32]]
    vectors: dict[str, NDArray[np.float32]]

    def score(self, blocks: Blocks) -> NDArray[np.float32]:
        """Log odds of a boundary before each step."""
        categories, numbers = blocks
        rows = len(next(iter(numbers.values())))
        total = np.full(rows, self.bias, np.float32)
        for name, (codes, _) in categories.items():
            total += self.tables[name][codes]
        for name, values in numbers.items():
            total += values @ self.vectors[name]
        return total


@cache
def load_heads() -> dict[str, Head]:
    """Heads by name: "outer" (tasks) and "inner" (any level)."""
    text = files("whyflame.segment.auto").joinpath("weights.json").read_text("utf-8")
    return {name: _read_head(head) for name, head in json.loads(text)["heads"].items()}


def _read_head(head: dict[str, Any]) -> Head:
    return Head(
        bias=head["bias"],
        tables={name: _expand(values) for name, values in head["tables"].items()},
        vectors={name: _expand(values) for name, values in head["vectors"].items()},
    )


def _expand(packed: dict[str, Any]) -> NDArray[np.float32]:
    """{"size": n, "at": [...], "is": [...]} -> dense."""
    values = np.zeros(packed["size"], np.float32)
    values[packed["at"]] = packed["is"]
    return values
