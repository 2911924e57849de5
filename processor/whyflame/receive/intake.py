"""What both transports do with a request: admit, check, journal, count."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyflame import telemetry
from whyflame.errors import TransientError
from whyflame.receive.status import Answer, answer_for
from whyflame.receive.validate import check

if TYPE_CHECKING:
    from whyflame.journal import Encoding, JournalWriter, PendingLimit, Signal
    from whyflame.receive.limits import InflightBytes

__all__ = ["Intake"]

_LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class Intake:
    """The way from a body in memory to the journal. Thread-safe.

    Attributes:
        writer: The journal stream of this process.
        pending: Bytes waiting for the index stage.
        inflight: Bytes in hand.
        is_stopping: Set while the process drains: new requests are refused as retryable.
    """

    writer: JournalWriter
    pending: PendingLimit
    inflight: InflightBytes
    is_stopping: bool = False

    def check_open(self) -> None:
        """Refuse before a body is read. Raises TransientError."""
        if self.is_stopping:
            raise TransientError("the receiver is stopping")
        self.inflight.check()
        self.pending.admit(0)

    def accept(
        self, transport: str, signal: Signal, encoding: Encoding, body: bytes, tenant: str
    ) -> str:
        """Make a request durable; returns what the sender should know, "" for nothing.

        Raises:
            PermanentError: It can never be accepted.
            TransientError: It must be sent again.
        """
        began = time.monotonic()
        checked = check(signal, encoding, body)
        if checked.payload:  # an empty request is a success with nothing to keep
            self.pending.admit(len(checked.payload))
            self.writer.append(
                checked.payload, signal=signal, received_ns=time.time_ns(), tenant=tenant
            )
        labels = (transport, signal.label)
        telemetry.RECEIVER_ACCEPTED_REQUESTS.add(1, *labels)
        telemetry.RECEIVER_ACCEPTED_ITEMS.add(checked.items, *labels)
        telemetry.RECEIVER_ACCEPTED_BYTES.add(len(checked.payload), *labels)
        telemetry.RECEIVER_REQUEST_SECONDS.observe(time.monotonic() - began, transport)
        return checked.warning

    def refuse(self, transport: str, signal: Signal, error: BaseException) -> Answer:
        """Count a refusal and say how to answer it."""
        answer = answer_for(error)
        labels = (transport, signal.label)
        match answer.outcome:
            case "refused":
                telemetry.RECEIVER_REFUSED_REQUESTS.add(1, *labels, answer.reason)
            case "invalid":
                telemetry.RECEIVER_INVALID_REQUESTS.add(1, *labels, answer.reason)
            case _:
                telemetry.RECEIVER_FAILED_REQUESTS.add(1, *labels)
                # The type alone: the text of an unexpected error may quote content.
                _LOG.error("fault while receiving %s: %s", signal.label, type(error).__name__)
        return answer
