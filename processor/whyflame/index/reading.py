"""Requests to spans: dialects, bounds, redaction, features. One that cannot be read is kept aside."""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whyflame import telemetry
from whyflame.config import IndexConfig
from whyflame.content import NameFilter, evidence, extract_all, mask_assigned
from whyflame.errors import PermanentError, TransientError
from whyflame.index.bounds import bound_span
from whyflame.journal import Signal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyflame.config import ContentConfig
    from whyflame.dialects import Reader
    from whyflame.index.dead_letters import DeadLetters
    from whyflame.journal import Frame
    from whyflame.model import Span

__all__ = ["Read", "SpanReader"]

_LOG = logging.getLogger(__name__)
# Hashes remembered; a user id costs a microsecond to hash again.
MAX_USERS = 100_000


@dataclass(slots=True)
class Read:
    """What came out of some requests, on its way into one transaction.

    Attributes:
        spans: Read. counters: What coverage counts.
    """

    spans: list[Span] = field(default_factory=list)
    counters: Counter[tuple[str, str, str]] = field(default_factory=Counter)


class SpanReader:
    """Requests to spans: dialect, hashed user, redacted names, features; no text survives it.

    Args:
        dialects: Reads requests; keeps a plan for every shape of span.
        content: What may be kept of texts, by service.
        dead_letters: Where unreadable requests go.
        max_text: Characters of one name or id.
    """

    def __init__(
        self,
        dialects: Reader,
        content: ContentConfig,
        dead_letters: DeadLetters,
        max_text: int = IndexConfig().max_text,
    ) -> None:
        self._max_text = max_text
        self._dialects = dialects
        self._content = content
        self._dead_letters = dead_letters
        self._users: dict[str, str] = {}
        self._names = NameFilter()

    def read(
        self, signal: Signal, payload: bytes, *, tenant: str, received_ns: int, into: Read
    ) -> None:
        """Add the spans of one request; an unreadable one is kept aside and counted.

        Raises:
            TransientError: It cannot even be kept aside; nothing acknowledged may be dropped
                because of a fault of ours, so the stage has to wait.
        """
        if signal is Signal.METRICS:
            into.counters[tenant, "metric_requests", "accepted"] += 1
            return
        dialects = self._dialects
        read = dialects.read_traces if signal is Signal.TRACES else dialects.read_logs
        try:
            spans = read(payload, tenant=tenant, received_ns=received_ns)
            self._finish(spans)
        except PermanentError as error:
            self.set_aside(signal, payload, tenant, error.reason, received_ns, into)
            return
        except Exception as error:
            # The type alone: the text of an unexpected error may quote content.
            _LOG.error("reading a request failed: %s", type(error).__name__)
            if not self.set_aside(signal, payload, tenant, "unreadable", received_ns, into):
                raise TransientError("the dead-letter directory is full") from error
            return
        for span in spans:
            for reason in span.dubious:
                telemetry.DUBIOUS_VALUES.add(1, reason)
        into.spans.extend(spans)

    def read_frame(self, frame: Frame, into: Read) -> None:
        """The same for a request out of the journal."""
        self.read(
            frame.signal,
            frame.payload,
            tenant=frame.tenant,
            received_ns=frame.received_ns,
            into=into,
        )

    def set_aside(
        self,
        signal: Signal,
        payload: bytes,
        tenant: str,
        reason: str,
        received_ns: int,
        into: Read,
    ) -> bool:
        """Keep a body as a dead letter; False when there was no room for it.

        It is counted at its first arrival, each time that one is read: the transaction that would
        have counted it may have failed.
        """
        letter = (signal, payload, tenant, reason, received_ns)
        if self._dead_letters.has_another(*letter):
            return True
        telemetry.DEAD_LETTERS.add(1, reason)
        into.counters[tenant, "dead_letters", reason] += 1
        return self._dead_letters.keep(*letter)

    def _finish(self, spans: Sequence[Span]) -> None:
        """Hash users, redact names, turn text into features; step by step, not span by span.

        That is cheaper: code and tables of a step stay in the processor's caches.
        """
        of_service, usual = self._content.services.get, self._content.mode
        for span in spans:
            bound_span(span, self._max_text)
        modes = [of_service(span.service, usual) for span in spans]
        for span, mode in zip(spans, modes, strict=True):
            evidence(span, of_content=mode != "none")
            if span.content is not None and mode != "none":
                mask_assigned(span.content)
        for span, features in zip(spans, extract_all(spans, modes), strict=True):
            span.features = features
            self._names.clean(span)
            if span.user is not None:
                span.user = self._hash_user(span.user)

    def _hash_user(self, user: str) -> str:
        known = self._users.get(user)
        if known is None:
            if len(self._users) >= MAX_USERS:
                self._users.clear()
            known = self._users[user] = hashlib.sha256(user.encode()).hexdigest()[:16]
        return known
