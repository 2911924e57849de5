"""Under which path operations were exported; no backend takes them back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb

    from whyflame.store.duck import Store

__all__ = ["exported_paths"]

_WANTED = "wanted_exports"


def exported_paths(
    store: Store, cursor: duckdb.DuckDBPyConnection, wanted: Mapping[int, int]
) -> dict[int, tuple[str, ...]]:
    """Path of each operation among these that any exporter has exported; the first one it had.

    Args:
        wanted: By span key, the generation before which exports do not matter.
    """
    if not wanted:
        return {}
    # Columns instead of lists of parameters: a sixth of a microsecond a key instead of one.
    keys = np.fromiter(wanted, np.int64, len(wanted))
    since = np.fromiter(wanted.values(), np.int64, len(wanted))
    cursor.register(_WANTED, {"span_key": keys, "since": since})
    try:
        rows = cursor.execute(
            # The range, since rows lie about in the order of their keys: most stay unread.
            "SELECT span_key, arg_min(path_id, generation) FROM exported "
            f"JOIN {_WANTED} USING (span_key) "
            "WHERE span_key BETWEEN ? AND ? AND generation >= since GROUP BY ALL",
            [int(keys.min()), int(keys.max())],
        ).fetchall()
    finally:
        cursor.unregister(_WANTED)
    paths = store.paths.values({path for _, path in rows if path is not None})
    return {key: paths[path] for key, path in rows if path in paths}
