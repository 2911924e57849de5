"""Under which path operations were exported; no backend takes them back."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    import duckdb

    from whyflame.store.duck import Store

__all__ = ["exported_paths"]


def exported_paths(
    store: Store, cursor: duckdb.DuckDBPyConnection, span_keys: Collection[int]
) -> dict[int, tuple[str, ...]]:
    """Path of each operation among these that any exporter has exported; the first one it had."""
    if not span_keys:
        return {}
    rows = cursor.execute(
        # The range first: rows lie about in the order of their keys, so most of them stay unread.
        "SELECT span_key, arg_min(path_id, generation) FROM exported "
        "WHERE span_key BETWEEN ? AND ? AND span_key IN (SELECT unnest(?::BIGINT[])) "
        "GROUP BY span_key",
        [min(span_keys), max(span_keys), list(span_keys)],
    ).fetchall()
    return {key: store.paths.value(path) for key, path in rows if path is not None}
