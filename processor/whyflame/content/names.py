"""Names of a span through the redactor: they become frames, labels and rows of tables.

Ids that join spans (session, call, ...) are no names: they stay as sent, or nothing would meet again.
"""

from __future__ import annotations

import re
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING

from whyflame.content.redact import redact, redact_service

if TYPE_CHECKING:
    from whyflame.model import Span

__all__ = ["NameFilter"]

_NAMES = (
    "name", "agent", "model", "request_model", "provider", "tool", "error_type", "outcome", "skill",
    "path_group", "domain", "effect",
)  # fmt: skip
_OF_SERVICES = ("service", "environment", "service_version", "scope", "scope_version")
_FIELDS = (*_NAMES, *_OF_SERVICES)
_names_of = attrgetter(*_FIELDS)
_REVISION = re.compile(r"[0-9a-f]{7,64}")
_KNOWN = 4096

_redact = lru_cache(_KNOWN)(redact)


@lru_cache(_KNOWN)
def _redact_service(text: str) -> str:
    return text if _REVISION.fullmatch(text) else redact_service(text)


class NameFilter:
    """Takes secrets and personal data out of names; combinations found clean are remembered.

    Names repeat, so that all of a span's are looked up at once: 0.6 us instead of 40.
    """

    def __init__(self) -> None:
        self._clean: set[tuple[str | None, ...]] = set()

    def clean(self, span: Span) -> None:
        """Replace what must not be kept in the names of the span and in its promoted fields."""
        names = _names_of(span)
        if names not in self._clean:
            self._clean_names(span, names)
        if span.extra:
            span.extra = {name: _redact(text) for name, text in span.extra.items()}

    def _clean_names(self, span: Span, names: tuple[str | None, ...]) -> None:
        is_clean = True
        for field, text in zip(_FIELDS, names, strict=True):
            if text:
                found = _redact_service(text) if field in _OF_SERVICES else _redact(text)
                if found != text:
                    setattr(span, field, found)
                    is_clean = False
        if is_clean:
            if len(self._clean) >= _KNOWN:
                self._clean.clear()
            self._clean.add(names)
