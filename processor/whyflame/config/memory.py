"""The only place that looks at the cgroup: how much memory DuckDB may use.

Imports nothing, since opening a store needs it before a cold command has read anything else.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["default_memory_limit"]

_DUCKDB_SHARE = 0.4
_DUCKDB_DEFAULT, _DUCKDB_LEAST = 512 << 20, 64 << 20


def default_memory_limit(
    cgroup_root: Path = Path("/sys/fs/cgroup"), own_group: Path = Path("/proc/self/cgroup")
) -> int:
    """DuckDB's memory when none is configured: 512 MiB, less in a small container.

    The rest of the container's limit is for the receiver processes, batches in flight and Python.
    """
    limits = [_read_limit(folder) for folder in _cgroup_folders(cgroup_root, own_group)]
    smallest = min((limit for limit in limits if limit is not None), default=None)
    if smallest is None:
        return _DUCKDB_DEFAULT
    return max(_DUCKDB_LEAST, min(_DUCKDB_DEFAULT, int(smallest * _DUCKDB_SHARE)))


def _cgroup_folders(root: Path, own_group: Path) -> list[Path]:
    """The folders whose limits bind this process; v2 nests, and v1 keeps memory apart."""
    folders = [root, root / "memory"]
    try:
        lines = own_group.read_text(encoding="utf-8").splitlines()
    except OSError:
        return folders
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers in {"", "memory"}:
            group = (root / controllers if controllers else root) / path.lstrip("/")
            folders.extend([group, *group.parents])
    return folders


def _read_limit(folder: Path) -> int | None:
    for name in ("memory.max", "memory.limit_in_bytes"):
        try:
            text = (folder / name).read_text(encoding="utf-8").strip()
        except OSError:
            continue
        if text.isdecimal():
            return int(text)
    return None
