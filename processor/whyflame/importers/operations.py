"""Operation JSONL: one operation a line, `{"value": 1, "fields": {...}}`.

Keys beside `value` and `fields` are fields too; `#` begins a comment. Fields that whyflame has take
their places, all others become attributes (`fields:` in the configuration makes them fields).
Lines without a time are laid one after the other, up to when the file was changed.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whyflame.dialects.identity import stable_id
from whyflame.errors import PermanentError
from whyflame.importers.lines import MOST_BYTES, as_count, open_file, time_of
from whyflame.journal.otlp_spans import NewSpan, Value, spans_request

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["VALUES", "is_operation", "read_operations"]

SCOPE = "whyflame.operations"
SERVICE = "operations"
MOST_SPANS = 500
_PARTS = {
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cache_read_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_write_tokens": "gen_ai.usage.cache_write.input_tokens",
    "reasoning_tokens": "gen_ai.usage.reasoning.output_tokens",
}
_TIMES = {"seconds": 10**9, "milliseconds": 10**6, "nanoseconds": 1}
VALUES = ("operations", *_PARTS, *_TIMES)
"""What `value` may count."""

_KINDS = {
    "llm": "llm", "model": "llm", "response": "llm", "chat": "llm",
    "embedding": "embed", "embed": "embed", "tool": "tool", "file": "tool", "network": "tool",
    "process": "tool", "agent": "agent", "prompt": "prompt",
}  # fmt: skip
_PLACES: dict[str, tuple[str, ...]] = {
    "session.id": ("session", "source_session", "session_id"),
    "gen_ai.agent.name": ("agent",),
    "gen_ai.request.model": ("model",),
    "gen_ai.provider.name": ("provider",),
    "gen_ai.tool.name": ("tool", "tool_name", "call", "command_name", "action"),
    "gen_ai.tool.call.id": ("call_id",),
    "gen_ai.tool.call.arguments": ("arguments", "command"),
    "gen_ai.tool.call.result": ("result",),
    "gen_ai.input.messages": ("prompt_text", "prompt_preview"),
    "gen_ai.output.messages": ("response", "text"),
    "gen_ai.usage.cost": ("cost_usd",),
    "error.type": ("error_type",),
    "path_group": ("path_group", "path_groups", "paths"),
    "domain": ("domain", "domains"),
    "outcome": ("outcome",),
}
_STARTS = ("timestamp", "timestamp_ms", "start", "start_ms", "start_time", "ts")
_LENGTHS = {
    "duration_ns": 1, "time_ns": 1, "duration_ms": 10**6, "duration_seconds": 10**9,
    "seconds": 10**9,
}  # fmt: skip
_OWN = frozenset({"kind", "type", "status", "service", *_STARTS, *_LENGTHS, *_PARTS}) | {
    name for names in _PLACES.values() for name in names
}
_FAILED = frozenset({"error", "failed", "failure"})
_GAP_NS = 1_000_000
_MOST_VALUE = 10**18
_LONGEST_NS = 30 * 86_400 * 10**9


def is_operation(entry: dict[str, Any]) -> bool:
    """Whether a line is one of such a file."""
    return isinstance(entry.get("fields"), dict) or ("session" in entry and "action" in entry)


@dataclass(slots=True)
class _Line:
    """One operation: its fields, its value, and where it stands in the file."""

    number: int
    fields: dict[str, Any]
    value: int


def read_operations(path: Path, counts: str | None) -> Iterator[bytes]:
    """OTLP requests with the operations of a file.

    Args:
        path: The file. counts: What values count, one of `VALUES`; None when not told.

    Raises:
        PermanentError: A line is wrong, or nothing says what its value counts; names the line.
    """
    sessions: dict[str, int] = {}
    total: Counter[str] = Counter()
    for line in _lines(path):  # a look ahead: where the lines without a time begin
        total[_session(path, line)] += _length(path, line, counts) + _GAP_NS
    changed = path.stat().st_mtime_ns
    ordinal: Counter[str] = Counter()
    spans: dict[str, list[NewSpan]] = {}
    for line in _lines(path):
        session = _session(path, line)
        start = next((at for name in _STARTS if (at := time_of(line.fields.get(name)))), 0)
        length = _length(path, line, counts)
        if not start:
            start = sessions.get(session, changed - total[session])
        sessions[session] = start + length + _GAP_NS
        made = _span(path, line, session, ordinal[session], counts)
        ordinal[session] += 1
        made.start_ns, made.end_ns = start, start + length
        service = str(line.fields.get("service") or SERVICE)
        group = spans.setdefault(service, [])
        group.append(made)
        if len(group) >= MOST_SPANS:
            yield spans_request({"service.name": service}, SCOPE, group)
            group.clear()
    for service, group in spans.items():
        if group:
            yield spans_request({"service.name": service}, SCOPE, group)


def _lines(path: Path) -> Iterator[_Line]:
    number = 0
    with open_file(path) as file:
        while raw := file.readline(MOST_BYTES + 1):
            number += 1
            text = raw.strip()
            if not text or text.startswith(b"#"):
                continue
            try:
                entry = json.loads(text)
            except (ValueError, RecursionError) as error:
                raise PermanentError(f"{path}: line {number}: not JSON ({error})") from error
            yield _read(path, number, entry)


def _read(path: Path, number: int, entry: Any) -> _Line:
    if not isinstance(entry, dict):
        raise PermanentError(f"{path}: line {number}: an operation is a JSON object")
    given = entry.get("fields", {})
    if not isinstance(given, dict):
        raise PermanentError(f"{path}: line {number}: `fields` is not an object")
    value = entry.get("value", 1)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST_VALUE:
        raise PermanentError(f"{path}: line {number}: `value` is no whole number from 0 on")
    rest = {key: found for key, found in entry.items() if key not in ("value", "fields")}
    return _Line(number, rest | given, value)


def _session(path: Path, line: _Line) -> str:
    for name in _PLACES["session.id"]:
        if (found := _plain(line.fields.get(name))) is not None:
            return str(found)
    return path.name.split(".", 1)[0]


def _length(path: Path, line: _Line, counts: str | None) -> int:
    """How long the operation lasted, in nanoseconds."""
    if counts in _TIMES:
        length = line.value * _TIMES[counts]
        if length > _LONGEST_NS:
            raise PermanentError(f"{path}: line {line.number}: longer than 30 days")
        return length
    if counts is None and line.value != 1:
        raise PermanentError(
            f"{path}: line {line.number}: value {line.value}: say what values count with "
            f"--value, one of {', '.join(VALUES)}"
        )
    for name, unit in _LENGTHS.items():
        found = line.fields.get(name)
        if isinstance(found, (int, float)) and not isinstance(found, bool):
            lasted = found * unit
            if 0 <= lasted <= _LONGEST_NS:
                return round(lasted)
    return 0


def _span(path: Path, line: _Line, session: str, ordinal: int, counts: str | None) -> NewSpan:
    fields = line.fields
    kind = _kind(fields, counts)
    if counts in _PARTS and kind not in ("llm", "embed"):
        raise PermanentError(
            f"{path}: line {line.number}: tokens of a {kind} operation; tokens belong to calls "
            "of models (kind llm or embed)"
        )
    attributes: dict[str, Value] = {"whyflame.kind": kind, "session.id": session}
    for place, names in _PLACES.items():
        found = next((v for name in names if (v := _plain(fields.get(name))) is not None), None)
        attributes.setdefault(place, found)
    for part, key in _PARTS.items():
        attributes[key] = line.value if counts == part else as_count(fields.get(part))
    for name, found in fields.items():
        if name not in _OWN:
            attributes[name] = _attribute(found)
    # Where the same file was cut or extended, a line keeps its place in the session and its text.
    text = json.dumps(fields, sort_keys=True, ensure_ascii=False)
    identity = (
        session.encode("utf-8", "replace"),
        str(ordinal).encode(),
        str(line.value).encode(),
        text.encode("utf-8", "replace"),
    )
    named = attributes["gen_ai.tool.name"] or attributes["gen_ai.request.model"] or kind
    return NewSpan(
        stable_id(16, b"operations", session.encode("utf-8", "replace")),
        stable_id(8, b"operations", *identity),
        b"",
        str(named),
        0,
        0,
        attributes,
        failed=str(fields.get("status")).lower() in _FAILED or bool(fields.get("error_type")),
        is_client=kind == "llm",
    )


def _kind(fields: dict[str, Any], counts: str | None) -> str:
    told = _KINDS.get(str(fields.get("kind") or fields.get("type") or "").lower())
    if told is not None:
        return told
    tells_tokens = counts in _PARTS or any(as_count(fields.get(part)) for part in _PARTS)
    return "llm" if tells_tokens or (fields.get("model") and not fields.get("tool")) else "tool"


def _plain(value: Any) -> Value:
    """A field's value; of several the first."""
    while isinstance(value, list):
        value = value[0] if value else None
    return value if isinstance(value, (str, int, float)) and value != "" else None


def _attribute(value: Any) -> Value:
    if isinstance(value, (list, dict)):
        return json.dumps(value, ensure_ascii=False)
    return value if isinstance(value, (str, int, float)) else None
