"""OTLP requests into `Span`s."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.dialects.interpreter import Interpreter
from whyflame.dialects.log_reader import read_log_events
from whyflame.dialects.span_reader import read_spans

if TYPE_CHECKING:
    from whyflame.model import Span

__all__ = ["Reader"]


class Reader(Interpreter):
    """Reads requests with one set of dialects and settings."""

    def read_traces(self, payload: bytes, *, tenant: str, received_ns: int) -> list[Span]:
        """Spans of an `ExportTraceServiceRequest`, in order of arrival.

        Raises:
            PermanentError: The bytes are not this message.
        """
        return read_spans(self, payload, tenant=tenant, received_ns=received_ns)

    def read_logs(self, payload: bytes, *, tenant: str, received_ns: int) -> list[Span]:
        """Spans for the log records of a request that stand for an operation.

        Raises:
            PermanentError: The bytes are not an `ExportLogsServiceRequest`.
        """
        return read_log_events(self, payload, tenant=tenant, received_ns=received_ns)
