"""Researcher: the OpenAI SDK with OpenLLMetry's decorators; readers work in parallel."""

from __future__ import annotations

import contextvars
import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from openai import OpenAI, OpenAIError
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from tool_schemas import READER, RESEARCHER, schemas
from traceloop.sdk import Traceloop
from traceloop.sdk.decorators import agent, tool, workflow
from traceloop.sdk.instruments import Instruments
from world import ToolFailedError, World

if TYPE_CHECKING:
    from collections.abc import Callable

    from model_server import ModelServer
    from plan import Lane, Session


class Researcher:
    """The lead agent and its readers."""

    def __init__(self, server: ModelServer, world: World, endpoint: str) -> None:
        self._server, self._world = server, world
        Traceloop.init(
            app_name="researcher",
            exporter=OTLPSpanExporter(endpoint=endpoint),
            instruments={Instruments.OPENAI},
            telemetry_enabled=False,
        )
        self._tools = {
            name: self._traced(name) for name in ("web_search", "save_note", "fetch_page")
        }
        self._tools["ask_reader"] = tool(name="ask_reader")(self._ask_reader)

    def _traced(self, name: str) -> Callable[..., str]:
        @tool(name=name)
        def carry_out(**args: Any) -> str:
            return self._world.run(name, args)

        return carry_out

    def run(self, session: Session) -> str:
        messages: list[Any] = [{"role": "system", "content": "You are researcher."}]
        outcome = session.outcome
        for turn in session.turns:
            messages.append({"role": "user", "content": turn.prompt})
            Traceloop.set_association_properties(
                {"session_id": session.id, "user_id": session.user}
            )
            outcome = self._turn(session, messages, outcome)
        return outcome

    def _turn(self, session: Session, messages: list[Any], outcome: str) -> str:
        @workflow(name="research")
        def research(request: str) -> str:
            del request
            try:
                answer = lead()
                span_outcome = outcome
            except OpenAIError as error:
                trace.get_current_span().set_status(trace.StatusCode.ERROR, type(error).__name__)
                answer, span_outcome = "", "failure"
            trace.get_current_span().set_attribute("whyflame.outcome", span_outcome)
            ended.append(span_outcome)
            return answer

        @agent(name="researcher")
        def lead() -> str:
            return self._loop(session.main, messages, RESEARCHER)

        ended: list[str] = []
        research(messages[-1]["content"])
        return ended[0]

    def _ask_reader(self, subject: str, url: str) -> str:
        lane = self._world.take("ask_reader", {"subject": subject, "url": url}).lane
        assert lane

        @agent(name="reader")
        def read(subject: str) -> str:
            question = f"Read {url} on {subject} and take notes."
            messages = [
                {"role": "system", "content": "You are reader."},
                {"role": "user", "content": question},
            ]
            return self._loop(lane, messages, READER)

        return str(read(subject))

    def _loop(self, lane: Lane, messages: list[Any], tools: dict[str, list[str]]) -> str:
        client = OpenAI(base_url=self._server.base_url, api_key=f"script-{lane.key}")
        while True:
            completion = client.chat.completions.create(
                model=lane.model, messages=messages, tools=schemas(tools)
            )
            message = completion.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                return message.content or ""
            with ThreadPoolExecutor(4) as pool:
                jobs = [
                    pool.submit(contextvars.copy_context().run, self._tool, call)
                    for call in message.tool_calls
                ]
            messages += [job.result() for job in jobs]

    def _tool(self, call: Any) -> dict[str, Any]:
        try:
            result = self._tools[call.function.name](**json.loads(call.function.arguments))
        except ToolFailedError as error:
            result = str(error)
        return {"role": "tool", "tool_call_id": call.id, "content": result}

    def flush(self) -> None:
        trace.get_tracer_provider().force_flush()  # type: ignore[attr-defined]
