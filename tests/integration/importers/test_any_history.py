"""Whatever a session file holds, reading it ends in requests or in an error that names the file."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from tests.integration.importers.histories import (
    claude_session,
    claude_subagent,
    codex_session,
    gemini_session,
    write_lines,
)

from whyflame.dialects import Reader
from whyflame.errors import PermanentError
from whyflame.importers import read_captures

if TYPE_CHECKING:
    from pathlib import Path

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | st.text(max_size=8)
    | st.sampled_from(["", "\ud800", "2026-13-45T99:99", "9999-12-31T23:59:59+14:00", "\x00"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=4,
)  # fmt: skip
OPERATIONS = [
    {"value": 1, "fields": {"session": "s", "agent": "a", "action": "read", "timestamp": 1.5e9}},
    {"session": "s", "action": "call", "kind": "llm", "model": "m", "input_tokens": 5,
     "duration_ms": 3, "cost_usd": 0.1, "path_groups": ["a"], "other": {"x": 1}},
]  # fmt: skip
FILES: dict[str, Any] = {
    "s.jsonl": claude_session(),
    "side.jsonl": claude_session() + claude_subagent(),
    "rollout-1.jsonl": codex_session(),
    "session-1.json": gemini_session(),
    "ops.jsonl": OPERATIONS,
}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something could be replaced."""
    found = [path] if path else []
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in pairs:
        found += places(inner, (*path, key)) if isinstance(inner, (dict, list)) else [(*path, key)]
    return found


@pytest.mark.parametrize("name", FILES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_value_anywhere(name: str, tmp_path: Path, data: st.DataObject) -> None:
    content = copy.deepcopy(FILES[name])
    spots = places(content)
    for _ in range(data.draw(st.integers(1, 4))):
        *above, last = data.draw(st.sampled_from(spots))
        holder = content
        try:
            for key in above:
                holder = holder[key]
            holder[last] = data.draw(JUNK)
        except (TypeError, KeyError, IndexError):
            continue  # what it lay in was replaced before
    path = tmp_path / "p" / name
    if name.endswith(".json"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content))
    else:
        write_lines(path, content)
    reader = Reader()
    try:
        for signal, body in read_captures([path]):
            assert signal == "traces"
            reader.read_traces(body, tenant="", received_ns=0)
    except PermanentError as error:
        if str(path) not in str(error):
            raise
