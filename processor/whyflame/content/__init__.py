"""Content: text seen while indexing becomes bounded features and evidence, then is forgotten."""

from whyflame.content.assigned import mask_assigned
from whyflame.content.evidence import evidence
from whyflame.content.features import Features, decode, extract, extract_all
from whyflame.content.joining import has_text, join_features
from whyflame.content.names import NameFilter
from whyflame.content.redact import redact

__all__ = [
    "Features",
    "NameFilter",
    "decode",
    "evidence",
    "extract",
    "extract_all",
    "has_text",
    "join_features",
    "mask_assigned",
    "redact",
]
