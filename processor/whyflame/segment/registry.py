"""Segmenters by name: the built-in ones, then entry points `whyflame.segmenters`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from whyflame import __version__
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

__all__ = ["BUILT_IN", "Chosen", "choose_segmenter", "load_segmenter"]

ENTRY_POINTS = "whyflame.segmenters"

Factory = Callable[[SegmentConfig], Segmenter]
BUILT_IN: dict[str, Factory] = {
    "auto": AutoSegmenter,
    "recurrence": RecurrenceSegmenter,
    "llm": LlmSegmenter,
    "marks": MarksSegmenter,
    "rules": RulesSegmenter,
}


@dataclass(frozen=True, slots=True)
class Chosen:
    """The segmenter to use.

    Attributes:
        segmenter: Built as configured.
        setup: What its marks depend on besides the lane, as a hash: which segmenter in which
            version, its options, its files. Marks of another setup are made anew.
    """

    segmenter: Segmenter
    setup: str


def load_segmenter(config: SegmentConfig, name: str | None = None) -> Segmenter:
    """The configured segmenter, as `choose_segmenter`."""
    return choose_segmenter(config, name).segmenter


def choose_segmenter(config: SegmentConfig, name: str | None = None) -> Chosen:
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
    version = __version__
    if factory is None:
        third_party = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
        if config.segmenter not in third_party:
            known = ", ".join(sorted({*BUILT_IN, *third_party}))
            text = f"unknown segmenter {config.segmenter!r}; known: {known}"
            raise UsageError(text) if name else ConfigError(f"segment.segmenter: {text}")
        point = third_party[config.segmenter]
        factory = point.load()
        version = f"{point.value} {point.dist.version if point.dist else ''}"
    segmenter: object = factory(config)
    if not isinstance(segmenter, Segmenter):
        raise ConfigError(f"segment.segmenter: {config.segmenter!r} does not implement Segmenter")
    return Chosen(segmenter, _setup_of(segmenter, version, config))


def _setup_of(segmenter: Segmenter, version: str, config: SegmentConfig) -> str:
    # Some options change nothing (how a model is reached), and a file's name is not its content.
    options = getattr(segmenter, "fingerprint", None) or repr(sorted(config.options.items()))
    text = f"{config.segmenter}\0{version}\0{config.granularity!r}\0{options}\0"
    names = _read_names(config.names_file) if config.names_file else b""
    return sha256(text.encode("utf-8", "surrogatepass") + names).hexdigest()


def _read_names(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"segment.names_file: {path}: {error.strerror or error}") from error
