"""Fit the boundary weights that ship with `auto`.

    python bench/segmentation/train.py --bench ../shared/bench

A logistic model and boosted trees (scikit-learn, here only) over the generic gap features; half of
the copies have their text blanked, so that the weights work when content is not captured. The
logistic model has weights that all settings share (one agent alone, a conversation, a team) and for
the last two a difference from them, fitted together, so that a setting departs only where its
lanes ask for it.
OSWorld-Human is never read.
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
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from whyflame.segment.auto.forest import MAX_LEAVES, Forest, Tree
from whyflame.segment.auto.gaps import describe_gaps
from whyflame.segment.auto.table import read_steps
from whyflame.segment.auto.weights import Head, Logistic

STRENGTH = 0.05  # inverse of the L2 penalty
OWN = (0.0, 0.7, 0.7)  # by setting, how easily it departs from what all share; 0: never
TREES = {
    "max_iter": 120,
    "learning_rate": 0.08,
    "max_leaf_nodes": 8,
    "l2_regularization": 5.0,
    "min_samples_leaf": 20,
    "max_features": 0.3,
    "max_bins": 31,
    "early_stopping": False,
    "random_state": 17,
}
BLANK_WEIGHT = 0.5
WEIGHTS = Path("processor/whyflame/segment/auto/weights.json")
LABELS = {"outer": ("outer", "silver"), "inner": ("inner",)}


@dataclass
class Design:
    """Gap features of rows as one matrix, with the column layout."""

    matrix: sparse.csr_matrix
    columns: np.ndarray
    layout: list[tuple[str, str, int]]
    settings: np.ndarray


def build_design(lanes: list[Any]) -> Design:
    table = read_steps(lanes)
    blocks = describe_gaps(table)
    parts, layout = [], []
    rows = np.arange(len(table.lane))
    for name, (codes, size) in blocks.codes.items():
        one = np.ones(len(codes), np.float32)
        parts.append(sparse.csr_matrix((one, (rows, codes)), shape=(len(codes), size)))
        layout.append(("codes", name, size))
    for name, values in blocks.numbers.items():
        parts.append(sparse.csr_matrix(values))
        layout.append(("numbers", name, values.shape[1]))
    matrix = with_own(sparse.hstack(parts).tocsr(), blocks.settings)
    return Design(matrix, blocks.columns().T, layout, blocks.settings)


def with_own(matrix: sparse.csr_matrix, settings: np.ndarray) -> sparse.csr_matrix:
    """The shared columns, then for each setting the same once more, zero in other settings."""
    own = [
        sparse.diags(scale * (settings == setting).astype(np.float32)) @ matrix
        for setting, scale in enumerate(OWN)
        if scale
    ]
    return sparse.hstack([matrix, *own]).tocsr()


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


def fit_head(
    rows: list[Row], text: Design, blank: Design, keys: tuple[str, ...], allowed: np.ndarray
) -> Head:
    """One head from all labels of `keys` on the allowed steps."""
    matrices, columns, labels, weights = [], [], [], []
    for key in keys:
        label, known = build_labels(rows, key)
        use = known & allowed
        for design, weight in ((text, 1.0), (blank, BLANK_WEIGHT)):
            matrices.append(design.matrix[use])
            columns.append(design.columns[use])
            labels.append(label[use])
            weights.append(np.full(int(use.sum()), weight))
    target, weight = np.concatenate(labels), np.concatenate(weights)
    logistic = LogisticRegression(C=STRENGTH, max_iter=300, tol=1e-3)
    logistic.fit(sparse.vstack(matrices), target, weight)
    trees = HistGradientBoostingClassifier(**TREES)
    trees.fit(np.concatenate(columns), target, weight)
    return Head(logistic_of(logistic, text.layout), forest_of(trees))


def logistic_of(
    model: LogisticRegression, layout: list[tuple[str, str, int]]
) -> tuple[Logistic, ...]:
    """A model for each setting: what is shared and its difference, added up."""
    shared, *own = model.coef_[0].reshape(-1, sum(size for _, _, size in layout))
    rest = iter(own)
    bias = float(model.intercept_[0])
    return tuple(
        one_logistic(bias, shared + scale * next(rest) if scale else shared, layout)
        for scale in OWN
    )


def one_logistic(bias: float, weights: np.ndarray, layout: list[tuple[str, str, int]]) -> Logistic:
    values, at = weights.astype(np.float32), 0
    found: dict[str, dict[str, np.ndarray]] = {"codes": {}, "numbers": {}}
    for group, name, size in layout:
        found[group][name] = values[at : at + size]
        at += size
    return Logistic(bias, found["codes"], found["numbers"])


def forest_of(model: HistGradientBoostingClassifier) -> Forest:
    """The trees in the form that runs without scikit-learn."""
    bias = float(np.asarray(model._baseline_prediction).ravel()[0])  # noqa: SLF001 - no public way
    return Forest(bias, tuple(tree_of(round_[0].nodes) for round_ in model._predictors))  # noqa: SLF001


def tree_of(nodes: np.ndarray) -> Tree:
    tests: list[tuple[int, float, int]] = []
    leaves: list[float] = []

    def walk(number: int) -> int:
        """Bits of the leaves below a node, left to right."""
        node = nodes[number]
        if node["is_leaf"]:
            leaves.append(float(node["value"]))
            return 1 << (len(leaves) - 1)
        place = len(tests)
        tests.append((0, 0.0, 0))
        left = walk(int(node["left"]))
        threshold = float(np.float32(f"{float(node['num_threshold']):.5g}"))
        tests[place] = (int(node["feature_idx"]), threshold, left)
        return left | walk(int(node["right"]))

    walk(0)
    if len(leaves) > MAX_LEAVES:
        raise ValueError(f"{len(leaves)} leaves; the run time takes {MAX_LEAVES}")
    return Tree(tuple(tests), np.asarray(leaves, np.float32))


def pack(head: Head) -> dict[str, Any]:
    def sparse_values(values: np.ndarray) -> dict[str, Any]:
        rounded = np.round(values, 3)
        at = np.flatnonzero(np.abs(rounded) >= 0.005)
        return {
            "size": len(values),
            "at": at.tolist(),
            "is": [float(f"{value:.3f}") for value in rounded[at]],
        }

    def pack_logistic(model: Logistic) -> dict[str, Any]:
        return {
            "bias": round(model.bias, 4),
            "codes": {name: sparse_values(values) for name, values in model.codes.items()},
            "numbers": {name: sparse_values(values) for name, values in model.numbers.items()},
        }

    return {
        "logistic": [pack_logistic(model) for model in head.logistic],
        "forest": head.forest.to_json(),
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
        heads[name] = pack(fit_head(rows, text, blank, keys, everything))
    text_out = json.dumps({"version": 1, "heads": heads}, separators=(",", ":"))
    options.out.write_text(text_out + "\n", "utf-8")
    print(f"{options.out}: {len(text_out)} bytes from {len(rows)} trajectories")


if __name__ == "__main__":
    main()
