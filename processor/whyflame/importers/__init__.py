"""Files of telemetry, of agents' histories and of operations, as OTLP requests."""

from whyflame.importers.operations import VALUES
from whyflame.importers.sources import KNOWN, Listed, list_files, read_captures, read_files

__all__ = ["KNOWN", "VALUES", "Listed", "list_files", "read_captures", "read_files"]
