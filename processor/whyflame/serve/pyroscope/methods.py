"""The methods of `querier.v1.QuerierService`: a request message in, a response message out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyflame.fold import flamegraph
from whyflame.fold.pprof import PprofOptions, encode_message
from whyflame.serve.pyroscope.asking import Asking, Wanted, same_measure
from whyflame.serve.pyroscope.connect import ConnectError
from whyflame.serve.pyroscope.dot import encode_dot
from whyflame.serve.pyroscope.heatmaps import select_heatmap
from whyflame.serve.pyroscope.labelling import label_names, label_values, series_labels
from whyflame.serve.pyroscope.messages import message_class
from whyflame.serve.pyroscope.ranges import MILLISECOND, TimeRange, check_max_nodes, check_order
from whyflame.serve.pyroscope.timelines import select_series
from whyflame.store.values import ended_between

if TYPE_CHECKING:
    from collections.abc import Callable

    from whyflame.fold.profile import Profile

__all__ = ["METHODS", "profile_types"]

_HOUR_MS = 3_600_000
_FLAMEGRAPH, _TREE, _DOT, _PPROF = (0, 1), 2, 3, 4


def profile_types(asking: Asking, request: Any) -> Any:
    """Every hierarchy with every measure that has data in the range.

    Without a range the last hour counts, and when nothing ended in it, all time: an empty list
    would leave Grafana without anything to choose.
    """
    check_order(request.start, request.end)
    everything = asking.selection([])
    if request.start or request.end:
        ids = asking.types(everything, asking.range(request.start, request.end))
    else:
        now = asking.now_ns // MILLISECOND
        ids = asking.types(everything, TimeRange(now - _HOUR_MS, now))
        ids = ids or asking.types(everything, None)
    response = _new("ProfileTypesResponse")
    names = ("ID", "name", "sample_type", "sample_unit", "period_type", "period_unit")
    for type_id in sorted(set().union(*ids.values())):
        response.profile_types.add(**dict(zip(names, [type_id, *type_id.split(":")], strict=True)))
    return response


def _label_names(asking: Asking, request: Any) -> Any:
    names = label_names(asking, request.matchers, asking.range(request.start, request.end))
    return _new("LabelNamesResponse", names=names)


def _label_values(asking: Asking, request: Any) -> Any:
    if not request.name:
        raise ConnectError("invalid_argument", "missing name: which label's values?")
    range_ = asking.range(request.start, request.end)
    names = label_values(asking, request.name, request.matchers, range_)
    return _new("LabelValuesResponse", names=names)


def _series(asking: Asking, request: Any) -> Any:
    range_ = asking.range(request.start, request.end)
    response = _new("SeriesResponse")
    for labels in series_labels(asking, request.label_names, request.matchers, range_):
        one = response.labels_set.add()
        for name, value in labels:
            one.labels.add(name=name, value=value)
    return response


def _merge_stacktraces(asking: Asking, request: Any) -> Any:
    wanted, max_nodes = _wanted(request), check_max_nodes(request.max_nodes)
    response = _new("SelectMergeStacktracesResponse")
    if request.format in _FLAMEGRAPH:
        _fill_graph(response.flamegraph, asking.profile(wanted), max_nodes)
    elif request.format == _DOT:
        response.dot = encode_dot(asking.profile(wanted), max_nodes)
    elif request.format == _PPROF:
        message = _pprof(asking.profile(wanted, timed=True))
        response.pprof.profile.ParseFromString(message)
    else:
        raise _no_such_format(request.format)
    return response


def _merge_span_profile(asking: Asking, request: Any) -> Any:
    if request.format not in _FLAMEGRAPH:
        raise _no_such_format(request.format)
    wanted = Wanted(
        request.profile_typeID,
        request.label_selector,
        request.start,
        request.end,
        spans=request.span_selector,
        only_spans=True,
    )
    response = _new("SelectMergeSpanProfileResponse")
    max_nodes = check_max_nodes(request.max_nodes)
    _fill_graph(response.flamegraph, asking.profile(wanted), max_nodes)
    return response


def _merge_profile(asking: Asking, request: Any) -> Any:
    """The whole pprof message: its size is bounded by `query.max_stacks`, not by nodes."""
    check_max_nodes(request.max_nodes)
    response = _new("Profile")
    response.ParseFromString(_pprof(asking.profile(_wanted(request), timed=True)))
    return response


def _diff(asking: Asking, request: Any) -> Any:
    for side in ("left", "right"):
        if not request.HasField(side):
            raise ConnectError("invalid_argument", f"missing {side} side of the difference")
    left, right = _wanted(request.left), _wanted(request.right)
    max_nodes = check_max_nodes(request.left.max_nodes or request.right.max_nodes)
    same_measure(asking.type_of(left), asking.type_of(right))
    graph = flamegraph.encode_diff(asking.profile(left), asking.profile(right), None, max_nodes)
    response = _new("DiffResponse")
    made = response.flamegraph
    made.names.extend(graph.names)
    made.total, made.max_self = graph.total, graph.max_self
    made.leftTicks, made.rightTicks = graph.left_ticks, graph.right_ticks
    for level in graph.levels:
        made.levels.add(values=level)
    return response


def _profile_stats(asking: Asking, _: Any) -> Any:
    everything = asking.filter(asking.selection([]), None)
    oldest, newest = ended_between(asking.running, everything)
    if oldest is None or newest is None:
        return _new("GetProfileStatsResponse")
    return _new(
        "GetProfileStatsResponse",
        data_ingested=True,
        oldest_profile_time=oldest // MILLISECOND,
        newest_profile_time=newest // MILLISECOND,
    )


def _analyze_query(_: Asking, request: Any) -> Any:
    """Pyroscope itself answers nothing here."""
    check_order(request.start, request.end)
    return _new("AnalyzeQueryResponse")


METHODS: dict[str, Callable[[Asking, Any], Any]] = {
    "AnalyzeQuery": _analyze_query,
    "Diff": _diff,
    "GetProfileStats": _profile_stats,
    "LabelNames": _label_names,
    "LabelValues": _label_values,
    "ProfileTypes": profile_types,
    "SelectHeatmap": select_heatmap,
    "SelectMergeProfile": _merge_profile,
    "SelectMergeSpanProfile": _merge_span_profile,
    "SelectMergeStacktraces": _merge_stacktraces,
    "SelectSeries": select_series,
    "Series": _series,
}
"""Every method that is answered; the request's message is called `<method>Request`."""


def _new(name: str, **fields: Any) -> Any:
    return message_class(name)(**fields)


def _wanted(request: Any) -> Wanted:
    spans = getattr(request, "span_selector", ())
    return Wanted(
        request.profile_typeID,
        request.label_selector,
        request.start,
        request.end,
        spans=spans,
        traces=request.trace_id_selector,
        call_site=[location.name for location in request.stack_trace_selector.call_site],
        profiles=request.profile_id_selector,
    )


def _fill_graph(made: Any, profile: Profile, max_nodes: int | None) -> None:
    graph = flamegraph.encode(profile, None, max_nodes)
    made.names.extend(graph.names)
    made.total, made.max_self = graph.total, graph.max_self
    for level in graph.levels:
        made.levels.add(values=level)


def _pprof(profile: Profile) -> bytes:
    return encode_message(profile, PprofOptions())


def _no_such_format(number: int) -> ConnectError:
    what = "tree" if number == _TREE else number
    return ConnectError("unimplemented", f"format {what} is not offered; use flamegraph or pprof")
