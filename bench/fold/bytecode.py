"""An environment in which Python keeps its bytecode, as every installation by pip has it.

Where PYTHONDONTWRITEBYTECODE is set, or an installer has left it out, each start compiles a hundred
files anew, which takes longer than everything that a cold command does.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def compiled_once() -> Iterator[dict[str, str]]:
    """Variables for child processes; the first of them compiles for the others."""
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    with tempfile.TemporaryDirectory() as folder:
        yield {**environment, "PYTHONPYCACHEPREFIX": folder}
