"""`whyflame eval`: score a segmenter against annotated trajectories."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyflame.cli.segment import print_rules
from whyflame.cli.target import refuse_target

if TYPE_CHECKING:
    import argparse

    from whyflame.config import SegmentConfig
    from whyflame.segment.evaluation import Evaluation

__all__ = ["add_parser", "run"]

_COLUMNS = (
    ("file", 28, "s"),
    ("steps", 7, "d"),
    ("B3 P", 6, ".3f"),
    ("R", 6, ".3f"),
    ("F1", 6, ".3f"),
    ("macro", 6, ".3f"),
    ("bd P", 6, ".3f"),
    ("R", 6, ".3f"),
    ("F1", 6, ".3f"),
    ("V", 6, ".3f"),
    ("groups", 12, "s"),
)


def add_parser(subparsers: Any) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "eval",
        help="score a segmenter against annotated trajectories",
        description="Segments every trajectory of the files and compares the intervals with the "
        "annotation: pooled B-cubed, exact boundaries, V-measure, names.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="JSON lines, plain or gzip")
    parser.add_argument("--segmenter", default="auto", metavar="N", help="default: auto")
    parser.add_argument(
        "--gold", choices=("partition", "coarse", "outer"), default="partition",
        help="annotation to compare with; outer scores the outermost level (default: partition)",
    )  # fmt: skip
    parser.add_argument("--predictions", metavar="OUT", help="write one JSON line a trajectory")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument("--config", metavar="F", help="configuration file (section segment)")
    parser.add_argument(
        "--option", action="append", default=[], metavar="K=V", help="option of the segmenter"
    )
    parser.add_argument(
        "--blank-text", action="store_true", help="leave out all that was said (content off)"
    )
    refuse_target(
        parser,
        "a store holds no annotation to compare with, so trajectories come from files; "
        "`whyflame segment --segmenter N` tries a segmenter on what a store or a server has",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Evaluate and print.

    Raises:
        UsageError: A file is missing or is not annotated trajectories.
        NothingMatched: No file holds a trajectory.
    """
    from whyflame.errors import NothingMatched, UsageError
    from whyflame.segment.evaluation import evaluate_file
    from whyflame.segment.registry import load_segmenter

    segmenter = load_segmenter(_config(args), args.segmenter)
    results: dict[str, Evaluation] = {}
    for name in args.files:
        try:
            results[name] = evaluate_file(Path(name), segmenter, args.gold, blank=args.blank_text)
        except OSError as error:
            raise UsageError(f"{name}: {error.strerror or error}") from error
        except ValueError as error:
            raise UsageError(f"{name}: not annotated trajectories: {error}") from error
        except (KeyError, TypeError) as error:
            raise UsageError(f"{name}: not annotated trajectories: {error!r}") from error
    if not any(result.predictions or result.skipped for result in results.values()):
        raise NothingMatched(f"no trajectory in {', '.join(args.files)}")
    if args.predictions:
        _write_predictions(Path(args.predictions), results)
    if args.format == "json":
        json.dump(_as_json(results, args), sys.stdout, indent=2)
        print()
    else:
        _print_table(results)
    return 0


def _config(args: argparse.Namespace) -> SegmentConfig:
    from dataclasses import replace

    from whyflame.config import SegmentConfig
    from whyflame.errors import UsageError

    config = SegmentConfig()
    if args.config:
        from whyflame.config import load

        config = load(args.config).segment
    options = dict(config.options)
    for option in args.option:
        key, equals, value = option.partition("=")
        if not equals:
            raise UsageError(f"--option {option!r}: expected K=V")
        options[key] = value
    return replace(config, segmenter=args.segmenter, options=options)


def _write_predictions(path: Path, results: dict[str, Evaluation]) -> None:
    with path.open("w", encoding="utf-8") as out:
        for result in results.values():
            for prediction in result.predictions:
                out.write(json.dumps(prediction, separators=(",", ":"), ensure_ascii=False) + "\n")


def _as_json(results: dict[str, Evaluation], args: argparse.Namespace) -> dict[str, Any]:
    return {
        "segmenter": args.segmenter,
        "gold": args.gold,
        "files": {
            name: {
                "scores": result.scores or None,
                "intervals": {key: list(pair) for key, pair in result.intervals.items()},
                "names": result.names or None,
                "trajectories": len(result.predictions),
                "not_scored": result.skipped,
                "coverage": result.coverage,
            }
            for name, result in results.items()
        },
    }


def _print_table(results: dict[str, Evaluation]) -> None:
    print(" ".join(f"{title:>{width}}" for title, width, _ in _COLUMNS))
    for name, result in results.items():
        scores = result.scores
        short = Path(name).name.removesuffix(".gz").removesuffix(".jsonl")[:28]
        if not scores:
            print(f"{short:>28} no such annotation ({len(result.predictions)} trajectories)")
            _print_coverage(result)
            continue
        groups = f"{scores['groups_predicted']:.0f}/{scores['groups_annotated']:.0f}"
        cells: list[Any] = [short, int(scores["steps"])]
        cells += [scores[key] for key in (
            "b3_precision", "b3_recall", "b3_f1", "b3_macro_f1", "boundary_precision",
            "boundary_recall", "boundary_f1", "v_measure",
        )]  # fmt: skip
        cells.append(groups)
        print(" ".join(
            f"{cell:>{width}{form}}" for cell, (_, width, form) in zip(cells, _COLUMNS, strict=True)
        ))  # fmt: skip
        _print_details(result)
        _print_coverage(result)


def _print_details(result: Evaluation) -> None:
    (low, high), (low2, high2) = result.intervals["b3_f1"], result.intervals["boundary_f1"]
    print(f"{'95 %':>28} B3 F1 {low:.3f} to {high:.3f}, boundary F1 {low2:.3f} to {high2:.3f}")
    if result.names:
        print(
            f"{'names':>28} {result.names['named_groups']:.0f} groups: verb agrees "
            f"{result.names['verb_class']:.3f}, an object word {result.names['object_word']:.3f} (in the path "
            f"{result.names['object_word_in_path']:.3f})"
        )


def _print_coverage(result: Evaluation) -> None:
    if result.coverage is not None:
        print_rules(result.coverage, width=28)
