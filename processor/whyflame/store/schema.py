"""Tables of the store: append-only, versioned, dictionary-coded, without keys or indexes.

`spans` holds what arrived; what spans have in common (resource, scope, model, tool, status) stands
once in `origins`, because every text column costs a quarter of a microsecond a row. `settled` holds
what settling found, one generation per trace; a row of `settled` is current when its generation is
the newest of its trace (`generations`): few are not, so the views leave those out, which costs a
fifth of looking up the newest for every row. The view `operations` shows current rows that count, with the columns of `whyflame.model.FIELDS` and
MEASURES; it is what every question reads. Strings that repeat are ids of `strings`; semantic paths
are ids of `paths`. `dropped` remembers which spans were no agent work, so that they count once
when they come again. Session, run and lane of a row are found through `session`, `run`, `lane`.
"""

from __future__ import annotations

import zlib

SCHEMA_VERSION = 2

CODED_COLUMNS = (
    "tenant",
    "service",
    "environment",
    "version",
    "agent",
    "session",
    "lane",
    "root",
    "kind",
    "leaf",
    "model",
    "provider",
    "tool",
    "skill",
    "status",
    "error_type",
    "outcome",
    "path_group",
    "domain",
    "effect",
    "dialect",
    "user_hash",
    "why",
)
"""Columns of `settled` that hold ids of `strings` (NULL = unknown)."""

