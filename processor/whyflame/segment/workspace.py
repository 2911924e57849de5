"""Annotation workspaces of the reference tool: ordered nodes and intervals by start node.

`trace.jsonl` holds the nodes (session, prompt, llm, tool, effect) with additive metrics;
`annotation.json` maps a start node to {tag, parent, next}: the interval's name, the start node of
the interval around it, and the first node outside (null: it ends with its parent). Everything is
checked before anything is used; one sweep with a stack finds the path of every node.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whyflame.model import Content, Kind
from whyflame.segment.lane import Call, Lane, Step, features_of
from whyflame.segment.segmenter import MAX_WORDS, InvalidMarks, Mark

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["Node", "Workspace", "read_workspace", "write_workspace"]

_FIELDS = {"tag", "parent", "next"}


@dataclass(slots=True)
class Node:
    """One source node.

    Attributes:
        id, parent, kind: As in the file. session: Id of the session node above.
        data: Name, texts, action. metrics: Additive numbers.
        path: Names of the intervals around it, outermost first.
    """

    id: str
    parent: str | None
    kind: str
    session: str
    data: dict[str, Any]
    metrics: dict[str, int]
    path: tuple[str, ...] = ()


@dataclass(slots=True)
class Workspace:
    """A checked workspace."""

    nodes: list[Node]
    intervals: dict[str, dict[str, Any]] = field(default_factory=dict)

    def totals(self, metric: str) -> tuple[Counter[str], int]:
        """Sum of a metric below each name, and over everything."""
        below: Counter[str] = Counter()
        total = 0
        for node in self.nodes:
            value = node.metrics.get(metric, 0)
            total += value
            for name in set(node.path):
                below[name] += value
        return below, total

    def lanes(self) -> dict[str, Lane]:
        """Session id -> its lane: a step per llm node with the tools below it."""
        lanes: dict[str, Lane] = {}
        turns: Counter[str] = Counter()
        for node in self.nodes:
            session = node.session
            lane = lanes.setdefault(session, Lane(session=session))
            if node.kind == "prompt":
                turns[session] += 1
                if lane.request is None:
                    lane.request = features_of(Kind.AGENT, Content(prompt=_text(node, "text")))
            elif node.kind == "llm":
                response = _text(node, "intent", "response", "text")
                lane.steps.append(
                    Step(features_of(Kind.LLM, Content(response=response)), turn=turns[session] - 1)
                )
            elif node.kind == "tool":
                if not lane.steps:
                    lane.steps.append(Step(turn=turns[session] - 1))
                name = str(node.data.get("name", ""))
                content = Content(arguments=_text(node, "text", "planned_action", "action"))
                failed = node.data.get("status") in ("error", "failed")
                lane.steps[-1].calls.append(
                    Call(name, failed, features_of(Kind.TOOL, content, name))
                )
        return lanes

    def apply(self, marks: Mapping[str, Sequence[Mark]]) -> None:
        """Put every node below the names that a segmenter gave the step it belongs to."""
        steps: Counter[str] = Counter()
        known = {session: [mark.step for mark in found] for session, found in marks.items()}
        for node in self.nodes:
            if node.kind == "llm" or (node.kind == "tool" and not steps[node.session]):
                steps[node.session] += 1
            place = bisect_right(known.get(node.session, ()), max(steps[node.session] - 1, 0)) - 1
            node.path = marks[node.session][place].path if place >= 0 else ()

    def marks(self) -> dict[str, list[Mark]]:
        """Session id -> marks by step; a step's path is the deepest its nodes reach."""
        paths: dict[str, list[tuple[str, ...]]] = {}
        for node in self.nodes:
            steps = paths.setdefault(node.session, [])
            if node.kind == "llm" or (node.kind == "tool" and not steps):
                steps.append(node.path)
            elif node.kind == "tool":
                steps[-1] = node.path
        marks: dict[str, list[Mark]] = {}
        for session, steps in paths.items():
            changed = [
                Mark(step, path)
                for step, path in enumerate(steps)
                if step == 0 or path != steps[step - 1]
            ]
            marks[session] = changed
        return marks


def _text(node: Node, *keys: str) -> str | None:
    for key in keys:
        value = node.data.get(key)
        if isinstance(value, str) and value not in ("", "none"):
            return value[:400]
    return None


