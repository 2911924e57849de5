"""The client: one session on every span of an agent."""

from __future__ import annotations

import asyncio
import threading

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from whyflame.client import SessionProcessor, session


def _provider() -> tuple[TracerProvider, InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SessionProcessor())
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider, exporter


def test_every_span_inside_carries_the_session() -> None:
    """Nested spans and later roots get session, user and task; spans outside get nothing."""
    provider, exporter = _provider()
    tracer = provider.get_tracer("t")
    with session("s-1", user="ada", task="refund"):
        with tracer.start_as_current_span("outer"), tracer.start_as_current_span("inner"):
            pass
        tracer.start_span("another root").end()
    tracer.start_span("outside").end()
    found = {span.name: dict(span.attributes or {}) for span in exporter.get_finished_spans()}
    for name in ("outer", "inner", "another root"):
        assert found[name]["session.id"] == "s-1"
        assert found[name]["user.id"] == "ada"
        assert found[name]["whyflame.task"] == "refund"
    assert "session.id" not in found["outside"]


def test_own_attributes_win() -> None:
    """An instrumentation's own session id is not overwritten."""
    provider, exporter = _provider()
    with session("mine"):
        provider.get_tracer("t").start_span("x", attributes={"session.id": "theirs"}).end()
    assert exporter.get_finished_spans()[0].attributes["session.id"] == "theirs"


def test_only_roots_carry_a_profile_id() -> None:
    """`pyroscope.profile.id` is the root span's own id in hex."""
    provider, exporter = _provider()
    tracer = provider.get_tracer("t")
    with tracer.start_as_current_span("root"), tracer.start_as_current_span("child"):
        pass
    found = {span.name: span for span in exporter.get_finished_spans()}
    own = f"{found['root'].context.span_id:016x}"
    assert found["root"].attributes["pyroscope.profile.id"] == own
    assert "pyroscope.profile.id" not in found["child"].attributes


def test_concurrent_sessions_do_not_mix() -> None:
    """Async tasks keep their own; a bare thread guesses only when there is one."""
    provider, exporter = _provider()
    tracer = provider.get_tracer("t")

    async def turn(name: str) -> None:
        with session(name):
            await asyncio.sleep(0)
            tracer.start_span(f"span of {name}").end()

    async def both() -> None:
        await asyncio.gather(turn("a"), turn("b"))

    asyncio.run(both())
    with session("only"):
        thread = threading.Thread(target=lambda: tracer.start_span("thread").end())
        thread.start()
        thread.join()
    found = {span.name: span.attributes["session.id"] for span in exporter.get_finished_spans()}
    assert found == {"span of a": "a", "span of b": "b", "thread": "only"}
