"""A small agent that fixes a failing login test, traced by `tracing.py`.

It talks to the scripted model in `model_server.py`, so it needs no key and no network.
"""

from __future__ import annotations

import argparse
import json
import uuid
from typing import TYPE_CHECKING, Any

from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from model_server import ModelServer
from openinference.instrumentation import using_attributes
from opentelemetry import trace
from tracing import start_tracing

if TYPE_CHECKING:
    from collections.abc import Callable

FILES = {
    "tests/test_login.py": "def test_login_redirect():\n    assert get('/login').status == 302\n",
    "auth/session.py": "def alive(token):\n    return token.issued + TTL > time.time()\n",
}


@tool
def read_file(path: str) -> str:
    """Read a file of the project."""
    return FILES[path]


@tool
def edit_file(path: str, old: str, new: str) -> str:
    """Replace text in a file of the project."""
    FILES[path] = FILES[path].replace(old, new)
    return f"edited {path}"


@tool
def run_tests(target: str) -> str:
    """Run the tests of one file."""
    if target == "tests":
        raise TimeoutError("pytest tests exceeded 120 s")
    if "clock.now()" in FILES["auth/session.py"]:
        return "42 passed in 35.1s"
    return "1 failed, 41 passed: test_login_redirect: assert 401 == 302"


@wrap_tool_call
def tell_the_model(request: Any, handler: Callable[[Any], Any]) -> Any:
    """A failing tool is told to the model; the failed call stays visible in the trace."""
    try:
        return handler(request)
    except TimeoutError as error:
        return ToolMessage(str(error), tool_call_id=request.tool_call["id"], status="error")


def build_agent(server: ModelServer) -> Any:
    model = ChatOpenAI(
        model="gpt-5-mini", base_url=server.base_url, api_key="none", use_responses_api=False
    )
    return create_agent(
        model,
        [read_file, edit_file, run_tests],
        system_prompt="You are a careful coding agent.",
        name="coder",
        middleware=[tell_the_model],
        checkpointer=InMemorySaver(),
    )


def answer(agent: Any, session: str, user: str, request: str) -> str:
    """One turn: everything below carries the session id, and the run says how it ended."""
    tracer = trace.get_tracer("examples.langchain")
    config = {"configurable": {"thread_id": session}}
    run = {"openinference.span.kind": "AGENT", "agent.name": "coder", "input.value": request}
    with (
        using_attributes(session_id=session, user_id=user),
        tracer.start_as_current_span("coder run", attributes=run | {"session.id": session}) as span,
    ):
        result = agent.invoke({"messages": [{"role": "user", "content": request}]}, config)
        text = str(result["messages"][-1].content)
        span.set_attribute("whyflame.outcome", "failure" if "could not" in text else "success")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--session", default=f"example-{uuid.uuid4().hex[:8]}")
    args = parser.parse_args()
    provider = start_tracing("langchain-example", "1.0.0", "development")
    trace.set_tracer_provider(provider)
    server = ModelServer()
    agent = build_agent(server)
    for request in ("The login test fails. Please fix the login test.", "Add a changelog entry."):
        print(f"> {request}\n{answer(agent, args.session, 'dev-1', request)}")
    provider.shutdown()  # sends what is still queued
    server.close()
    print(json.dumps({"session": args.session, **server.totals}))


if __name__ == "__main__":
    main()
