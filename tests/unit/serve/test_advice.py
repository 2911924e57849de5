"""What `whyflame doctor` and the page's coverage advise."""

from __future__ import annotations

from typing import Any

import pytest

from whyflame.serve.advice import advise

COUNTS = ("operations", "unpriced_calls", "orphan_spans")


def coverage(**found: Any) -> dict[str, Any]:
    claimed = {"claimed_by_agents_not_counted": {"spans": 0}}
    whole = {**dict.fromkeys(COUNTS, 0), **claimed}
    return {
        **whole,
        "by_dialect": [],
        "unknown_scopes": {},
        "bad_values": {},
        "counters": {},
        **found,
    }


@pytest.mark.parametrize(
    ("reason", "mend"),
    [
        ("time_missing", "import a history again that was still being written"),
        ("tokens_negative", "report it to the instrumentation's maintainers"),
    ],
)
def test_a_history_in_the_middle_of_a_call_is_not_reported(reason: str, mend: str) -> None:
    """A call without its end is nobody's fault while its session goes on."""
    (finding,) = advise(coverage(bad_values={reason: 1}))
    assert finding.what == f"impossible values, counted as unknown: 1 ({reason.replace('_', ' ')})"
    assert finding.mend.startswith(mend)
