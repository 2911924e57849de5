"""`whyflame doctor`: what the telemetry leaves out, and which setting mends it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from whyflame.cli.tables import NOTHING_YET, number_of
from whyflame.cli.target import add_filters, add_target, chosen_filter, questions

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

__all__ = ["add_parser", "run"]


def add_parser(subparsers: Any) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "doctor",
        help="what your instrumentation does not report, and how to mend it",
        description="Looks for calls without tokens, sessions, text or prices and for lost spans; "
        "each finding names the setting that mends it.",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")
    add_filters(parser)
    add_target(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Ask for coverage and explain it."""
    from whyflame.serve.advice import advise

    with questions(args) as asked:
        coverage = asked.totals((), chosen_filter(args))["coverage"]
    findings = advise(coverage)
    if args.format == "json":
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
        return 0
    print(
        f"{number_of(coverage['operations'], 'operation')} in "
        f"{number_of(coverage['sessions'], 'session')}"
    )
    if not findings:
        print(_all_is_well(coverage))
    for finding in findings:
        print(f"\n{finding.who or 'all producers'}: {finding.what}\n  -> {finding.mend}")
    if views := coverage["merged_views"]:
        print(_merged(views))
    return 0


def _merged(views: Mapping[str, int]) -> str:
    reasons = ", ".join(f"{why.replace('_', ' ')} {count:,}" for why, count in views.items())
    return (
        f"\n{number_of(sum(views.values()), 'span')} came as a further view of what another one "
        f"reports ({reasons}): each counts once, nothing to mend"
    )


def _all_is_well(coverage: Mapping[str, Any]) -> str:
    """That nothing is missing; or that nothing is there to judge."""
    if not coverage["operations"]:
        return NOTHING_YET
    silent = coverage["calls_without_usage"]
    if silent:
        calls = "call" if silent == 1 else "calls"
        return (
            f"Nothing needs mending. {silent:,} model {calls} reported no tokens; calls that fail "
            "seldom do."
        )
    return "Nothing is missing: every call reports its tokens, session and text."
