"""Builds the stages and hands each its successor: journal, index, settle, segment, export."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyflame.config import default_memory_limit
from whyflame.dialects import DialectSettings
from whyflame.export import ExportJob, build_exporters
from whyflame.index.dead_letters import DeadLetters
from whyflame.index.indexer import Indexer, SpanReader
from whyflame.journal import JournalTail, Position
from whyflame.segment import build_segmenter, segment_operations
from whyflame.settle import SettleSettings, settle
from whyflame.settle.job import SettleJob
from whyflame.store.duck import Store
from whyflame.store.settled import MarkRow, SettledWriter
from whyflame.store.spans import SpanWriter
from whyflame.store.unsettled import Unsettled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from whyflame.config import Config
    from whyflame.model import Operation, Span

__all__ = ["Pipeline", "build_pipeline", "open_store"]

SECOND_NS = 1_000_000_000
DATABASE = "whyflame.duckdb"
JOURNAL = "journal"
DEAD_LETTERS = "dead-letters"


def now_ns() -> int:
    """The one wall clock that is handed to every stage."""
    return time.time_ns()


def open_store(data_dir: Path, config: Config) -> Store:
    """Open the store of a data directory, making it when new.

    Raises:
        StoreError: A server holds it.
    """
    return Store(
        data_dir / DATABASE,
        memory_limit=config.store.memory_limit or default_memory_limit(),
        threads=config.store.threads,
    )
