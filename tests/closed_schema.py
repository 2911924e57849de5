"""A JSON schema made strict: a key that it does not name is a fault of the answer, or of the schema."""

from __future__ import annotations

from typing import Any

_OPEN = ("additionalProperties", "anyOf", "$ref")


def closed(node: Any) -> Any:
    """The schema with every object closed that does not say what else it may hold."""
    if isinstance(node, list):
        return [closed(item) for item in node]
    if not isinstance(node, dict):
        return node
    made = {key: closed(value) for key, value in node.items()}
    if made.get("type") == "object" and not any(key in made for key in _OPEN):
        made["additionalProperties"] = False
    return made


def answer_schema(description: dict[str, Any], path: str, method: str, status: str) -> Any:
    """The closed schema of one JSON answer, with all that it refers to."""
    answer = description["paths"][path][method]["responses"][status]
    schema = answer["content"]["application/json"]["schema"]
    return closed({"components": description["components"], **schema})
