"""Files of telemetry as OTLP requests."""

from whyflame.importers.captures import read_captures

__all__ = ["read_captures"]
