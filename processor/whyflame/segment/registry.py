"""Segmenters by name: the built-in ones, then entry points `whyflame.segmenters`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from whyflame.config import SegmentConfig
from whyflame.errors import ConfigError, UsageError
from whyflame.segment.auto.segmenter import AutoSegmenter
from whyflame.segment.llm import LlmSegmenter
from whyflame.segment.marks import MarksSegmenter
from whyflame.segment.recurrence import RecurrenceSegmenter
from whyflame.segment.rules import RulesSegmenter
from whyflame.segment.segmenter import Segmenter

if TYPE_CHECKING:
    from typing import Any

__all__ = ["BUILT_IN", "load_segmenter"]

ENTRY_POINTS = "whyflame.segmenters"

Factory = Callable[[SegmentConfig], Segmenter]
BUILT_IN: dict[str, Factory] = {
    "auto": AutoSegmenter,
    "recurrence": RecurrenceSegmenter,
    "llm": LlmSegmenter,
    "marks": MarksSegmenter,
    "rules": RulesSegmenter,
}


def load_segmenter(config: SegmentConfig, name: str | None = None) -> Segmenter:
    """The configured segmenter, built in or from an entry point.

    Args:
        config: The section `segment`.
        name: Instead of the configured one, as a command was told.

    Raises:
        ConfigError: Unknown name (the text lists the known ones) or wrong options.
        UsageError: The name of the command line is unknown.
    """
    if name is not None:
        config = replace(config, segmenter=name)
    factory: Any = BUILT_IN.get(config.segmenter)
    if factory is None:
        third_party = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
        if config.segmenter not in third_party:
            known = ", ".join(sorted({*BUILT_IN, *third_party}))
            text = f"unknown segmenter {config.segmenter!r}; known: {known}"
            raise UsageError(text) if name else ConfigError(f"segment.segmenter: {text}")
        factory = third_party[config.segmenter].load()
    segmenter: object = factory(config)
    if not isinstance(segmenter, Segmenter):
        raise ConfigError(f"segment.segmenter: {config.segmenter!r} does not implement Segmenter")
    if not hasattr(segmenter, "fingerprint"):
        with suppress(AttributeError):  # a third party's may have slots
            segmenter.fingerprint = _fingerprint(config)  # type: ignore[attr-defined]
    return segmenter


def _fingerprint(config: SegmentConfig) -> str:
    """What the result depends on besides the lane; empty for the defaults."""
    names = Path(config.names_file).read_bytes() if config.names_file else b""
    plain = SegmentConfig()
    if not names and (config.options, config.granularity) == (plain.options, plain.granularity):
        return ""
    text = f"{sorted(config.options.items())!r} {config.granularity!r}"
    return sha256(text.encode() + names).hexdigest()
