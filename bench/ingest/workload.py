"""Requests as agents send them: serialised once, made unique for every sending by patching ids.

A session is one trace: an agent span, model calls below it, nought to two tool calls after each.
Spans carry 19 attributes; with content 3.6 KB, as instrumentations send that capture messages.
Every sending gets its own trace, span, session, response and call ids, and times that end now.
"""

from __future__ import annotations

import json
import random
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

WORDS = (
    "agent inspects repository files then runs tests and compares branches before it edits the "
    "configuration token request failed with status while parsing response from upstream service "
    "please check logs return import class value error traceback module line function argument "
    "deploy server container image namespace restart latency database query index column schema "
    "user session context summary plan step verify diagnose fix commit merge review search"
).split()
MODELS = ("gpt-5.2", "gpt-5-mini", "claude-sonnet-4-5", "claude-opus-4-1", "gemini-3-pro")
TOOLS = ("bash", "read_file", "write_file", "grep", "web_search", "sql.query", "git", "list_dir")
AGENTS = ("coder", "planner", "reviewer", "researcher", "triage")
START_NS = 1_780_000_000_000_000_000
MS = 1_000_000
SAME_REQUEST = 0.62
"""Share of model calls whose newest user message an earlier call of the session had: of 1,091 calls
captured from instrumented frameworks; 0.73 of 5,086 in recorded trajectories. No other text repeats."""


@dataclass(slots=True)
class Template:
    """One serialised request and where in it to patch.

    Attributes:
        ids: Offsets of four bytes to change in binary ids. texts: Offsets of eight hex digits.
        times: Offsets of 64-bit times; `newest_ns` is what is moved to now.
    """

    payload: bytes
    ids: np.ndarray
    texts: np.ndarray
    times: np.ndarray
    newest_ns: int

    def patched(self, number: int, now_ns: int) -> bytes:
        """The request in round `number`: other ids, times that end now."""
        data = np.frombuffer(bytearray(self.payload), dtype=np.uint8)
        salt = np.frombuffer(struct.pack("<I", number * 2_654_435_761 % (1 << 32)), np.uint8)
        digits = np.frombuffer(f"{number:08x}".encode(), np.uint8)
        for at in range(4):
            data[self.ids + at] ^= salt[at]
        for at in range(8):
            data[self.texts + at] = digits[at]
        moved = np.array([now_ns - self.newest_ns], dtype=np.int64).view(np.uint64)[0]
        window = self.times[:, None] + np.arange(8)
        times = np.ascontiguousarray(data[window]).view(np.uint64).ravel() + moved
        data[window] = times.view(np.uint8).reshape(-1, 8)
        return data.tobytes()


class Workload:
    """Templates to send round and round.

    Args:
        templates: How many different requests. spans: Spans a request.
        content: Messages, arguments and results, 3 KB a span.
    """

    def __init__(
        self, templates: int = 16, spans: int = 512, *, content: bool, seed: int = 1
    ) -> None:
        self.spans = spans
        maker = _Maker(random.Random(seed), content=content)
        self.templates = [_locate(maker.request(spans)) for _ in range(templates)]
        # Sessions go on in the next request: one shift for all of a round.
        newest = max(template.newest_ns for template in self.templates)
        for template in self.templates:
            template.newest_ns = newest

    @property
    def bytes_a_span(self) -> float:
        """Mean size of a span on the wire."""
        total = sum(len(template.payload) for template in self.templates)
        return total / len(self.templates) / self.spans

    def request(self, number: int, now_ns: int) -> bytes:
        """Request `number`; ids change with the round, since sessions go on in the next request."""
        turn, at = divmod(number, len(self.templates))
        return self.templates[at].patched(turn, now_ns)


def _locate(request: ExportTraceServiceRequest) -> Template:
    """Serialise, and find what must differ between sendings; fields stand in order of number."""
    payload = request.SerializeToString()
    ids: list[int] = []
    times: list[int] = []
    at = newest = 0
    for span in request.resource_spans[0].scope_spans[0].spans:
        at = payload.index(b"\x0a\x10" + span.trace_id, at) + 2
        ids.append(at)
        for tag, value in ((b"\x12\x08", span.span_id), (b"\x22\x08", span.parent_span_id)):
            if value:
                at = payload.index(tag + value, at) + 2
                ids.append(at)
        for tag, time in ((b"\x39", span.start_time_unix_nano), (b"\x41", span.end_time_unix_nano)):
            at = payload.index(tag + struct.pack("<Q", time), at) + 1
            times.append(at)
            newest = max(newest, time)
    texts = [
        found + len(prefix)
        for prefix in (b"conv-", b"resp_", b"call_", b"ref_")
        for found in _find_all(payload, prefix)
        if payload[found + len(prefix) : found + len(prefix) + 8].isalnum()
    ]
    return Template(payload, np.array(ids), np.array(texts), np.array(times), newest)


def _find_all(payload: bytes, wanted: bytes) -> list[int]:
    found, at = [], payload.find(wanted)
    while at >= 0:
        found.append(at)
        at = payload.find(wanted, at + 1)
    return found


