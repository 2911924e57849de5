"""Writer: the OpenAI SDK through Langfuse's wrapper."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from langfuse import Langfuse, propagate_attributes
from langfuse.openai import OpenAI
from openai import OpenAIError
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from tool_schemas import WRITER, schemas
from world import ToolFailedError, World

if TYPE_CHECKING:
    from model_server import ModelServer
    from plan import Session


class Writer:
    """The documentation agent."""

    def __init__(self, server: ModelServer, world: World, endpoint: str) -> None:
        self._server, self._world = server, world
        self._langfuse = Langfuse(
            public_key="pk-demo",
            secret_key="sk-demo",
            base_url=endpoint,
            tracer_provider=TracerProvider(),
        )

    def run(self, session: Session) -> str:
        client = OpenAI(base_url=self._server.base_url, api_key=f"script-{session.main.key}")
        messages: list[Any] = [{"role": "system", "content": "You are writer."}]
        outcome = session.outcome
        for turn in session.turns:
            messages.append({"role": "user", "content": turn.prompt})
            with (
                self._langfuse.start_as_current_observation(
                    as_type="agent", name="writer", input=turn.prompt
                ) as span,
                propagate_attributes(session_id=session.id, user_id=session.user),
            ):
                try:
                    span.update(output=self._loop(client, session.main.model, messages))
                except OpenAIError as error:
                    span.update(level="ERROR", status_message=type(error).__name__)
                    outcome = "failure"
                trace.get_current_span().set_attribute("whyflame.outcome", outcome)
        return outcome

    def _loop(self, client: Any, model: str, messages: list[Any]) -> str:
        while True:
            completion = client.chat.completions.create(
                model=model, messages=messages, tools=schemas(WRITER)
            )
            message = completion.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                return message.content or ""
            for call in message.tool_calls:
                result = self._tool(call.function.name, json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})

    def _tool(self, name: str, args: dict[str, Any]) -> str:
        with self._langfuse.start_as_current_observation(
            as_type="tool", name=name, input=args
        ) as span:
            try:
                result = self._world.run(name, args)
            except ToolFailedError as error:
                result = str(error)
                span.update(level="ERROR", status_message=result)
            span.update(output=result)
        return result

    def flush(self) -> None:
        self._langfuse.flush()
