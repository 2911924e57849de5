"""Lane to nested, named intervals."""

from whyflame.segment.lane import Call, Lane, Step, build_lanes
from whyflame.segment.registry import load_segmenter
from whyflame.segment.run import LaneMarks, apply, segment_lanes
from whyflame.segment.segmenter import InvalidMarks, Mark, Segmenter, validate

__all__ = [
    "Call",
    "InvalidMarks",
    "Lane",
    "LaneMarks",
    "Mark",
    "Segmenter",
    "Step",
    "apply",
    "build_lanes",
    "load_segmenter",
    "segment_lanes",
    "validate",
]
