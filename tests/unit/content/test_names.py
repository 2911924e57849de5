"""Names that become frames pass the redactor; ids that join spans stay as sent."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING

import pytest
from genai_prices.data import providers
from tests import otlp

from whyflame.config import ContentConfig
from whyflame.content import NameFilter, decode, redact
from whyflame.dialects import Reader
from whyflame.dialects.settings import dialect_settings
from whyflame.index.dead_letters import DeadLetters
from whyflame.index.indexer import Read, SpanReader
from whyflame.journal import Signal
from whyflame.model import Kind, Span

if TYPE_CHECKING:
    from pathlib import Path

KEY = "sk-proj-Abcdefgh1234ijkl"
POISON = f" {KEY} jane.doe@example.com"
IDS = {"session", "conversation", "agent_id", "call_id", "response_id", "instance", "host"}


def poisoned() -> bytes:
    """A failed tool call of an agent with a secret in every string that is no id."""
    attributes = {
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "bash" + POISON,
        "gen_ai.agent.name": "clerk" + POISON, "gen_ai.request.model": "gpt-5" + POISON,
        "gen_ai.provider.name": "openai" + POISON, "error.type": "Refused: for" + POISON,
        "gen_ai.tool.call.arguments": f'{{"file_path": "src/{KEY}/jane.doe@example.com/a.py"}}',
        "gen_ai.tool.call.result": POISON, "team": "red" + POISON, "session.id": "s" + POISON,
        "user.id": POISON, POISON: POISON,
    }  # fmt: skip
    events = (("exception" + POISON, {"exception.message": POISON, "exception.type": POISON}),)
    row = otlp.Row("genai" + POISON, "execute_tool" + POISON, attributes, status=2, events=events)
    row.service = "billing" + POISON
    resource = {"deployment.environment.name": "prod" + POISON, "service.version": "1.2.3.4"}
    return otlp.traces(row, **resource)


@pytest.mark.parametrize("mode", ["features", "excerpt", "none"])
def test_no_name_holds_a_secret(mode: str, tmp_path: Path) -> None:
    """Whatever is poisoned: keys and addresses are in no field of what is stored, but ids."""
    reader = Reader(dialect_settings({"team": "span.team"}))
    letters = DeadLetters(tmp_path)
    read = Read()
    SpanReader(reader, ContentConfig(mode=mode), letters).read(
        Signal.TRACES, poisoned(), tenant="", received_ns=1, into=read
    )
    (span,) = read.spans
    assert (span.kind, span.tool) == (Kind.TOOL, "bash [secret] [email]")
    assert span.service == "billing [secret] [email]"
    assert span.service_version == "1.2.3.4"
    assert span.extra["team"] == "red [secret] [email]"
    kept = {field.name: repr(getattr(span, field.name)) for field in fields(span)}
    told = {name for name, text in kept.items() if "Abcdefgh" in text or "jane.doe" in text}
    assert told - IDS == {"content"}  # which goes no further


def test_a_service_that_keeps_nothing(tmp_path: Path) -> None:
    """Mode `none`: what a tool touched is content as well; what its name says is not."""
    attributes = {
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "bash",
        "gen_ai.tool.call.arguments": '{"command": "cp src/login/a.py https://example.com/a"}',
    }  # fmt: skip
    body = otlp.traces(otlp.Row("genai", "execute_tool bash", attributes))
    found = []
    for content in (ContentConfig(), ContentConfig(services={"app": "none"})):
        read = Read()
        SpanReader(Reader(), content, DeadLetters(tmp_path)).read(
            Signal.TRACES, body, tenant="", received_ns=1, into=read
        )
        found.append((read.spans[0].domain, read.spans[0].path_group, read.spans[0].effect))
    assert found == [("example.com", "src/login", "write"), (None, None, "process")]


def test_hosts_and_revisions_tell_services_apart() -> None:
    """Operators call services by hosts and versions by hashes: those are no secrets there."""
    span = Span("", "span", b"", b"", None, 0, 1, "x", Kind.LLM, "t")
    span.service, span.service_version = (
        "orders.internal",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
    )
    span.name = "POST http://db01.internal/v1"
    NameFilter().clean(span)
    assert (span.service, len(span.service_version)) == ("orders.internal", 40)
    assert span.name == "POST http://[host]/v1"


def test_every_known_model_keeps_its_name() -> None:
    """A model whose name looked like a key would have no price."""
    names = {
        name
        for one in providers
        for model in one.models
        for name in (model.id, f"{one.id}/{model.id}")
    }
    assert len(names) > 500
    assert [name for name in sorted(names) if redact(name) != name] == []


SAID = [
    "my password is swordfish, log in with it",
    "log in, password: swordfish",
    'use password "swordfish swordfish" there',
    "das Passwort lautet swordfish",
    "the access token = swordfish works",
    "mysql -u root --password swordfish",
    "Kennwort: swordfish",
    'call {\\"password\\": \\"swordfish\\"}',
    '{"user": "x", "password": "swordfish"}',
]


@pytest.mark.parametrize("mode", ["features", "excerpt"])
@pytest.mark.parametrize("text", SAID, ids=range(len(SAID)))
def test_no_word_that_is_a_password(text: str, mode: str, tmp_path: Path) -> None:
    """Where a plain word is a password, the word before it tells; it is neither kept nor hashed alone."""
    message = [{"role": "user", "parts": [{"type": "text", "content": text}]}]
    said = [{"role": "assistant", "parts": [{"type": "text", "content": text}]}]
    attributes = {
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5",
        "gen_ai.input.messages": json.dumps(message), "gen_ai.output.messages": json.dumps(said),
    }  # fmt: skip
    read = Read()
    SpanReader(Reader(), ContentConfig(mode=mode), DeadLetters(tmp_path)).read(
        Signal.TRACES,
        otlp.traces(otlp.Row("genai", "chat", attributes)),
        tenant="",
        received_ns=1,
        into=read,
    )
    features = read.spans[0].features
    assert features is not None
    assert b"swordfish" not in features
    assert b"\x1a" not in features
    assert decode(features).said
    assert mode == "features" or "[secret]" in decode(features).excerpts[0]
