"""Coder: LangChain `create_agent`, instrumented by OpenInference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from openai import OpenAIError
from openinference.instrumentation import using_attributes
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from world import ToolFailedError, World

if TYPE_CHECKING:
    from collections.abc import Callable

    from model_server import ModelServer
    from plan import Lane, Session


@wrap_tool_call
def tell_the_model(request: Any, handler: Callable[[Any], Any]) -> Any:
    """A failing tool is told to the model instead of ending the run."""
    try:
        return handler(request)
    except ToolFailedError as error:
        return ToolMessage(str(error), tool_call_id=request.tool_call["id"], status="error")


class Coder:
    """The programming agent with its explorer sub-agent."""

    def __init__(self, server: ModelServer, world: World, endpoint: str) -> None:
        self._server, self._world = server, world
        self._provider = TracerProvider()
        exporter = OTLPSpanExporter(endpoint=endpoint, insecure=True)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        LangChainInstrumentor().instrument(tracer_provider=self._provider)
        self._tracer = self._provider.get_tracer("fleet.coder")

    def run(self, session: Session) -> str:
        agent = self._agent(session.main, self._tools(), InMemorySaver())
        outcome = session.outcome
        for turn in session.turns:
            with using_attributes(session_id=session.id, user_id=session.user):
                outcome = self._turn(agent, session, turn.prompt, outcome)
        return outcome

    def _turn(self, agent: Any, session: Session, prompt: str, outcome: str) -> str:
        config = {"configurable": {"thread_id": session.id}, "recursion_limit": session.step_budget}
        attributes = {
            "openinference.span.kind": "AGENT",
            "agent.name": "coder",
            "session.id": session.id,
            "user.id": session.user,
            "input.value": prompt,
        }
        with self._tracer.start_as_current_span("coder run", attributes=attributes) as span:
            try:
                result = agent.invoke({"messages": [{"role": "user", "content": prompt}]}, config)
                span.set_attribute("output.value", result["messages"][-1].content)
            except (GraphRecursionError, OpenAIError) as error:
                span.set_status(trace.StatusCode.ERROR, type(error).__name__)
                outcome = "failure"
            span.set_attribute("whyflame.outcome", outcome)
        return outcome

    def _agent(self, lane: Lane, tools: list[BaseTool], memory: Any = None) -> Any:
        model = ChatOpenAI(
            model=lane.model,
            base_url=self._server.base_url,
            api_key=f"script-{lane.key}",
            use_responses_api=False,
        )
        return create_agent(
            model,
            tools,
            system_prompt=f"You are {lane.agent}.",
            name=lane.agent,
            middleware=[tell_the_model],
            checkpointer=memory,
        )

    def _tools(self) -> list[BaseTool]:
        run = self._world.run

        def read_file(path: str) -> str:
            """Read a file."""
            return run("read_file", {"path": path})

        def search_code(query: str) -> str:
            """Search the code."""
            return run("search_code", {"query": query})

        def edit_file(path: str, old: str, new: str) -> str:
            """Replace text in a file."""
            return run("edit_file", {"path": path, "old": old, "new": new})

        def run_tests(target: str) -> str:
            """Run tests."""
            return run("run_tests", {"target": target})

        def run_shell(command: str) -> str:
            """Run a shell command."""
            return run("run_shell", {"command": command})

        def fetch_page(url: str) -> str:
            """Fetch a web page."""
            return run("fetch_page", {"url": url})

        def write_todos(todos: list[dict[str, str]]) -> str:
            """Write the list of things to do."""
            return run("write_todos", {"todos": todos})

        def ask_explorer(question: str) -> str:
            """Ask a sub-agent that reads code."""
            lane = self._world.take("ask_explorer", {"question": question}).lane
            assert lane
            explorer = self._agent(lane, [tool(read_file), tool(search_code)])
            messages = {"messages": [{"role": "user", "content": question}]}
            return str(explorer.invoke(messages)["messages"][-1].content)

        tool = StructuredTool.from_function
        functions = [
            read_file,
            search_code,
            edit_file,
            run_tests,
            run_shell,
            fetch_page,
            write_todos,
        ]
        return [tool(function) for function in [*functions, ask_explorer]]

    def flush(self) -> None:
        self._provider.force_flush()
