"""Which stores this version opens: its own schema, and no layout of a newer version."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whyflame import __version__
from whyflame.store.schema import LAYOUT, SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["facts_of_this_version", "why_refused"]


def facts_of_this_version() -> dict[str, str]:
    """What the table `meta` says of a store that this version has prepared."""
    return {"schema": str(SCHEMA_VERSION), "layout": LAYOUT, "version": __version__}


def why_refused(path: Path, facts: Mapping[str, str]) -> str | None:
    """Why this store must not be opened, and the way out (docs/deploy.md, Upgrading).

    Args:
        path: The store. facts: Its table `meta`; empty for a new one.

    Returns:
        None when it can be opened.
    """
    schema, version = int(facts.get("schema", SCHEMA_VERSION)), facts.get("version", "")
    # A layout knows no order, versions do. An older version must not append to tables that have grown.
    has_grown = facts.get("layout") != LAYOUT and _numbers(version) > _numbers(__version__)
    if schema > SCHEMA_VERSION or has_grown:
        advice = (
            "install that version or a newer one, or start with another --data-dir; nothing in "
            "this one was changed"
        )
    elif schema < SCHEMA_VERSION:
        advice = (
            "start the version that wrote it, or start with another --data-dir and read into it "
            f"what the old journal has kept: `whyflame import {path.parent / 'journal'}`"
        )
    else:
        return None
    written_by = f"whyflame {version}" if version else "another version"
    return (
        f"{path} was written by {written_by} with schema {schema}; this is whyflame {__version__} "
        f"with schema {SCHEMA_VERSION}: {advice}"
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])