def read_workspace(folder: Path) -> Workspace:
    """Read and check a workspace.

    Raises:
        InvalidMarks: The first thing that is wrong.
    """
    try:
        lines = (folder / "trace.jsonl").read_text("utf-8").splitlines()
        raw_nodes = [json.loads(line) for line in lines if line.strip()]
        intervals = json.loads((folder / "annotation.json").read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidMarks(f"{folder}: {error}") from error
    nodes = _read_nodes(raw_nodes)
    places = {node.id: place for place, node in enumerate(nodes)}
    _check_intervals(intervals, nodes, places)
    _find_paths(nodes, places, intervals)
    return Workspace(nodes, intervals)


def _read_nodes(raw_nodes: Sequence[dict[str, Any]]) -> list[Node]:
    nodes: list[Node] = []
    sessions: dict[str, str] = {}
    for raw in raw_nodes:
        parent = raw.get("parent")
        if raw["id"] in sessions or (parent is not None and parent not in sessions):
            raise InvalidMarks(f"node {raw['id']}: repeated, or its parent does not come before it")
        session = raw["id"] if parent is None else sessions[parent]
        if nodes and nodes[-1].session != session and parent is not None:
            raise InvalidMarks(f"node {raw['id']}: its session is not one block")
        sessions[raw["id"]] = session
        nodes.append(
            Node(raw["id"], parent, raw["kind"], session, raw.get("data", {}),
                 {key: int(value) for key, value in raw.get("metrics", {}).items()})
        )  # fmt: skip
    return nodes


def _check_intervals(intervals: Any, nodes: Sequence[Node], places: Mapping[str, int]) -> None:
    if not isinstance(intervals, dict) or not intervals:
        raise InvalidMarks("an annotation needs at least one interval")
    for start, interval in intervals.items():
        if start not in places or not isinstance(interval, dict) or set(interval) != _FIELDS:
            raise InvalidMarks(f"interval {start}: unknown node, or fields other than {_FIELDS}")
        tag, around, outside = interval["tag"], interval["parent"], interval["next"]
        if not isinstance(tag, str) or not 0 < len(tag.split()) <= MAX_WORDS:
            raise InvalidMarks(f"interval {start}: {tag!r} is not one to {MAX_WORDS} words")
        node = nodes[places[start]]
        if around is None and node.parent is not None:
            raise InvalidMarks(f"interval {start}: only a session may stand alone")
        if around is not None and (around not in intervals or places[around] >= places[start]):
            raise InvalidMarks(f"interval {start}: its parent must be an interval before it")
        if outside is not None and (
            outside not in places
            or places[outside] <= places[start]
            or nodes[places[outside]].session != node.session
        ):
            raise InvalidMarks(f"interval {start}: `next` must lie after it in its session")
    for node in nodes:
        if node.kind in ("session", "prompt") and node.id not in intervals:
            raise InvalidMarks(f"node {node.id}: every session and prompt must begin an interval")


def _find_paths(
    nodes: Sequence[Node], places: Mapping[str, int], intervals: Mapping[str, dict[str, Any]]
) -> None:
    """One sweep: a stack of open intervals, each with the place where it ends."""
    ends = _session_ends(nodes)
    stack: list[tuple[str, int]] = []
    for place, node in enumerate(nodes):
        while stack and stack[-1][1] <= place:
            stack.pop()
        if node.id in intervals:
            interval = intervals[node.id]
            around = stack[-1] if stack else None
            if (around[0] if around else None) != interval["parent"]:
                raise InvalidMarks(f"interval {node.id}: it does not lie directly in its parent")
            limit = around[1] if around else ends[node.session]
            end = places[interval["next"]] if interval["next"] is not None else limit
            if end > limit:
                raise InvalidMarks(f"interval {node.id}: it crosses the end of its parent")
            stack.append((node.id, end))
        if not stack:
            raise InvalidMarks(f"node {node.id}: no interval covers it")
        node.path = tuple(str(intervals[start]["tag"]) for start, _ in stack)


def _session_ends(nodes: Sequence[Node]) -> dict[str, int]:
    ends: dict[str, int] = {}
    for place, node in enumerate(nodes):
        ends[node.session] = place + 1
    return ends


def write_workspace(folder: Path, session: str, lane: Lane, marks: Sequence[Mark]) -> None:
    """Write one lane as a workspace; texts are not kept, so nodes carry names only.

    The root lies on the session node, the next level on the prompt where it is constant; further
    levels begin at the step's model call, and, where several begin at one step, at its tools.

    Raises:
        InvalidMarks: More levels begin at one step than it has nodes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    nodes = _nodes_of(session, lane)
    intervals = _intervals_of(session, lane, marks)
    (folder / "trace.jsonl").write_text(
        "".join(json.dumps(node, separators=(",", ":")) + "\n" for node in nodes), "utf-8"
    )
    (folder / "annotation.json").write_text(json.dumps(intervals, indent=1) + "\n", "utf-8")


def _nodes_of(session: str, lane: Lane) -> list[dict[str, Any]]:
    root, prompt = f"session:{session}", f"prompt:{session}"
    nodes: list[dict[str, Any]] = [
        {"id": root, "parent": None, "kind": "session", "data": {"name": session}, "metrics": {}},
        {"id": prompt, "parent": root, "kind": "prompt", "data": {}, "metrics": {}},
    ]
    for number, step in enumerate(lane.steps):
        model = f"llm:{session}:{number}"
        nodes.append(
            {"id": model, "parent": prompt, "kind": "llm", "data": {"agent": step.agent},
             "metrics": {}}
        )  # fmt: skip
        nodes += [
            {"id": f"tool:{session}:{number}:{place}", "parent": model, "kind": "tool",
             "data": {"name": call.tool}, "metrics": {"operations": 1}}
            for place, call in enumerate(step.calls)
        ]  # fmt: skip
    return nodes


def _intervals_of(session: str, lane: Lane, marks: Sequence[Mark]) -> dict[str, dict[str, Any]]:
    root, prompt = f"session:{session}", f"prompt:{session}"
    goal = marks[0].path[0] if marks else "handle request"
    intervals: dict[str, dict[str, Any]] = {
        root: {"tag": goal, "parent": None, "next": None},
        prompt: {"tag": goal, "parent": root, "next": None},
    }
    open_: list[tuple[str, str]] = []  # (name, start node), below the prompt
    for mark in marks:
        names = mark.path[1:]
        kept = 0
        while kept < min(len(open_), len(names)) and open_[kept][0] == names[kept]:
            kept += 1
        anchors = [f"llm:{session}:{mark.step}"]
        anchors += [
            f"tool:{session}:{mark.step}:{place}"
            for place in range(len(lane.steps[mark.step].calls))
        ]
        for _, start in open_[kept:]:
            intervals[start]["next"] = anchors[0]
        if len(names) - kept > len(anchors):
            raise InvalidMarks(f"step {mark.step}: {len(names) - kept} levels begin at one step")
        del open_[kept:]
        for name, anchor in zip(names[kept:], anchors, strict=False):
            around = open_[-1][1] if open_ else prompt
            intervals[anchor] = {"tag": name, "parent": around, "next": None}
            open_.append((name, anchor))
    return intervals
