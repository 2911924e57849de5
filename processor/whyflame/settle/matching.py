"""Views of one call in different places: an SDK that traces itself, double instrumentation, mirrors.

Two spans are the same call only when nothing speaks against it, and each is matched with at most
one span of another scope: a wrong merge of two real calls would be worse than a duplicate.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from whyflame.model import Kind
from whyflame.settle.processes import by_process, place, same_process, several_places
from whyflame.settle.views import CALLS, same_tool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whyflame.model import Span
    from whyflame.settle.ledger import Ledger

__all__ = ["match_calls", "match_tools"]

SLACK_NS = 5_000_000
"""Clock steps inside one process; 50 ms was seen to pair neighbours."""

LEAD_NS = 1_000_000_000
"""How long a framework may take before its client calls, where only time speaks for one call."""

MIRROR_SLACK_NS = 30_000_000_000
"""Between hosts, when response id and usage say that it is the same call."""


class _Pair(NamedTuple):
    """A possible match, best first by natural order."""

    rank: int
    distance_ns: int
    outer: int
    inner: int
    why: str


def _start(span: Span) -> int:
    return span.start_ns if span.start_ns is not None else span.end_ns or 0


def _end(span: Span) -> int:
    return span.end_ns if span.end_ns is not None else span.start_ns or 0


def _totals(span: Span) -> tuple[int | None, int | None]:
    """(input, output) with all their parts; None where unknown."""
    parts_in = (span.input_uncached, span.cache_read, span.cache_write)
    known_in = span.input_uncached is not None
    known_out = span.output_visible is not None
    return (
        sum(part or 0 for part in parts_in) if known_in else None,
        (span.output_visible or 0) + (span.reasoning or 0) if known_out else None,
    )


def _compatible_models(left: Span, right: Span) -> bool:
    """One model name may be the other with a date or a prefix; unknown fits all."""
    names = [
        {name.lower() for name in (span.model, span.request_model) if name}
        for span in (left, right)
    ]
    if not names[0] or not names[1]:
        return True
    return any(a.startswith(b) or b.startswith(a) for a in names[0] for b in names[1])


def _contains(outer: Span, inner: Span) -> bool:
    return _start(outer) - SLACK_NS <= _start(inner) and _end(inner) <= _end(outer) + SLACK_NS


def _overlaps(left: Span, right: Span, slack_ns: int) -> bool:
    return _start(left) <= _end(right) + slack_ns and _start(right) <= _end(left) + slack_ns


class _Cluster:
    """The views of one call found so far, as one candidate."""

    __slots__ = ("best", "head", "ids", "is_in_agent", "is_lone", "outer", "places")

    def __init__(self, ledger: Ledger, head: int) -> None:
        spans = [ledger.spans[view] for view in ledger.views_of(head)]
        self.head = head
        self.outer = ledger.spans[head]
        self.ids = _ids(ledger, head)
        self.places = {place(span) for span in spans}
        self.is_in_agent = any(
            ledger.spans[above].kind is Kind.AGENT for above in ledger.forest.ancestors(head)
        )
        self.is_lone = not self.is_in_agent and not any(
            span.session or span.conversation for span in spans
        )
        reporting = [span for span in spans if span.has_usage]
        self.best = max(reporting, key=lambda span: span.wire) if reporting else self.outer


def match_calls(ledger: Ledger) -> None:
    """Merges calls that other scopes or other services saw as well."""
    merged = True
    while merged:
        heads = _comparable(ledger)
        if not heads:
            return
        clusters = [_Cluster(ledger, head) for head in heads]
        merged = _merge_best(ledger, clusters, sorted(_call_pairs(ledger, clusters)))


def _comparable(ledger: Ledger) -> list[int]:
    """Calls that somebody may have seen once more, in order of start; mostly none.

    A process saw each call once when it reports from one place, with response ids that no other
    call has.
    """
    calls = ledger.open_of(CALLS)
    spans = [ledger.spans[call] for call in calls]
    shared = _shared_ids(ledger, calls)
    found: list[int] = []
    for members in by_process(spans):
        heads = [calls[member] for member in members]
        if several_places([spans[member] for member in members]) or (
            shared and any(not shared.isdisjoint(_ids(ledger, head)) for head in heads)
        ):
            found += heads
    return ledger.forest.in_order(found)


def _ids(ledger: Ledger, head: int) -> set[str]:
    """Response ids that the views of a call know."""
    ids = {ledger.spans[view].response_id for view in ledger.views_of(head)}
    return {response_id for response_id in ids if response_id}


def _shared_ids(ledger: Ledger, calls: list[int]) -> set[str]:
    """Response ids that more than one call has."""
    spans, merged = ledger.spans, ledger.views
    ids = Counter([spans[call].response_id for call in calls if call not in merged])
    for call in calls:
        if call in merged:
            ids.update(_ids(ledger, call))
    return {response_id for response_id, calls in ids.items() if response_id and calls > 1}


def _merge_best(ledger: Ledger, clusters: list[_Cluster], pairs: list[_Pair]) -> bool:
    """Takes pairs best first, each cluster at most once a round."""
    used: set[int] = set()
    for pair in pairs:
        if pair.outer in used or pair.inner in used:
            continue
        used.update((pair.outer, pair.inner))
        ledger.merge(clusters[pair.outer].head, clusters[pair.inner].head, pair.why)
    return bool(used)


def _call_pairs(ledger: Ledger, clusters: list[_Cluster]) -> Iterable[_Pair]:
    by_id: dict[str, list[int]] = {}
    for position, cluster in enumerate(clusters):
        for response_id in sorted(cluster.ids):
            by_id.setdefault(response_id, []).append(position)
    for members in by_process([cluster.outer for cluster in clusters]):
        if _may_repeat([clusters[member] for member in members]):
            yield from _pairs_in_process(ledger, clusters, members)
    for positions in by_id.values():
        if len(positions) > 1 and not _is_reused(clusters, positions):
            for left, right in combinations(positions, 2):
                yield from _pair_of_mirrors(ledger, clusters, left, right)


def _may_repeat(clusters: list[_Cluster]) -> bool:
    """False when all heads stand at one place with ids of their own (`_may_match` says no)."""
    ids = [response_id for cluster in clusters for response_id in cluster.ids]
    places = {place(cluster.outer) for cluster in clusters}
    return len(places) > 1 or len(set(ids)) < len(ids)


def _pairs_in_process(
    ledger: Ledger, clusters: list[_Cluster], members: list[int]
) -> Iterable[_Pair]:
    starts = [_start(clusters[member].outer) for member in members]
    for at, member in enumerate(members):
        first = bisect_left(starts, starts[at] - SLACK_NS)
        last = bisect_right(starts, _end(clusters[member].outer) + SLACK_NS)
        for other in range(first, last):
            if other != at:
                yield from _pair_in_process(ledger, clusters, member, members[other])


def _is_reused(clusters: list[_Cluster], positions: list[int]) -> bool:
    """An id with different usage, or at times far apart, comes from a server that repeats ids."""
    usages = {_totals(clusters[at].best) for at in positions if clusters[at].best.has_usage}
    first = min(_end(clusters[at].outer) for at in positions)
    last = max(_start(clusters[at].outer) for at in positions)
    return len(usages) > 1 or last - first > MIRROR_SLACK_NS


def _may_match(ledger: Ledger, left: _Cluster, right: _Cluster) -> bool:
    """Same kind, different places, not one below the other with work between them."""
    if left.outer.kind is not right.outer.kind or left.outer.tenant != right.outer.tenant:
        return False
    if not left.places.isdisjoint(right.places) and not _is_stray_mirror(left, right):
        return False
    forest = ledger.forest
    return not (
        forest.crosses_work(left.head, right.head) or forest.crosses_work(right.head, left.head)
    )


def _are_of_two_sessions(left: Span, right: Span) -> bool:
    """Traces of two sessions hold two calls, however alike."""
    return (
        left.trace_id != right.trace_id
        and left.session is not None
        and right.session is not None
        and left.session != right.session
    )


def _is_stray_mirror(left: _Cluster, right: _Cluster) -> bool:
    """A gateway may report under the application's own names, but in a trace without context.

    Only with a response id: then one of the two stands in a trace of its own, outside any agent
    and session, while it lasts. Two calls with a place of their own each are two calls.
    """
    return (
        (left.is_lone or right.is_lone)
        and left.outer.trace_id != right.outer.trace_id
        and not left.ids.isdisjoint(right.ids)
        and _overlaps(left.outer, right.outer, 0)
    )


def _equal_usage(left: _Cluster, right: _Cluster) -> bool:
    return _totals(left.best) == _totals(right.best) and left.best.has_usage


def _pair_in_process(
    ledger: Ledger, clusters: list[_Cluster], outer: int, inner: int
) -> Iterable[_Pair]:
    """`inner` happened within `outer`, in the same process, with nothing that contradicts."""
    out, into = clusters[outer], clusters[inner]
    if not same_process(out.outer, into.outer) or not _may_match(ledger, out, into):
        return
    if not _contains(out.outer, into.outer) or not _compatible_models(out.best, into.best):
        return
    same_id = not out.ids.isdisjoint(into.ids)
    if out.ids and into.ids and not same_id:
        return
    if not same_id and _are_of_two_sessions(out.outer, into.outer):
        return
    rank = _rank(out, into, same_id=same_id)
    if rank is not None:
        distance = abs(_start(out.outer) - _start(into.outer))
        yield _Pair(rank, distance, outer, inner, "same_call")


def _rank(out: _Cluster, into: _Cluster, *, same_id: bool) -> int | None:
    """How well two views fit, 0 best; None when too little speaks for one call."""
    equal = _equal_usage(out, into)
    if same_id:
        return 0 if equal else 1
    if equal:
        return 2
    nearer = into.best.wire > out.best.wire and _start(into.outer) - _start(out.outer) < LEAD_NS
    silent = not (out.best.has_usage and into.best.has_usage)
    return 3 if nearer and silent and _same_status(out.outer, into.outer) else None


def _same_status(left: Span, right: Span) -> bool:
    """A failed and a successful call are not one call."""
    return (left.status == "error") == (right.status == "error")


def _pair_of_mirrors(
    ledger: Ledger, clusters: list[_Cluster], left: int, right: int
) -> Iterable[_Pair]:
    """Another service (a gateway) saw the call: equal response id, equal usage, about that time.

    Local model servers give out the same ids again and again, so an id alone proves nothing, and
    neither do equal answers: a gateway runs no agent, two agents made two calls.
    """
    a, b = clusters[left], clusters[right]
    if a.is_in_agent and b.is_in_agent and a.outer.trace_id != b.outer.trace_id:
        return
    if not _may_match(ledger, a, b) or not _equal_usage(a, b):
        return
    if not _overlaps(a.outer, b.outer, MIRROR_SLACK_NS):
        return
    outer, inner = (left, right) if _is_outer(a.outer, b.outer) else (right, left)
    why = "same_call" if same_process(a.outer, b.outer) else "mirror"
    yield _Pair(4, abs(_start(a.outer) - _start(b.outer)), outer, inner, why)


def _is_outer(left: Span, right: Span) -> bool:
    """The view with a place in an agent's trace, else the longer one, frames the other."""
    rank = [
        (span.parent_id is not None or span.session is not None, _end(span) - _start(span))
        for span in (left, right)
    ]
    return rank[0] >= rank[1]


