"""A store of made-up operations, written by SQL: power-law paths, 20 spans a trace, 2 traces a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.store.duck import Store

if TYPE_CHECKING:
    from pathlib import Path

SERVICES, AGENTS, MODELS, TOOLS, USERS = 20, 30, 12, 40, 5_000
PATHS = 20_000
START_NS = 1_780_000_000_000_000_000
SPAN_NS = 60_000_000
SPANS_PER_TRACE, SPANS_PER_SESSION = 20, 40

_FIXED = (
    ["", "llm", "tool", "agent", "ok", "error", "completed", "failed", "openai", "anthropic"]
    + ["timeout", "prod", "1.4.0", "main", "genai"]
    + [f"service-{i}" for i in range(SERVICES)]
    + [f"agent {i}" for i in range(AGENTS)]
    + [f"model-{i}" for i in range(MODELS)]
    + [f"tool-{i}" for i in range(TOOLS)]
    + [f"call model-{i}" for i in range(MODELS)]
    + [f"run tool-{i}" for i in range(TOOLS)]
)


def fill(path: Path, operations: int, *, threads: int = 2, memory: int = 2 << 30) -> Store:
    """A new store with that many counted operations, all settled."""
    store = Store(path, memory_limit=memory, threads=threads)
    cursor = store.cursor()
    at = {value: number for number, value in enumerate(_FIXED)}
    first_session = len(_FIXED) + USERS
    cursor.execute("BEGIN")
    cursor.execute(
        "INSERT INTO strings SELECT i, v FROM (SELECT unnest(?::VARCHAR[]) v, "
        "unnest(range(len(?::VARCHAR[]))) i)",
        [_FIXED, _FIXED],
    )
    cursor.execute(
        f"INSERT INTO strings SELECT {len(_FIXED)} + i, printf('user%08x', hash(i) % 4294967296) "
        f"FROM range({USERS}) t(i)"
    )
    cursor.execute(
        f"INSERT INTO strings SELECT {first_session} + i, printf('session-%016x', hash(i)) "
        f"FROM range({operations // SPANS_PER_SESSION + 1}) t(i)"
    )
    name = "printf('verb%d object%d', hash(i * {0}) % 40, hash(i * {0} + 7) % 60)"
    names = ", ".join(name.format(factor) for factor in (3, 5, 11, 13, 17))
    cursor.execute(
        f"INSERT INTO paths SELECT i, list_slice([{names}], 1, 2 + i % 4) FROM range({PATHS}) t(i)"
    )
    traces = operations // SPANS_PER_TRACE
    cursor.execute(
        f"INSERT INTO traces SELECT i, '', unhex(md5('t' || i)) FROM range({traces}) t(i)"
    )
    cursor.execute(f"INSERT INTO generations SELECT i, 1, 0, 0 FROM range({traces}) t(i)")
    cursor.execute(_settled(operations, at, first_session))
    cursor.execute(_spans(operations))
    cursor.execute("COMMIT")
    store.checkpoint()
    return store


def _settled(operations: int, at: dict[str, int], first_session: int) -> str:
    llm, tool = at["llm"], at["tool"]
    return f"""
    INSERT INTO settled BY NAME
    SELECT k AS span_key, k // {SPANS_PER_TRACE} AS trace_key, 1 AS generation, TRUE AS counted,
        0 AS tenant, {at["service-0"]} + k // {SPANS_PER_SESSION} % {SERVICES} AS service,
        {at["prod"]} AS environment, {at["1.4.0"]} AS version,
        {at["agent 0"]} + (path_id * 7 + hash(k) % 3) % {AGENTS} AS agent,
        {first_session} + k // {SPANS_PER_SESSION} AS session, TRUE AS session_known,
        0 AS run, {at["main"]} AS lane, 0 AS turn, k % {SPANS_PER_TRACE} // 2 AS step,
        k % {SPANS_PER_TRACE} AS seq, path_id,
        CASE WHEN is_call THEN {llm} ELSE {tool} END AS kind,
        CASE WHEN is_call THEN {at["call model-0"]} + pick % {MODELS}
            ELSE {at["run tool-0"]} + pick % {TOOLS} END AS leaf,
        CASE WHEN is_call THEN {at["model-0"]} + pick % {MODELS} END AS model,
        CASE WHEN is_call THEN {at["openai"]} + pick % 2 END AS provider,
        CASE WHEN NOT is_call THEN {at["tool-0"]} + pick % {TOOLS} END AS tool,
        CASE WHEN hash(k + 5) % 50 = 0 THEN {at["error"]} ELSE {at["ok"]} END AS status,
        CASE WHEN hash(k + 5) % 50 = 0 THEN {at["timeout"]} END AS error_type,
        {at["completed"]} + k // {SPANS_PER_SESSION} % 2 AS outcome,
        {at["genai"]} AS dialect,
        {len(_FIXED)} + k // {SPANS_PER_SESSION} % {USERS} AS user_hash,
        {START_NS} + k * {SPAN_NS} AS start_ns,
        {START_NS} + k * {SPAN_NS} + wall AS end_ns, wall AS wall_ns, wall AS self_ns,
        CASE WHEN is_call THEN tokens // 2 END AS input_uncached,
        CASE WHEN is_call THEN tokens // 4 END AS cache_read,
        CASE WHEN is_call THEN tokens // 8 END AS output_visible,
        CASE WHEN is_call THEN tokens // 16 END AS reasoning,
        CASE WHEN is_call THEN tokens * 2503 END AS cost_nanousd,
        1 AS operations, CASE WHEN hash(k + 5) % 50 = 0 THEN 1 ELSE 0 END AS errors
    FROM (
        SELECT k, floor({PATHS} * pow(hash(k + 1) / 18446744073709551616.0, 4))::INTEGER AS path_id,
            hash(k + 2) % 5 < 3 AS is_call,
            -- A task uses a few models and tools again and again.
            hash(path_id * 31 + hash(k + 3) % 6) % 40 AS pick,
            (1 + hash(k + 4) % 60000)::BIGINT AS tokens,
            (1000000 + hash(k + 6) % 9000000000)::BIGINT AS wall
        FROM range({operations}) t(k)
    )"""


def _spans(operations: int) -> str:
    of = "unhex(md5('s' || ({key}))[:16])"
    root = f"k // {SPANS_PER_TRACE} * {SPANS_PER_TRACE}"
    return f"""
    INSERT INTO spans BY NAME
    SELECT k AS span_key, k // {SPANS_PER_TRACE} AS trace_key, '' AS tenant,
        unhex(md5('t' || (k // {SPANS_PER_TRACE}))) AS trace_id, {of.format(key="k")} AS span_id,
        CASE WHEN k % {SPANS_PER_TRACE} = 0 THEN NULL
            WHEN k % {SPANS_PER_TRACE} < 10 THEN {of.format(key=root)}
            ELSE {of.format(key=f"{root} + 5")} END AS parent_id,
        {START_NS} + k * {SPAN_NS} AS start_ns, {START_NS} + k * {SPAN_NS} + 1000000 AS end_ns
    FROM range({operations}) t(k)"""