class _Maker:
    """Makes requests out of sessions."""

    def __init__(self, rng: random.Random, *, content: bool) -> None:
        self._rng = rng
        self._content = content
        self._at = START_NS
        self._waiting: list[dict[str, Any]] = []
        self._asked = ""

    def request(self, spans: int) -> ExportTraceServiceRequest:
        rng = self._rng
        while len(self._waiting) < spans:
            self._waiting += self._session()
        request = ExportTraceServiceRequest()
        group = request.resource_spans.add()
        resource = {
            "service.name": f"agents-{rng.choice('abcd')}", "service.namespace": "ml",
            "service.instance.id": rng.randbytes(16).hex(), "telemetry.sdk.language": "python",
            "telemetry.sdk.name": "opentelemetry", "telemetry.sdk.version": "1.45.2",
            "host.name": f"node-{rng.randrange(10)}", "k8s.namespace.name": "prod",
            "k8s.pod.name": f"agent-{rng.randbytes(4).hex()}",
        }  # fmt: skip
        _put(group.resource.attributes, resource)
        scope = group.scope_spans.add()
        scope.scope.name, scope.scope.version = "opentelemetry.instrumentation.openai_v2", "2.3"
        for fields in self._waiting[:spans]:
            attributes = fields.pop("attributes")
            span = scope.spans.add(**fields, flags=256)
            span.status.code = 2 if rng.random() < 0.05 else 1
            _put(span.attributes, attributes)
        del self._waiting[:spans]
        return request

    def _session(self) -> list[dict[str, Any]]:
        rng = self._rng
        trace, root = rng.randbytes(16), rng.randbytes(8)
        agent, model = rng.choice(AGENTS), rng.choice(MODELS)
        session = f"conv-{rng.randbytes(6).hex()}"
        base = {
            "gen_ai.conversation.id": session, "session.id": session,
            "user.id": f"user-{rng.randrange(200):03d}", "gen_ai.agent.name": agent,
            "gen_ai.agent.id": f"asst_{rng.randbytes(6).hex()}",
            "deployment.environment.name": "prod",
        }  # fmt: skip
        spans, begin, self._asked = [], self._at, ""
        at = begin + MS
        for _ in range(rng.randint(6, 30)):
            took = rng.randint(300, 9000) * MS
            spans.append(
                self._span(trace, root, f"chat {model}", 3, at, took, base, self._chat(model))
            )
            at += took
            for _ in range(rng.randint(0, 2)):
                took, tool = rng.randint(5, 4000) * MS, rng.choice(TOOLS)
                name = f"execute_tool {tool}"
                spans.append(self._span(trace, root, name, 1, at, took, base, self._tool(tool)))
                at += took
        ended = self._span(trace, b"", f"invoke_agent {agent}", 1, begin, at - begin, base, {
            "gen_ai.operation.name": "invoke_agent", "gen_ai.provider.name": "openai",
            "gen_ai.request.model": model, "gen_ai.output.type": "text",
            "server.address": "api.openai.com", "server.port": 443,
        })  # fmt: skip
        ended["span_id"] = root
        self._at += rng.randint(1, 50) * MS
        return [*spans, ended]

    def _span(  # noqa: PLR0913, PLR0917 - the fields of a span
        self, trace: bytes, parent: bytes, name: str, kind: int, start: int, took: int,
        base: dict[str, Any], own: dict[str, Any],
    ) -> dict[str, Any]:  # fmt: skip
        return {
            "trace_id": trace, "span_id": self._rng.randbytes(8), "parent_span_id": parent,
            "name": name, "kind": kind, "start_time_unix_nano": start,
            "end_time_unix_nano": start + took, "attributes": base | own,
        }  # fmt: skip

    def _chat(self, model: str) -> dict[str, Any]:
        rng = self._rng
        tokens = rng.randint(500, 40_000)
        found: dict[str, Any] = {
            "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai",
            "gen_ai.request.model": model, "gen_ai.response.model": f"{model}-2026-05",
            "gen_ai.response.id": f"resp_{rng.randbytes(8).hex()}",
            "gen_ai.request.temperature": 0.2, "gen_ai.request.max_tokens": 4096,
            "gen_ai.request.top_p": 1.0, "gen_ai.output.type": "text",
            "gen_ai.usage.input_tokens": tokens,
            "gen_ai.usage.output_tokens": rng.randint(20, 1500),
            "gen_ai.usage.cache_read.input_tokens": tokens // 2,
            "server.address": "api.openai.com", "server.port": 443,
        }  # fmt: skip
        if self._content:
            if not self._asked or rng.random() > SAME_REQUEST:
                self._asked = self._message("user", 500, 4000)
            found["gen_ai.input.messages"] = self._asked
            found["gen_ai.output.messages"] = self._message("assistant", 200, 1500)
        return found

    def _tool(self, tool: str) -> dict[str, Any]:
        rng = self._rng
        found: dict[str, Any] = {
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool,
            "gen_ai.tool.call.id": f"call_{rng.randbytes(8).hex()}",
            "gen_ai.tool.type": "function", "code.function.name": f"tools.{tool}",
            "gen_ai.tool.description": f"Runs {tool} in the sandbox and returns its output",
            "thread.id": rng.randint(1, 64), "retry.count": 0,
        }  # fmt: skip
        if self._content:
            found["gen_ai.tool.call.arguments"] = json.dumps({"cmd": self._text(40, 400)})
            found["gen_ai.tool.call.result"] = self._text(500, 4000)
        return found

    def _message(self, role: str, shortest: int, longest: int) -> str:
        text = self._text(shortest, longest)
        return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])

    def _text(self, shortest: int, longest: int) -> str:
        """Words at random; the reference among the first is new in every round, so no text repeats."""
        rng, length = self._rng, self._rng.randint(shortest, longest)
        words = [rng.choice(WORDS), rng.choice(WORDS), f"ref_{rng.randbytes(4).hex()}"]
        length -= sum(map(len, words)) + len(words)
        while length > 0:
            plain = rng.random() < 0.93
            words.append(rng.choice(WORDS) if plain else rng.randbytes(3).hex())
            length -= len(words[-1]) + 1
        return " ".join(words)


def _put(target: Any, attributes: dict[str, Any]) -> None:
    for key, value in attributes.items():
        kinds = {int: "int_value", float: "double_value", str: "string_value"}
        setattr(target.add(key=key).value, kinds[type(value)], value)
