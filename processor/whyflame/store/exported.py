"""Under which path operations were exported; no backend takes them back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection

    import duckdb

    from whyflame.store.duck import Store

__all__ = ["exported_paths"]

_WANTED = "wanted_exports"


def exported_paths(
    store: Store, cursor: duckdb.DuckDBPyConnection, span_keys: Collection[int]
) -> dict[int, tuple[str, ...]]:
    """Path of each operation among these that any exporter has exported; the first one it had."""
    if not span_keys:
        return {}
    # A column instead of a list of parameters: a sixth of a microsecond a key instead of one.
    wanted = np.fromiter(span_keys, np.int64, len(span_keys))
    cursor.register(_WANTED, {"span_key": wanted})
    try:
        rows = cursor.execute(
            # The range, since rows lie about in the order of their keys: most stay unread.
            "SELECT span_key, arg_min(path_id, generation) FROM exported "
            f"SEMI JOIN {_WANTED} USING (span_key) WHERE span_key BETWEEN ? AND ? GROUP BY ALL",
            [int(wanted.min()), int(wanted.max())],
        ).fetchall()
    finally:
        cursor.unregister(_WANTED)
    return {key: store.paths.value(path) for key, path in rows if path is not None}
