"""Held-out scores of `auto` on the public data.

    python bench/segmentation/evaluate.py --bench ../shared/bench

Five folds by task (equal tasks of different sources share a fold): weights are fitted on four
folds and score the fifth. Two-level, leave-one-source-out and OSWorld-Human rows beside it, and the
Git deployment case with the shipped weights. With `--pieces 5 15` instead: what runs that arrive in
pieces of so many steps are at their end, when all of each piece is exported before the next comes.
With `--seeds 17 1 2 3 4 5` instead: how much is chance, with trees grown from each of these seeds.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from dataset import FOLDS, MARKED, Row, read_rows
from git_case import show as show_git_case
from growing import grow
from train import LABELS, TREES, Design, build_design, fit_head

from whyflame.config import SegmentConfig
from whyflame.segment.auto.segmenter import AutoSegmenter
from whyflame.segment.evaluation import partition_at
from whyflame.segment.recurrence import actions_of, cut, fit
from whyflame.segment.scoring import Tally, bootstrap, summarize, tally
from whyflame.segment.trajectories import lane_of, read_trajectories

if TYPE_CHECKING:
    from whyflame.segment.auto.weights import Head
    from whyflame.segment.segmenter import Mark


def fit_heads(rows: list[Row], text: Design, blank: Design, allowed: np.ndarray) -> dict[str, Head]:
    return {name: fit_head(rows, text, blank, keys, allowed) for name, keys in LABELS.items()}


def allowed_steps(rows: list[Row], keep: Any) -> np.ndarray:
    return np.concatenate([np.full(len(row.lane.steps), bool(keep(row))) for row in rows])


class Predictions:
    """Marks of every row, with and without text, each from weights that never saw its task."""

    def __init__(self, rows: list[Row], group: Any, groups: list[Any], config: SegmentConfig):
        text = build_design([row.lane for row in rows])
        blank = build_design([row.blank for row in rows])
        self.rows = rows
        self.text: dict[int, list[Mark]] = {}
        self.blank: dict[int, list[Mark]] = {}
        self.heads: dict[Any, dict[str, Head]] = {}
        for held_out in groups:
            allowed = allowed_steps(rows, lambda row, g=held_out: group(row) != g)
            heads = self.heads[held_out] = fit_heads(rows, text, blank, allowed)
            segmenter = AutoSegmenter(config, heads)
            picked = [i for i, row in enumerate(rows) if group(row) == held_out]
            for i, marks in zip(
                picked, segmenter.segment_many([rows[i].lane for i in picked]), strict=True
            ):
                self.text[i] = marks
            for i, marks in zip(
                picked, segmenter.segment_many([rows[i].blank for i in picked]), strict=True
            ):
                self.blank[i] = marks

    def tallies(self, source: str, key: str, depth: int | None, *, blank: bool) -> list[Tally]:
        found = self.blank if blank else self.text
        return [
            tally(partition_at(found[i], len(row.lane.steps), depth), getattr(row, key))
            for i, row in enumerate(self.rows)
            if row.source == source and getattr(row, key) is not None and i in found
        ]


def line(name: str, tallies: list[Tally], *, intervals: bool = False) -> str:
    s = summarize(tallies)
    text = (
        f"{name:52s} {s['b3_precision']:.3f} {s['b3_recall']:.3f} {s['b3_f1']:.3f} | "
        f"{s['boundary_f1']:.3f} | {s['groups_predicted']:.0f}/{s['groups_annotated']:.0f}"
    )
    if intervals:
        low, high = bootstrap(tallies, lambda r: r["b3_f1"])
        low2, high2 = bootstrap(tallies, lambda r: r["boundary_f1"])
        text += f" | {low:.3f}-{high:.3f} {low2:.3f}-{high2:.3f}"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--granularity", type=float, default=5.0)
    parser.add_argument("--intervals", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--pieces", type=int, nargs="*", default=[])
    parser.add_argument("--seeds", type=int, nargs="*", default=[])
    options = parser.parse_args()
    config = SegmentConfig(granularity=options.granularity)
    rows = read_rows(options.bench)
    if options.seeds:
        by_chance(rows, config, options.seeds)
        return
    folds = Predictions(rows, lambda row: row.fold, list(range(FOLDS)), config)
    show = lambda name, t: print(line(name, t, intervals=options.intervals))  # noqa: E731
    if options.pieces:
        in_pieces(folds, config, options.pieces, show)
        return
    for blank in (False, True):
        tag = " blank" if blank else ""
        show(
            f"claude_code_todo silver, innermost{tag}",
            folds.tallies("claude_code_todo", "silver", None, blank=blank),
        )
        show(
            f"claude_code_todo silver, depth 2{tag}",
            folds.tallies("claude_code_todo", "silver", 2, blank=blank),
        )
        for source in MARKED:
            show(f"{source} marks, depth 2{tag}", folds.tallies(source, "outer", 2, blank=blank))
        for source in MARKED:
            show(
                f"{source} marks, innermost{tag}", folds.tallies(source, "inner", None, blank=blank)
            )
    baselines(rows, show)
    if options.quick:
        return
    text = build_design([row.lane for row in rows])
    blank_design = build_design([row.blank for row in rows])
    everything = fit_heads(rows, text, blank_design, allowed_steps(rows, lambda _: True))
    unseen(options.bench, AutoSegmenter(config, everything), show)
    others = Predictions(rows, lambda row: row.source, list(MARKED), config)
    for source in MARKED:
        show(f"{source} left out, depth 2", others.tallies(source, "outer", 2, blank=False))
    show(
        "claude_code_todo left out, silver",
        others.tallies("claude_code_todo", "silver", None, blank=False),
    )
    show_git_case(options.bench, AutoSegmenter(config))


def by_chance(rows: list[Row], config: SegmentConfig, seeds: list[int]) -> None:
    """Mean, least and most of B3 and boundary F1 over trees of several seeds."""
    found: dict[str, list[tuple[float, float]]] = {}
    for seed in seeds:
        TREES["random_state"] = seed
        folds = Predictions(rows, lambda row: row.fold, list(range(FOLDS)), config)
        named = {source: folds.tallies(source, "outer", 2, blank=False) for source in MARKED}
        named["silver"] = folds.tallies("claude_code_todo", "silver", None, blank=False)
        named["silver blank"] = folds.tallies("claude_code_todo", "silver", None, blank=True)
        for name, tallies in named.items():
            scores = summarize(tallies)
            found.setdefault(name, []).append((scores["b3_f1"], scores["boundary_f1"]))
    for name, pairs in found.items():
        means, least, most = (f(pairs, axis=0) for f in (np.mean, np.min, np.max))
        print(f"{name:20s}", *(
            f"{what} {means[i]:.3f} ({least[i]:.3f}-{most[i]:.3f})"
            for i, what in enumerate(("B3", "boundary"))
        ))  # fmt: skip


def in_pieces(folds: Predictions, config: SegmentConfig, pieces: list[int], show: Any) -> None:
    """The same held-out weights on runs that grow, whose exported names stay."""
    for piece in (0, *pieces):
        tag = f" in pieces of {piece}" if piece else ""
        if piece:
            folds.text = {}
            for fold, heads in folds.heads.items():
                picked = [i for i, row in enumerate(folds.rows) if row.fold == fold]
                lanes = [folds.rows[i].lane for i in picked]
                grown = grow(lanes, piece, AutoSegmenter(config, heads), pauses=True)
                folds.text |= dict(zip(picked, (one.marks for one in grown), strict=True))
        show(f"claude_code_todo silver, innermost{tag}",
             folds.tallies("claude_code_todo", "silver", None, blank=False))  # fmt: skip
        for source in MARKED:
            show(f"{source} marks, depth 2{tag}", folds.tallies(source, "outer", 2, blank=False))


def baselines(rows: list[Row], show: Any) -> None:
    """One segment, and the paper's method with reference counts of the other folds."""
    for source, key in (("claude_code_todo", "silver"), *((source, "outer") for source in MARKED)):
        picked = [row for row in rows if row.source == source and getattr(row, key) is not None]
        show(f"{source} {key}: one segment",
             [tally([0] * len(row.lane.steps), getattr(row, key)) for row in picked])  # fmt: skip
        tallies = []
        for fold in range(FOLDS):
            model = fit([actions_of(row.lane) for row in picked if row.fold != fold])
            tallies += [
                tally(cut(model, actions_of(row.lane)), getattr(row, key))
                for row in picked
                if row.fold == fold and model is not None
            ]
        show(f"{source} {key}: recurrence", tallies)


def unseen(bench: Path, segmenter: AutoSegmenter, show: Any) -> None:
    """Sets that no weight was fitted on."""
    for source, key, depth in (
        ("osworld_human", "partition", None),
        ("osworld_human", "partition", 2),
        ("stitched_two_level", "outer", 2),
        ("stitched_two_level", "partition", None),
        ("llm_agents_study", "coarse", None),
    ):
        records = list(read_trajectories(bench / "trajectories" / f"{source}.jsonl.gz"))
        marks = segmenter.segment_many([lane_of(record) for record in records])
        tallies = []
        for record, found in zip(records, marks, strict=True):
            gold = record["gold"][key]
            gold = gold["partition"] if isinstance(gold, dict) else gold
            if source == "osworld_human" and not record.get("canonical"):
                continue
            tallies.append(tally(partition_at(found, len(gold), depth), gold))
        show(f"{source} {key} (depth {depth or 'innermost'})", tallies)


if __name__ == "__main__":
    main()
