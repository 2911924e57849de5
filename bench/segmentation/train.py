"""Fit the boundary weights that ship with `auto`.

    python bench/segmentation/train.py --bench ../shared/bench

Logistic regression (scikit-learn, here only) over the generic gap features; half of the copies
have their text blanked, so that the weights work when content is not captured. OSWorld-Human is
never read.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from dataset import Row, read_rows
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from whyflame.segment.auto.gaps import describe_gaps
from whyflame.segment.auto.table import read_steps
from whyflame.segment.auto.weights import Head

STRENGTH = 0.1  # inverse of the L2 penalty
BLANK_WEIGHT = 0.5
WEIGHTS = Path("processor/whyflame/segment/auto/weights.json")
LABELS = {"outer": ("outer", "silver"), "inner": ("inner",)}


@dataclass
class Design:
    """Gap features of rows as one matrix, with the column layout."""

    matrix: sparse.csr_matrix
    layout: list[tuple[str, str, int]]
    starts: np.ndarray


def build_design(lanes: list[Any]) -> Design:
    table = read_steps(lanes)
    categories, numbers = describe_gaps(table)
    parts, layout = [], []
    rows = np.arange(len(table.lane))
    for name, (codes, size) in categories.items():
        one = np.ones(len(codes), np.float32)
        parts.append(sparse.csr_matrix((one, (rows, codes)), shape=(len(codes), size)))
        layout.append(("tables", name, size))
    for name, values in numbers.items():
        parts.append(sparse.csr_matrix(values))
        layout.append(("vectors", name, values.shape[1]))
    return Design(sparse.hstack(parts).tocsr(), layout, table.starts)


def build_labels(rows: list[Row], key: str) -> tuple[np.ndarray, np.ndarray]:
    """Boundary per gap and whether it is labelled (first steps never are)."""
    labels, known = [], []
    for row in rows:
        groups = getattr(row, key)
        steps = len(row.lane.steps)
        label, use = np.zeros(steps), np.zeros(steps, bool)
        if groups is not None:
            label[1:] = np.diff(groups) != 0
            use[1:] = True
        labels.append(label)
        known.append(use)
    return np.concatenate(labels), np.concatenate(known)


def fit(
    rows: list[Row], text: Design, blank: Design, keys: tuple[str, ...], allowed: np.ndarray
) -> LogisticRegression:
    matrices, labels, weights = [], [], []
    for key in keys:
        label, known = build_labels(rows, key)
        use = known & allowed
        for design, weight in ((text, 1.0), (blank, BLANK_WEIGHT)):
            matrices.append(design.matrix[use])
            labels.append(label[use])
            weights.append(np.full(int(use.sum()), weight))
    model = LogisticRegression(C=STRENGTH, max_iter=400)
    model.fit(sparse.vstack(matrices), np.concatenate(labels), np.concatenate(weights))
    return model


def head_of(model: LogisticRegression, layout: list[tuple[str, str, int]]) -> Head:
    values, at = model.coef_[0].astype(np.float32), 0
    found: dict[str, dict[str, np.ndarray]] = {"tables": {}, "vectors": {}}
    for group, name, size in layout:
        found[group][name] = values[at : at + size]
        at += size
    return Head(float(model.intercept_[0]), found["tables"], found["vectors"])


def pack(head: Head) -> dict[str, Any]:
    def sparse_values(values: np.ndarray) -> dict[str, Any]:
        rounded = np.round(values, 3)
        at = np.flatnonzero(np.abs(rounded) >= 0.005)
        return {
            "size": len(values),
            "at": at.tolist(),
            "is": [float(f"{v:.3f}") for v in rounded[at]],
        }

    return {
        "bias": round(head.bias, 4),
        "tables": {name: sparse_values(values) for name, values in head.tables.items()},
        "vectors": {name: sparse_values(values) for name, values in head.vectors.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    options = parser.parse_args()
    rows = read_rows(options.bench)
    text = build_design([row.lane for row in rows])
    blank = build_design([row.blank for row in rows])
    everything = np.ones(text.matrix.shape[0], bool)
    heads = {}
    for name, keys in LABELS.items():
        model = fit(rows, text, blank, keys, everything)
        heads[name] = pack(head_of(model, text.layout))
    text_out = json.dumps({"version": 1, "heads": heads}, separators=(",", ":"))
    options.out.write_text(text_out + "\n", "utf-8")
    print(f"{options.out}: {len(text_out)} bytes from {len(rows)} trajectories")


if __name__ == "__main__":
    main()
