"""What a resource says about all its spans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyflame.dialects.values import read_any, read_text

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Origin", "promote", "read_origin"]

_TEXT_LIMIT = 200


@dataclass(frozen=True, slots=True)
class Origin:
    """Service and place of a resource, and the fields promoted from it."""

    service: str
    service_version: str | None
    environment: str | None
    instance: str | None
    host: str | None
    session: str | None
    promoted: tuple[tuple[str, str], ...]
    attributes: Mapping[str, bytes]


def _text(attributes: Mapping[str, bytes], *keys: str) -> str | None:
    for key in keys:
        raw = attributes.get(key)
        if raw is not None:
            text = read_text(raw)
            if text:
                return text
    return None


def read_origin(attributes: Mapping[str, bytes], promoted: Mapping[str, str]) -> Origin:
    """Reads a resource; `promoted` maps field names to resource keys."""
    host = _text(attributes, "host.name", "k8s.pod.name", "container.id", "host.id")
    process = _text(attributes, "process.pid")
    instance = _text(attributes, "service.instance.id")
    if instance is None and process is not None:
        instance = f"{host or ''}:{process}"
    return Origin(
        service=_text(attributes, "service.name") or "",
        service_version=_text(attributes, "service.version"),
        environment=_text(
            attributes,
            "deployment.environment.name",
            "deployment.environment",
            "langfuse.environment",
        ),
        instance=instance,
        host=host,
        session=_text(attributes, "session.id", "gen_ai.conversation.id"),
        promoted=promote(attributes, promoted),
        attributes=attributes,
    )


def promote(
    attributes: Mapping[str, bytes], wanted: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """(field, text) of configured attributes that are there."""
    found = []
    for name, key in wanted.items():
        raw = attributes.get(key)
        if raw is None:
            continue
        value = read_any(raw)
        if value is not None:
            text = value if isinstance(value, str) else str(value)
            found.append((name, text[:_TEXT_LIMIT]))
    return tuple(found)
