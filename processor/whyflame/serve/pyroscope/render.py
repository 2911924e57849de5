"""`/pyroscope/render`, `/pyroscope/render-diff` and `/pyroscope/label-values`: GET, answered in JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from whyflame.fold import flamegraph, pprof
from whyflame.fold.timerange import parse_time
from whyflame.serve.pyroscope.asking import Asking, Wanted
from whyflame.serve.pyroscope.connect import ConnectError
from whyflame.serve.pyroscope.dot import encode_dot
from whyflame.serve.pyroscope.labelling import label_values
from whyflame.serve.pyroscope.ranges import MILLISECOND, TimeRange, check_max_nodes
from whyflame.serve.pyroscope.selectors import PROFILE_TYPE, parse_selector
from whyflame.serve.pyroscope.timelines import Line, timelines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whyflame.fold.profile import Profile

__all__ = ["PAGES", "Plain"]

Plain = tuple[bytes, str]
"""A body and its media type."""

_JSON, _TEXT = "application/json", "text/plain; charset=utf-8"
_PROFILE = "application/octet-stream"
_STEPS_SECONDS = (15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21_600, 43_200, 86_400, 604_800)
_MAX_POINTS = 1500
_SAMPLE_RATE = 100


def _render(asking: Asking, query: Mapping[str, str]) -> Plain:
    max_nodes = _max_nodes(query)
    wanted = _wanted(asking, query, "query", "from", "until")
    is_file = query.get("format") == "pprof"
    profile = asking.profile(wanted, timed=is_file)
    if is_file:
        # Not in Pyroscope: `go tool pprof` fetches with GET.
        return pprof.encode(profile), _PROFILE
    if query.get("format") == "dot":
        return encode_dot(profile, max_nodes).encode(), _TEXT
    graph = flamegraph.encode(profile, None, max_nodes)
    step = _step_seconds(wanted.end - wanted.start)
    (whole,) = timelines(asking, wanted, step * 1000) or [((), {})]
    groups: list[Line] = []
    if query.get("groupBy"):
        groups = timelines(asking, wanted, step * 1000, [query["groupBy"]])
    return _json(
        {
            "version": 1,
            "flamebearer": _bearer(graph),
            "metadata": _metadata("single", profile),
            "timeline": _timeline(whole, wanted, step),
            "groups": {
                labels[0][1] if labels else "": _timeline((labels, points), wanted, step)
                for labels, points in groups
            },
            "heatmap": None,
        }
    )


def _render_diff(asking: Asking, query: Mapping[str, str]) -> Plain:
    left = _wanted(asking, query, "leftQuery", "leftFrom", "leftUntil")
    right = _wanted(asking, query, "rightQuery", "rightFrom", "rightUntil")
    if left.type_id != right.type_id:
        raise ConnectError("invalid_argument", "profile types must be equal on both sides")
    profile = asking.profile(left)
    graph = flamegraph.encode_diff(profile, asking.profile(right), None, _max_nodes(query))
    return _json(
        {
            "version": 1,
            "flamebearer": _bearer(graph),
            "metadata": _metadata("double", profile),
            "timeline": None,
            "groups": None,
            "heatmap": None,
            "leftTicks": graph.left_ticks,
            "rightTicks": graph.right_ticks,
        }
    )


def _label_values(asking: Asking, query: Mapping[str, str]) -> Plain:
    """Profile type ids for `__name__`, as the old API had it; of all time without a range."""
    label = query.get("label", "")
    if not label:
        raise ConnectError("invalid_argument", "label is missing: which label's values?")
    start = parse_time(query.get("from", "1"), asking.now_ns) // MILLISECOND
    end = parse_time(query.get("until", "now"), asking.now_ns) // MILLISECOND
    range_ = TimeRange(start, end) if end >= start else None
    name = PROFILE_TYPE if label == "__name__" else label
    return _json(label_values(asking, name, [query.get("query", "")], range_))


PAGES: dict[str, Callable[[Asking, Mapping[str, str]], Plain]] = {
    "/pyroscope/render": _render,
    "/pyroscope/render-diff": _render_diff,
    "/pyroscope/label-values": _label_values,
}
"""Answers by path."""


def _wanted(
    asking: Asking, query: Mapping[str, str], selector: str, start: str, end: str
) -> Wanted:
    text = query.get(selector, "")
    type_id = next(
        (
            matcher.value
            for matcher in parse_selector(text)
            if matcher.name == PROFILE_TYPE and matcher.operator == "="
        ),
        "",
    )
    if not type_id:
        raise ConnectError(
            "invalid_argument", f"{selector} begins with a profile type: name:type:unit:...{{...}}"
        )
    since = parse_time(query.get(start, "now-1h"), asking.now_ns) // MILLISECOND
    until = parse_time(query.get(end, "now"), asking.now_ns) // MILLISECOND
    if not (since and until):
        raise ConnectError("invalid_argument", f"{start} and {end} are times after 1970")
    return Wanted(type_id, text if "{" in text else f"{text}{{}}", since, until)


def _max_nodes(query: Mapping[str, str]) -> int | None:
    """The bound on nodes; what is no number is ignored, as in Pyroscope."""
    text = query.get("maxNodes", query.get("max-nodes", ""))
    number = text.removeprefix("-")
    is_number = number.isascii() and number.isdigit() and len(number) < 19  # noqa: PLR2004 - 64 bits
    return check_max_nodes(int(text)) if is_number else None


def _step_seconds(length_ms: int) -> int:
    least = length_ms // 1000 // _MAX_POINTS
    return next((step for step in _STEPS_SECONDS if step >= least), least)


def _timeline(line: Line, wanted: Wanted, step: int) -> dict[str, Any]:
    points = line[1]
    edges = range(wanted.start, wanted.end + 1, step * 1000)
    return {
        "startTime": wanted.start // 1000,
        "samples": [round(points.get(edge, 0)) for edge in edges],
        "durationDelta": step,
        "watermarks": None,
    }


def _bearer(graph: flamegraph.FlameGraph | flamegraph.FlameGraphDiff) -> dict[str, Any]:
    return {
        "names": graph.names,
        "levels": graph.levels,
        "numTicks": graph.total,
        "maxSelf": graph.max_self,
    }


def _metadata(kind: str, profile: Profile) -> dict[str, Any]:
    return {
        "format": kind,
        "spyName": "",
        "sampleRate": _SAMPLE_RATE,
        "units": profile.unit(profile.default),
        "name": profile.default,
    }


def _json(content: Any) -> Plain:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode(), _JSON
