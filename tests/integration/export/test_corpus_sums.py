"""Every captured scenario and fault through settle, export and push: sums equal the totals.

All cases lie in one store, each as a tenant of its own, and go to every flavour of the server.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
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
from whyflame_exporters.profile_ids import PROFILE_ID, mark_agent_roots

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from whyflame.store.duck import Store

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

# What rounding to whole micro-USD leaves over all series together (docs/exporters.md, Money).
CARRY_NANOUSD = 2_000

HOUR = 3600 * SECOND

Rows = dict[str, dict[str, Any]]
Sums = dict[str, dict[str, dict[str, int]]]
Links = dict[str, set[str]]


@dataclass(frozen=True)
class Pushed:
    """What came of it, by name of the case.

    Attributes:
        rows: Row of `totals`. sums: By flavour, sums over all series.
        linked: Span ids on samples. roots: Outermost agent spans of counted operations.
    """

    rows: Rows
    sums: Sums
    linked: Links
    roots: Links


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory) -> Pushed:
    """The whole corpus in the servers."""
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
        roots = agent_roots(store)
        store.close()
        assert all(set(double.statuses) == {200} for double in doubles.values())
        for double in doubles.values():
            double.compact()
        sums = {
            flavour: {name: double.profiles.sums(name) for name in corpus.names()}
            for flavour, double in doubles.items()
        }
        return Pushed(rows, sums, span_ids(doubles[Flavour.V2_2]), roots)


def span_ids(double: Double) -> Links:
    """Span ids on samples, by tenant."""
    found: Links = defaultdict(set)
    for profile in double.profiles.all:
        found[profile.tenant].update(dict(labels)["span_id"] for _, labels, _ in profile.stacks)
    return found


def agent_roots(store: Store) -> Links:
    """By tenant, the outermost agent span above each counted operation that has one."""
    rows = store.cursor().execute(
        "SELECT s.tenant, s.trace_key, s.span_id, s.parent_id, s.kind = 'agent', "
        "s.span_key IN (SELECT span_key FROM operations WHERE counted) FROM spans s"
    )
    spans = {(tenant, trace, span): rest for tenant, trace, span, *rest in rows.fetchall()}
    found: Links = defaultdict(set)
    for (tenant, trace, span), (_, _, counted) in spans.items():
        above, at = None, span if counted else None
        while at is not None and (tenant, trace, at) in spans:
            parent, is_agent, _ = spans[tenant, trace, at]
            above, at = at if is_agent else above, parent
        if above is not None:
            found[tenant].add(above.hex())
    return found


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
def test_series_sum_up_to_the_totals(pushed: Pushed, name: str, flavour: str) -> None:
    """Per measure, the sum over all series equals `totals`; cost within the carry."""
    row, sums = pushed.rows[name], Counter(pushed.sums[flavour][name])
    cost = sums.pop("cost", 0)
    assert sums == Counter(expected_sums(row))
    assert abs((row["cost_usd"] or 0) * 1e9 - cost * 1000) < CARRY_NANOUSD
    counts = corpus.cases()[name].expected["totals"]
    calls = sum(
        counts.get(key, row[key]) or 0 for key in ("llm_calls", "embedding_calls", "tool_calls")
    )
    assert sums["operations"] == calls


def marked(requests: Iterable[bytes]) -> set[str]:
    """Profile ids on the spans of requests that are forwarded one by one."""
    return {
        attribute.value.string_value
        for request in requests
        for resource in ExportTraceServiceRequest.FromString(
            mark_agent_roots(request)
        ).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
        for attribute in span.attributes
        if attribute.key == PROFILE_ID
    }


def as_sent(name: str) -> list[bytes]:
    """Trace requests of a case."""
    return [body for signal, body in corpus.cases()[name].requests() if signal == "traces"]


def merged(name: str) -> bytes:
    """All of them as one."""
    together = ExportTraceServiceRequest()
    for body in as_sent(name):
        together.MergeFromString(body)
    return together.SerializeToString()


@pytest.mark.parametrize("name", corpus.names())
def test_a_link_from_an_agent_span_opens_its_flame_graph(pushed: Pushed, name: str) -> None:
    """Outermost agent spans carry the id that the samples of all their operations carry."""
    assert pushed.roots[name] <= pushed.linked[name]
    assert pushed.roots[name] <= marked([merged(name)])


def test_no_link_opens_an_empty_flame_graph(pushed: Pushed) -> None:
    """Whichever request a span comes in: a sub-agent's ends, and is sent, before its parent's."""
    roots = {(name, root) for name in corpus.names() for root in pushed.roots[name]}
    linked = {(name, link) for name in corpus.names() for link in pushed.linked[name]}
    marks = {(name, mark) for name in corpus.names() for mark in marked(as_sent(name))}
    assert marks <= linked
    assert len(marks & roots) > 0.98 * len(roots)
