"""What is worth a second look in a configuration that is valid."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyflame.config.fields import rule_of
from whyflame.config.units import parse_address

if TYPE_CHECKING:
    from whyflame.config.sections import AuthConfig, Config

__all__ = ["cautions", "missing_files"]

_LOOPBACK = frozenset({"localhost", "::1"})


def cautions(config: Config) -> list[str]:
    """Settings that expose data: one line each, for the log at start and for `config check`."""
    found = _open_ports("otlp", ("grpc", config.otlp.grpc), config.otlp.auth)
    found += _open_ports("otlp", ("http", config.otlp.http), config.otlp.auth)
    found += _open_ports("http", ("listen", config.http.listen), config.http.auth)
    if config.journal.retention > 0:
        found.append("journal.retention keeps requests as received: prompts are not redacted there")
    excerpts = [name for name, mode in config.content.services.items() if mode == "excerpt"]
    if config.content.mode == "excerpt" or excerpts:
        found.append("content.mode excerpt keeps redacted excerpts of prompts in the store")
    return found


def _open_ports(block: str, port: tuple[str, str], auth: AuthConfig) -> list[str]:
    key, address = port
    host, _ = parse_address(address)
    if auth.bearer_tokens_file or host in _LOOPBACK or host.startswith("127."):
        return []
    return [f"{block}.{key} listens on {address} and {block}.auth.bearer_tokens_file is not set"]


def missing_files(config: Config) -> list[str]:
    """Files that the configuration names and that cannot be seen from here, one line each."""
    return [
        f"{key}: {path} is not here"
        for key, path in _files(config, "")
        if not Path(path).expanduser().is_file()
    ]


def _files(block: Any, prefix: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for field in dataclasses.fields(block):
        value, key = getattr(block, field.name), prefix + field.name
        if dataclasses.is_dataclass(value):
            found += _files(value, f"{key}.")
        elif rule_of(field.metadata).kind in {"file", "secret_file"} and value:
            found.append((key, value))
    return found
