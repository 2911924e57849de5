"""Support: the OpenAI SDK in a plain loop, instrumented by OpenTelemetry's own package.

Agent and tool spans are written by hand, as the GenAI conventions describe them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from openai import OpenAI, OpenAIError
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from tool_schemas import SUPPORT, schemas
from world import ToolFailedError, World

if TYPE_CHECKING:
    from model_server import ModelServer
    from plan import Session


class Support:
    """The customer-service agent."""

    def __init__(self, server: ModelServer, world: World, endpoint: str) -> None:
        self._server, self._world = server, world
        self._provider = TracerProvider()
        exporter = OTLPSpanExporter(endpoint=endpoint, insecure=True)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        OpenAIInstrumentor().instrument(tracer_provider=self._provider)
        self._tracer = self._provider.get_tracer("fleet.support")

    def run(self, session: Session) -> str:
        client = OpenAI(base_url=self._server.base_url, api_key=f"script-{session.main.key}")
        messages: list[Any] = [{"role": "system", "content": "You are support."}]
        outcome = session.outcome
        for turn in session.turns:
            messages.append({"role": "user", "content": turn.prompt})
            outcome = self._turn(client, session, messages, outcome)
        return outcome

    def _turn(self, client: OpenAI, session: Session, messages: list[Any], outcome: str) -> str:
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "support",
            "gen_ai.conversation.id": session.id,
            "user.id": session.user,
        }
        with self._tracer.start_as_current_span(
            "invoke_agent support", attributes=attributes
        ) as span:
            try:
                self._loop(client, session.main.model, messages)
            except OpenAIError as error:
                span.set_status(trace.StatusCode.ERROR)
                span.set_attribute("error.type", type(error).__name__)
                outcome = "failure"
            span.set_attribute("whyflame.outcome", outcome)
        return outcome

    def _loop(self, client: OpenAI, model: str, messages: list[Any]) -> None:
        while True:
            completion = client.chat.completions.create(
                model=model, messages=messages, tools=schemas(SUPPORT)
            )
            message = completion.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                return
            for call in message.tool_calls:
                result = self._tool(call.id, call.function.name, call.function.arguments)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})

    def _tool(self, call_id: str, name: str, arguments: str) -> str:
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": call_id,
            "gen_ai.tool.call.arguments": arguments,
        }
        with self._tracer.start_as_current_span(
            f"execute_tool {name}", attributes=attributes
        ) as span:
            try:
                result = self._world.run(name, json.loads(arguments))
            except ToolFailedError as error:
                result = str(error)
                span.set_status(trace.StatusCode.ERROR, result)
                span.set_attribute("error.type", result.split(":")[0])
            span.set_attribute("gen_ai.tool.call.result", result)
        return result

    def flush(self) -> None:
        self._provider.force_flush()
