"""What can be asked, for forms and completion: views, measures, fields, links."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyflame.fields import FIELDS
from whyflame.fold.encode import ENCODINGS
from whyflame.fold.measures import MEASURE_BY_NAME
from whyflame.fold.palette import FAMILIES
from whyflame.fold.views import views_of

if TYPE_CHECKING:
    from whyflame.config import AskingConfig, Config

__all__ = ["page_options"]


def page_options(config: Config | AskingConfig) -> dict[str, Any]:
    """Everything a form needs to know, with what it means."""
    promoted = [{"name": name, "doc": source} for name, source in sorted(config.fields.items())]
    return {
        "views": [
            {
                "name": name,
                "stack": view.stack,
                "measure": view.measure,
                "where": view.where,
                "waits": view.waits,
            }
            for name, view in views_of(config).items()
        ],
        "measures": [
            {"name": item.name, "unit": item.unit, "doc": item.description}
            for item in MEASURE_BY_NAME.values()
        ],
        "fields": [
            *({"name": name, "doc": spec.description} for name, spec in FIELDS.items()),
            *promoted,
        ],
        "formats": list(ENCODINGS),
        "families": [{"key": family.key, "label": family.label} for family in FAMILIES],
        "trace_links": config.trace_links,
    }
