"""Every captured scenario and fault through settle, export and push: sums equal the totals.

All cases lie in one store, each as a tenant of its own, and go to every flavour of the server.
"""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from tests import corpus
from tests.doubles.pyroscope import Double, Flavour, Limits
from tests.integration.export.world import SECOND, Clock

from whyflame.app.offline import import_captures
from whyflame.app.opening import open_store
from whyflame.config import Config
from whyflame.export import ExportJob, build_exporter
from whyflame.export.fake import InlineExecutor
from whyflame.fold.where import Fragment, compile_tenant
from whyflame.store.totals import totals

if TYPE_CHECKING:
    from pathlib import Path

    from whyflame.store.duck import Store

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

# What rounding to whole micro-USD leaves over all series together (docs/exporters.md, Money).
CARRY_NANOUSD = 2_000

HOUR = 3600 * SECOND

Rows = dict[str, dict[str, Any]]
Sums = dict[str, dict[str, dict[str, int]]]


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Rows, Sums]:
    """Row of `totals` by case; and by flavour and case, sums over all series."""
    folder: Path = tmp_path_factory.mktemp("corpus")
    for name, case in corpus.cases().items():
        import_captures(folder, Config(), case.requests(), tenant=name)
    store = open_store(folder, Config())
    rows = {name: totals(store, (), condition(name), name)[0] for name in corpus.names()}
    # Long after the captures, and after they came in just now: no run is growing any more.
    ((last,),) = (
        store.cursor()
        .execute("SELECT max(greatest(end_ns, start_ns, received_ns)) FROM spans")
        .fetchall()
    )
    clock = Clock(int(last) + HOUR)
    with ExitStack() as stack:
        limits = Limits(reject_older_seconds=0, multitenancy=True)
        doubles = {
            flavour.value: stack.enter_context(Double(flavour, limits, clock))
            for flavour in Flavour
        }
        push(store, doubles, clock)
        store.close()
        assert all(set(double.statuses) == {200} for double in doubles.values())
        for double in doubles.values():
            double.compact()
        return rows, {
            flavour: {name: double.profiles.sums(name) for name in corpus.names()}
            for flavour, double in doubles.items()
        }


def condition(tenant: str) -> Fragment:
    """The WHERE clause that selects a tenant."""
    found = compile_tenant(tenant)
    return Fragment(f" WHERE {found.sql}", found.params)


def push(store: Store, doubles: dict[str, Double], clock: Clock) -> None:
    """Push everything settled to all of them, and once more, which must add nothing."""
    bound = [build_exporter(name, "pyroscope", {"url": d.url}) for name, d in doubles.items()]
    job = ExportJob(store, bound, clock, executor=InlineExecutor, pause=clock.advance)
    job.start()
    for _ in range(2):
        while job.flush(30.0):
            clock.advance(1)
        clock.advance(60)
    job.close()


def expected_sums(row: dict[str, Any]) -> dict[str, int]:
    """What the row of `totals` says about each measure that is pushed by default, but cost."""
    return {
        "operations": row["llm_calls"] + row["embedding_calls"] + row["tool_calls"],
        "tokens": (row["input_tokens"] or 0) + (row["output_tokens"] or 0),
        "duration": round((row["duration_seconds"] or 0) * 1e9),
    }


@pytest.mark.parametrize("flavour", [flavour.value for flavour in Flavour])
@pytest.mark.parametrize("name", corpus.names())
def test_series_sum_up_to_the_totals(pushed: tuple[Rows, Sums], name: str, flavour: str) -> None:
    """Per measure, the sum over all series equals `totals`; cost within the carry."""
    rows, by_flavour = pushed
    row, sums = rows[name], Counter(by_flavour[flavour][name])
    cost = sums.pop("cost", 0)
    assert sums == Counter(expected_sums(row))
    assert abs((row["cost_usd"] or 0) * 1e9 - cost * 1000) < CARRY_NANOUSD
    counts = corpus.cases()[name].expected["totals"]
    calls = sum(
        counts.get(key, row[key]) or 0 for key in ("llm_calls", "embedding_calls", "tool_calls")
    )
    assert sums["operations"] == calls