def match_tools(ledger: Ledger) -> None:
    """Merges tool runs that a second scope saw beside, not below, the first."""
    spans = ledger.spans
    tools = ledger.open_of((Kind.TOOL,))
    if len({spans[tool].scope for tool in tools}) < 2:  # noqa: PLR2004 - nothing to compare
        return
    tools = ledger.forest.in_order(tools)
    for members in by_process([spans[tool] for tool in tools]):
        heads = [tools[member] for member in members]
        if len({spans[head].scope for head in heads}) > 1:
            _match_in_process(ledger, heads)


def _match_in_process(ledger: Ledger, heads: list[int]) -> None:
    spans = ledger.spans
    starts = [_start(spans[index]) for index in heads]
    pairs: list[_Pair] = []
    for position, outer in enumerate(heads):
        for other in range(bisect_left(starts, starts[position] - SLACK_NS), len(heads)):
            if starts[other] > _end(spans[outer]) + SLACK_NS:
                break
            if other != position and _is_same_run(ledger, outer, heads[other]):
                distance = abs(starts[position] - starts[other])
                pairs.append(_Pair(0, distance, position, other, "same_call"))
    used: set[int] = set()
    for pair in sorted(pairs):
        if pair.outer not in used and pair.inner not in used:
            used.update((pair.outer, pair.inner))
            ledger.merge(heads[pair.outer], heads[pair.inner], pair.why)


def _is_same_run(ledger: Ledger, outer: int, inner: int) -> bool:
    a, b = ledger.spans[outer], ledger.spans[inner]
    places = {place(ledger.spans[view]) for view in ledger.views_of(outer)}
    if places & {place(ledger.spans[view]) for view in ledger.views_of(inner)}:
        return False
    if a.scope == b.scope or not same_process(a, b) or not _contains(a, b):
        return False
    if a.call_id and b.call_id and a.call_id != b.call_id:
        return False
    if ledger.forest.crosses_work(outer, inner) or ledger.forest.crosses_work(inner, outer):
        return False
    return same_tool(a.tool, b.tool)
