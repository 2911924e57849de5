"""Which dialect reads a span, and how one is added."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.otlp import Row, traces

import whyflame.dialects
from whyflame.dialects import DIALECTS, Dialect, Reader, Registry
from whyflame.errors import ConfigError
from whyflame.model import Kind

SCOPES = [
    ("com.anthropic.claude_code.tracing", {}, "claude_code"),
    ("codex_exec", {}, "codex"),
    ("gemini-cli", {}, "gemini_cli"),
    ("com.anthropic.sdk.python", {"gen_ai.operation.name": "chat"}, "anthropic_sdk"),
    ("openinference.instrumentation.crewai", {}, "openinference"),
    ("anything", {"openinference.span.kind": "LLM", "gen_ai.system": "x"}, "openinference"),
    ("ai", {"ai.operationId": "x", "openinference.span.kind": "LLM"}, "ai_sdk"),
    ("traceai_openai", {"gen_ai.span.kind": "LLM"}, "traceai"),
    ("mlflow.tracing.provider", {"mlflow.spanType": '"LLM"'}, "mlflow"),
    ("openlit.otel.tracing", {}, "openlit"),
    ("@traceloop/instrumentation-openai", {"gen_ai.system": "x"}, "openllmetry"),
    ("langfuse-sdk", {"langfuse.observation.type": "span"}, "langfuse"),
    ("other", {"session.id": "s", "langfuse.trace.name": "n"}, "other"),
    ("langsmith", {}, "langsmith"),
    ("opentelemetry.instrumentation.openai.v1", {"gen_ai.system": "x"}, "openllmetry"),
    ("opentelemetry.instrumentation.openai_v2", {"gen_ai.system": "x"}, "genai"),
    ("opentelemetry.instrumentation.genai.langchain", {}, "genai"),
    ("ai", {"ai.operationId": "ai.toolCall"}, "ai_sdk"),
    ("gen_ai", {}, "ai_sdk"),
    ("gcp.vertex.agent", {}, "google_adk"),
    ("strands.telemetry.tracer", {}, "strands"),
    ("agent_framework", {}, "agent_framework"),
    ("autogen-core", {}, "autogen"),
    ("semantic_kernel.utils", {}, "semantic_kernel"),
    ("pydantic-ai", {}, "pydantic_ai"),
    ("logfire.openai", {}, "logfire"),
    ("litellm", {}, "litellm"),
    ("haystack", {}, "haystack"),
    ("mcp-python-sdk", {}, "mcp"),
    ("opentelemetry.instrumentation.requests", {"http.method": "GET"}, "other"),
]


@pytest.mark.parametrize(("scope", "attributes", "dialect"), SCOPES)
def test_scope_or_mark_decides(scope: str, attributes: dict[str, Any], dialect: str) -> None:
    """Producers are known by scope, vocabularies by their marks, in the registry's order."""
    (span,) = Reader().read_traces(traces(Row(scope, "s", attributes)), tenant="", received_ns=1)
    assert span.dialect == dialect


def test_every_dialect_of_a_module_is_registered() -> None:
    """A dialect that ships is in the tuple, else it would never be used."""
    folder = Path(whyflame.dialects.__file__).parent
    shipped = set()
    for path in folder.glob("*.py"):
        module = import_module(f"whyflame.dialects.{path.stem}")
        shipped |= {id(value) for value in vars(module).values() if isinstance(value, Dialect)}
    registered = {id(dialect) for dialect in DIALECTS}
    other = id(import_module("whyflame.dialects.registry").OTHER)
    assert shipped - registered == {other}


def test_a_third_partys_dialect_comes_first() -> None:
    """A dialect from an entry point reads what it claims, before those that ship."""
    mine = Dialect(name="mine", scopes=("x",), kinds=(("", {"ask": Kind.LLM}),))
    reader = Reader(registry=Registry((mine,)))
    payload = traces(Row("x", "ask", {"gen_ai.operation.name": "execute_tool"}))
    (span,) = reader.read_traces(payload, tenant="", received_ns=1)
    assert (span.dialect, span.kind) == ("mine", Kind.LLM)


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    """A distribution with one dialect, as an installer leaves it."""
    info = folder / "acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[whyflame.dialects]\nacme = {target}\n")
    code = "from whyflame.dialects import Dialect\nACME = Dialect(name='acme', scopes=('acme',))\n"
    (folder / "acme_dialect.py").write_text(code)
    monkeypatch.syspath_prepend(str(folder))


def test_installed_dialects_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed entry point is used without any setting."""
    install(tmp_path, monkeypatch, "acme_dialect:ACME")
    (span,) = Reader().read_traces(traces(Row("acme", "s")), tenant="", received_ns=1)
    assert span.dialect == "acme"


@pytest.mark.parametrize("target", ["acme_dialect:Dialect", "acme_dialect:MISSING", "no_module:X"])
def test_a_broken_entry_point_stops_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    """What cannot be a dialect is named at start-up, not skipped."""
    install(tmp_path, monkeypatch, target)
    with pytest.raises(ConfigError, match="'acme'"):
        Registry.with_entry_points()


def test_the_worked_example_of_the_documentation(root: Path) -> None:
    """The example in docs/dialects.md runs, and reads what it says."""
    text = (root / "docs" / "dialects.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "docs/dialects.md", "exec"), names)  # our own documentation
    assert names["span"].dialect == "acme"


def test_plans_are_compiled_once_a_shape() -> None:
    """Spans of one shape share a plan; the tables are not walked again."""
    reader = Reader()
    payload = traces(*(Row("x", "s", {"gen_ai.operation.name": "chat"}, id=n) for n in (1, 2, 3)))
    reader.read_traces(payload, tenant="", received_ns=1)
    reader.read_traces(payload, tenant="", received_ns=1)
    assert len(reader._plans) == 1
