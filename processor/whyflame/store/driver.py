"""DuckDB's extension module, without what `import duckdb` builds on top of it in Python.

The package adds an API of relations and expressions that nothing here uses, and that takes three
quarters of its import: 75 of 100 ms of CPU in a command that does not live much longer. The classes
are the same objects either way (docs/decisions/0012-cold-commands.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb
else:
    try:
        import _duckdb as duckdb
    except ImportError:  # a release that arranges its modules otherwise
        import duckdb

__all__ = ["NO_BAR", "duckdb"]

NO_BAR = "SET enable_progress_bar = false"
"""For every connection: else a bar is drawn on standard output after two seconds, into answers."""
