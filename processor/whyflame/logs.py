"""Logging of a process: one line an event, to stderr, without content."""

from __future__ import annotations

import logging

__all__ = ["set_up_logs"]


def set_up_logs(level: int = logging.INFO) -> None:
    """Plain lines with time, level, process and logger; libraries from WARNING on."""
    logging.basicConfig(
        level=logging.WARNING,
        format="%(asctime)s %(levelname)s %(processName)s %(name)s: %(message)s",
        force=True,
    )
    logging.getLogger("whyflame").setLevel(level)
