"""The built-in views, and how configuration and command line change them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whyflame.config.asking import ViewConfig
from whyflame.fold.names import unknown_name
from whyflame.fold.projection import Projection, make_projection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyflame.config import AskingConfig, Config

__all__ = ["BUILT_IN_VIEWS", "FILE_LABELS", "view_projection", "views_of"]

_USUAL = ["agent", "path", "leaf"]

BUILT_IN_VIEWS: dict[str, ViewConfig] = {
    "tokens": ViewConfig(stack=_USUAL, measure="tokens"),
    "cost": ViewConfig(stack=_USUAL, measure="cost"),
    "time": ViewConfig(stack=_USUAL, measure="duration"),
    "operations": ViewConfig(stack=_USUAL, measure="operations"),
    "errors": ViewConfig(stack=[*_USUAL, "error_type"], measure="errors", where=["status=error"]),
    "files": ViewConfig(
        stack=["agent", "path", "path_group", "effect"],
        measure="operations",
        where=["path_group!="],
    ),
    "network": ViewConfig(
        stack=["agent", "path", "domain"], measure="operations", where=["domain!="]
    ),
}
"""Views of the Contract; `views:` in the configuration overrides and adds."""

FILE_LABELS = ("agent", "model", "outcome")
"""Labels worth having in a pprof file, for `-tagroot` and `-tagfocus`; few values each."""


def views_of(config: Config | AskingConfig) -> dict[str, ViewConfig]:
    """All views by name: the built-in ones under those of the configuration."""
    return {**BUILT_IN_VIEWS, **config.views}


def view_projection(
    name: str,
    config: Config | AskingConfig,
    *,
    measure: str | None = None,
    stack: Sequence[str] | None = None,
    where: Sequence[str] = (),
    labels: Sequence[str] = (),
) -> Projection:
    """The projection of a view, with another measure or stack if asked, and further filters.

    Raises:
        UsageError: The view, or a name in it, does not exist.
    """
    views = views_of(config)
    if name not in views:
        raise unknown_name("view", name, views)
    view = views[name]
    made = make_projection(
        stack=view.stack if stack is None else stack,
        measure=measure or view.measure,
        where=(*view.where, *where),
        promoted=config.fields,
        labels=labels,
    )
    return replace(made, waits=view.waits)