TABLES = """
CREATE TABLE IF NOT EXISTS meta (key VARCHAR, value VARCHAR);
CREATE TABLE IF NOT EXISTS strings (id INTEGER, value VARCHAR);
CREATE TABLE IF NOT EXISTS paths (id INTEGER, names VARCHAR[]);
CREATE TABLE IF NOT EXISTS journal_position (stream VARCHAR, segment BIGINT, byte_offset BIGINT);
CREATE TABLE IF NOT EXISTS traces (trace_key BIGINT, tenant VARCHAR, trace_id BLOB);
CREATE TABLE IF NOT EXISTS traces_seen (
    trace_key BIGINT, tenant VARCHAR, service VARCHAR, instance VARCHAR, session VARCHAR,
    start_ns BIGINT, end_ns BIGINT, hosts BOOLEAN
);
CREATE TABLE IF NOT EXISTS origins (
    origin INTEGER, signal VARCHAR, name VARCHAR, dialect VARCHAR, scope VARCHAR,
    scope_version VARCHAR, service VARCHAR, service_version VARCHAR, environment VARCHAR,
    instance VARCHAR, host VARCHAR, agent VARCHAR, model VARCHAR, request_model VARCHAR,
    provider VARCHAR, tool VARCHAR, answered BOOLEAN, wire TINYINT, remote BOOLEAN,
    status VARCHAR, error_type VARCHAR, outcome VARCHAR, usage_semantics VARCHAR, resends BIGINT,
    skill VARCHAR, path_group VARCHAR, domain VARCHAR, effect VARCHAR
);
CREATE TABLE IF NOT EXISTS spans (
    span_key BIGINT, trace_key BIGINT, tenant VARCHAR, kind VARCHAR,
    trace_id BLOB, span_id BLOB, parent_id BLOB,
    start_ns BIGINT, end_ns BIGINT, received_ns BIGINT,
    session VARCHAR, conversation VARCHAR, user_hash VARCHAR, agent_id VARCHAR,
    call_id VARCHAR, response_id VARCHAR,
    input_uncached BIGINT, cache_read BIGINT, cache_write BIGINT,
    output_visible BIGINT, reasoning BIGINT, cost_nanousd BIGINT,
    claimed_input BIGINT, claimed_output BIGINT, features BLOB, attributes_count INTEGER,
    origin INTEGER, links BLOB, asked VARCHAR[], extra MAP(VARCHAR, VARCHAR), dubious VARCHAR[],
    prompt_sha256 VARCHAR, user_messages INTEGER, input_bytes BIGINT, output_bytes BIGINT
);
CREATE TABLE IF NOT EXISTS superseded (span_key BIGINT, by_span_key BIGINT, reason VARCHAR);
CREATE TABLE IF NOT EXISTS settled (
    span_key BIGINT, trace_key BIGINT, generation BIGINT, counted BOOLEAN, same_as BIGINT,
    session_known BOOLEAN, run INTEGER, turn INTEGER, step INTEGER, seq INTEGER,
    lane_parent_step INTEGER, path_id INTEGER,
    tenant INTEGER, service INTEGER, environment INTEGER, version INTEGER, agent INTEGER,
    session INTEGER, lane INTEGER, lane_parent INTEGER, root INTEGER, outcome INTEGER,
    dialect INTEGER, user_hash INTEGER,
    kind INTEGER, leaf INTEGER, model INTEGER, provider INTEGER, tool INTEGER, skill INTEGER,
    status INTEGER, error_type INTEGER, path_group INTEGER, domain INTEGER, effect INTEGER,
    why INTEGER,
    start_ns BIGINT, end_ns BIGINT,
    input_uncached BIGINT, cache_read BIGINT, cache_write BIGINT, output_visible BIGINT,
    reasoning BIGINT, cost_nanousd BIGINT, wall_ns BIGINT, self_ns BIGINT, operations BIGINT,
    errors BIGINT, input_bytes BIGINT, output_bytes BIGINT, extra MAP(VARCHAR, VARCHAR)
);
CREATE TABLE IF NOT EXISTS generations (
    trace_key BIGINT, generation BIGINT, settled_ns BIGINT, last_span_key BIGINT
);
CREATE TABLE IF NOT EXISTS marks (
    tenant INTEGER, session INTEGER, run INTEGER, lane INTEGER, version BIGINT, producer VARCHAR,
    input_sha256 VARCHAR, created_ns BIGINT, steps INTEGER[], path_ids INTEGER[], setup VARCHAR
);
CREATE TABLE IF NOT EXISTS outbox (
    id BIGINT, exporter VARCHAR, batch BIGINT, tenant VARCHAR, series VARCHAR, time_ns BIGINT,
    size BIGINT, samples BIGINT, payload BLOB, created_ns BIGINT
);
CREATE TABLE IF NOT EXISTS outbox_done (
    id BIGINT, exporter VARCHAR, state VARCHAR, reason VARCHAR, done_ns BIGINT
);
CREATE TABLE IF NOT EXISTS exported (
    exporter VARCHAR, span_key BIGINT, generation BIGINT, path_id INTEGER, batch BIGINT,
    tokens BIGINT, self_ns BIGINT
);
CREATE TABLE IF NOT EXISTS carry (
    exporter VARCHAR, tenant VARCHAR, series VARCHAR, remainder BIGINT, batch BIGINT,
    updated_ns BIGINT
);
CREATE TABLE IF NOT EXISTS dropped (trace_key BIGINT, span_id BLOB);
CREATE TABLE IF NOT EXISTS counters (name VARCHAR, label VARCHAR, amount BIGINT, tenant VARCHAR);
"""

ADDED_COLUMNS = """
ALTER TABLE counters ADD COLUMN IF NOT EXISTS tenant VARCHAR DEFAULT '';
ALTER TABLE exported ADD COLUMN IF NOT EXISTS tokens BIGINT;
ALTER TABLE exported ADD COLUMN IF NOT EXISTS self_ns BIGINT;
ALTER TABLE marks ADD COLUMN IF NOT EXISTS setup VARCHAR;
"""
"""Columns that stores made by earlier versions of this schema lack."""

VIEWS = """
CREATE OR REPLACE VIEW current_generation AS
    SELECT trace_key, max(generation) AS generation FROM generations GROUP BY trace_key;
CREATE OR REPLACE VIEW settled_now AS
    SELECT s.* FROM settled s ANTI JOIN (
        SELECT trace_key, max(generation) AS newest FROM generations GROUP BY trace_key
        HAVING count(*) > 1
    ) n ON s.trace_key = n.trace_key AND s.generation < n.newest;
CREATE OR REPLACE VIEW operations AS
    SELECT * FROM settled_now WHERE counted;
"""

LAYOUT = f"{zlib.crc32((TABLES + ADDED_COLUMNS + VIEWS).encode()):08x}"
"""What stands in `meta` when all of it is there, so that opening need not look at every table."""
