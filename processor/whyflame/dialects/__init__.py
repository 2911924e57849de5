"""What each instrumentation means: OTLP spans and log events to `Span` records.

`read_traces` and `read_logs` are the entry; `Reader` keeps what they work out between requests.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from whyflame.dialects.dialect import Dialect, IndexedMessages
from whyflame.dialects.genai import GENAI
from whyflame.dialects.reader import Reader
from whyflame.dialects.reading import Reading
from whyflame.dialects.registry import DIALECTS, ENTRY_POINT_GROUP, Registry
from whyflame.dialects.settings import DialectSettings, dialect_settings
from whyflame.dialects.usage import Usage

if TYPE_CHECKING:
    from whyflame.model import Span

__all__ = [
    "DIALECTS",
    "ENTRY_POINT_GROUP",
    "GENAI",
    "Dialect",
    "DialectSettings",
    "IndexedMessages",
    "Reader",
    "Reading",
    "Registry",
    "Usage",
    "dialect_settings",
    "read_logs",
    "read_traces",
]


_Pairs = tuple[tuple[str, str], ...]


@lru_cache(maxsize=8)
def _reader(resource: _Pairs, span: _Pairs, *, content: bool) -> Reader:
    return Reader(DialectSettings(dict(resource), dict(span), read_content=content))


def _reader_for(settings: DialectSettings | None) -> Reader:
    wanted = settings or DialectSettings()
    return _reader(
        tuple(wanted.resource_fields.items()),
        tuple(wanted.span_fields.items()),
        content=wanted.read_content,
    )


def read_traces(
    payload: bytes, *, tenant: str, received_ns: int, settings: DialectSettings | None = None
) -> list[Span]:
    """Spans of an `ExportTraceServiceRequest`, in order of arrival.

    Raises:
        PermanentError: The bytes are not this message.
    """
    return _reader_for(settings).read_traces(payload, tenant=tenant, received_ns=received_ns)


def read_logs(
    payload: bytes, *, tenant: str, received_ns: int, settings: DialectSettings | None = None
) -> list[Span]:
    """Spans for the log records of an `ExportLogsServiceRequest` that stand for an operation.

    Raises:
        PermanentError: The bytes are not this message.
    """
    return _reader_for(settings).read_logs(payload, tenant=tenant, received_ns=received_ns)
