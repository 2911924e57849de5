"""What a segmenter sees: one lane as steps, each a model call with the calls it asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from operator import attrgetter
from typing import TYPE_CHECKING

from whyflame.content import extract, has_text
from whyflame.model import Kind, Span, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whyflame.model import Content, Operation

__all__ = ["Call", "Lane", "Step", "build_lanes", "features_of"]


@dataclass(slots=True)
class Call:
    """One tool call, hand-off or embedding of a step."""

    tool: str
    failed: bool = False
    features: bytes | None = None


@dataclass(slots=True)
class Step:
    """One model call and what it asked for.

    Attributes:
        features: Of the model call; None when its content is unknown.
        agent: Who made the call.
        turn: User request it works on.
        failed: The model call failed.
        calls: In order.
    """

    features: bytes | None = None
    agent: str = ""
    turn: int = 0
    failed: bool = False
    calls: list[Call] = field(default_factory=list)


@dataclass(slots=True)
class Lane:
    """One agent's own sequence inside a run.

    Attributes:
        name: Lane id inside the run ("main", or the hex id of the span that opened it).
        parent, parent_step: Where it hangs; None for a main lane.
        session: Session of the run; only for segmenters that look marks up by it.
        request: Features that carry the request which opened the lane, when known.
        steps: In order; a mark's `step` is a position here.
    """

    name: str = "main"
    parent: str | None = None
    parent_step: int | None = None
    request: bytes | None = None
    session: str = ""
    steps: list[Step] = field(default_factory=list)

    def sha256(self) -> str:
        """Hash of all that a segmenter may look at; equal hashes need no new marks."""
        digest = sha256()
        digest.update(f"{self.parent is None}".encode())
        digest.update(self.request or b"-")
        for step in self.steps:
            digest.update(step.features or b"-")
            digest.update(f"\x00{step.agent}\x00{step.turn}\x00{step.failed}".encode())
            for call in step.calls:
                digest.update(f"\x01{call.tool}\x01{call.failed}".encode())
                digest.update(call.features or b"-")
        return digest.hexdigest()


_CALLS = frozenset([Kind.TOOL, Kind.CONTROL, Kind.EMBED])
_REQUESTS = frozenset([Kind.AGENT, Kind.PROMPT])


def build_lanes(operations: Sequence[Operation]) -> list[Lane]:
    """The lanes of one run, in order of appearance.

    Features of a view that does not count still inform the step of the call it repeats: often the
    wire view has the numbers and the framework's view has the text.
    """
    twins = _features_of_twins(operations)
    lanes: dict[str, Lane] = {}
    for operation in sorted(operations, key=attrgetter("seq")):
        lane = lanes.get(operation.lane)
        if lane is None:
            lane = lanes[operation.lane] = Lane(operation.lane, session=operation.session)
        if lane.parent is None and operation.lane_parent is not None:
            lane.parent, lane.parent_step = operation.lane_parent, operation.lane_parent_step
        if operation.same_as is None:
            twin = twins.get(operation.span.span_key)
            _place(lane, operation, _telling(operation.span.features, twin))
    return list(lanes.values())


def _telling(own: bytes | None, twin: bytes | None) -> bytes | None:
    """Features of the view that counts, unless only another one saw any text."""
    if twin is None or (own is not None and has_text(own)):
        return own
    return twin if own is None or has_text(twin) else own


def _features_of_twins(operations: Iterable[Operation]) -> dict[int, bytes]:
    """Span key of a counted view -> the longest features among the views that repeat it."""
    twins: dict[int, bytes] = {}
    for operation in operations:
        key, features = operation.same_as, operation.span.features
        if key is not None and features and len(features) > len(twins.get(key, b"")):
            twins[key] = features
    return twins


def _place(lane: Lane, operation: Operation, features: bytes | None) -> None:
    """Put one operation where a segmenter finds it."""
    kind, index = operation.kind, operation.step
    if kind in _REQUESTS:
        if lane.request is None:
            lane.request = features
        return
    if index is None or (not operation.counted and kind is not Kind.CONTROL):
        return
    steps = lane.steps
    while len(steps) <= index:
        steps.append(Step(turn=operation.turn))
    step, failed = steps[index], operation.status is Status.ERROR
    if kind is Kind.LLM:
        step.features = features or step.features
        step.agent, step.turn = operation.agent or "", operation.turn
        step.failed = step.failed or failed
    elif kind in _CALLS:
        step.calls.append(Call(operation.tool or operation.span.name, failed, features))
        if not step.agent:
            step.agent, step.turn = operation.agent or "", operation.turn


def features_of(kind: Kind, content: Content, tool: str | None = None) -> bytes | None:
    """What a collector would have kept of a text, for lanes that are read from files."""
    span = Span("", "span", b"", b"", None, 0, 0, "", kind, "", tool=tool, content=content)
    return extract(span, "features")
