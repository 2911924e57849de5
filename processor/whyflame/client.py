"""For instrumented agents: one session id on every span, nothing lost at exit.

    from whyflame.client import session, start

    start("http://localhost:4317")            # or start(provider=your_tracer_provider)
    with session("ticket-4711", user="ada", task="refund a customer"):
        agent.run(...)

Needs opentelemetry-sdk only; with an endpoint also an OTLP exporter package. Works beside any
instrumentation (OpenInference, OpenLLMetry, Langfuse, the official ones), since it only adds
attributes where a span has none.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opentelemetry import context, trace
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import Span
    from opentelemetry.sdk.trace.export import SpanExporter

__all__ = ["SessionProcessor", "session", "start"]

# An agent step with content is 5 to 400 spans of a few KB; the SDK's default of 2,048 overflows
# silently as soon as the network is slower than the agent.
MAX_QUEUE_SPANS = 32_768
MAX_BATCH_SPANS = 256
SCHEDULE_MILLIS = 1000

_KEY = context.create_key("whyflame-session")
_ACTIVE: dict[int, _Session] = {}
_LOCK = threading.Lock()


@dataclass(frozen=True, slots=True, eq=False)
class _Session:
    attributes: tuple[tuple[str, str], ...]


@contextmanager
def session(session_id: str, *, user: str | None = None, task: str | None = None) -> Iterator[None]:
    """Everything started inside belongs to this conversation.

    Follows the code through async tasks. A thread that was started without the context takes the
    session when it is the only one active in the process.

    Args:
        session_id: Id of the conversation; the same for all its turns.
        user: Who asked; whyflame stores a hash.
        task: What was asked for, in a few words of your own.
    """
    named = {"session.id": session_id, "user.id": user, "whyflame.task": task}
    active = _Session(tuple((key, value) for key, value in named.items() if value is not None))
    token = context.attach(context.set_value(_KEY, active))
    with _LOCK:
        _ACTIVE[id(active)] = active
    try:
        yield
    finally:
        with _LOCK:
            del _ACTIVE[id(active)]
        context.detach(token)


class SessionProcessor(SpanProcessor):
    """Puts the active session on every span, and `pyroscope.profile.id` on local root spans.

    Grafana shows the profile of a trace when its root carries that attribute.
    """

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Add what the span does not have already."""
        present = span.attributes or {}
        for key, value in _active(parent_context):
            if key not in present:
                span.set_attribute(key, value)
        parent = span.parent
        if (parent is None or parent.is_remote) and "pyroscope.profile.id" not in present:
            own = trace.format_span_id(span.get_span_context().span_id)
            span.set_attribute("pyroscope.profile.id", own)


def start(
    endpoint: str | None = None,
    *,
    service: str | None = None,
    provider: TracerProvider | None = None,
) -> TracerProvider:
    """Send spans to whyflame, with queue settings that lose none and a flush at every exit.

    Call it before the instrumentations. With a provider of your own only the session processor
    is added to it, and an exporter when an endpoint is given too.

    Args:
        endpoint: OTLP/gRPC endpoint, for example http://localhost:4317; without one (and without a
            provider) OTEL_EXPORTER_OTLP_ENDPOINT or the default decides.
        service: `service.name` of a new provider; else OTEL_SERVICE_NAME decides.
        provider: An existing provider to add to.

    Returns:
        The provider in use; call its `shutdown()` where neither exit nor SIGTERM ends the process.
    """
    made = provider is None
    if provider is None:
        named = Resource.create({SERVICE_NAME: service}) if service else Resource.create()
        provider = TracerProvider(resource=named)
    provider.add_span_processor(SessionProcessor())
    if made or endpoint is not None:
        provider.add_span_processor(
            BatchSpanProcessor(
                _exporter(endpoint),
                max_queue_size=MAX_QUEUE_SPANS,
                max_export_batch_size=MAX_BATCH_SPANS,
                schedule_delay_millis=SCHEDULE_MILLIS,
            )
        )
    if made:
        trace.set_tracer_provider(provider)
    _flush_on_sigterm(provider)
    return provider


def _active(parent_context: Context | None) -> tuple[tuple[str, str], ...]:
    found = context.get_value(_KEY, parent_context)
    if isinstance(found, _Session):
        return found.attributes
    with _LOCK:
        if len(_ACTIVE) == 1:
            return next(iter(_ACTIVE.values())).attributes
    return ()


def _exporter(endpoint: str | None) -> SpanExporter:
    try:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    except ImportError as error:
        raise ImportError(
            "whyflame.client.start needs opentelemetry-exporter-otlp-proto-grpc; install it, "
            "or pass a provider that has an exporter"
        ) from error
    insecure = None if endpoint is None else endpoint.startswith("http://")
    return OTLPSpanExporter(endpoint=endpoint, insecure=insecure)


def _flush_on_sigterm(provider: TracerProvider) -> None:
    """Containers are stopped with SIGTERM, which skips Python's exit handlers."""
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return  # the application has its own idea of stopping

    def flush(number: int, _: FrameType | None) -> None:
        provider.shutdown()
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    signal.signal(signal.SIGTERM, flush)
