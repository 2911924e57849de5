"""The default configuration as commented YAML, and the reference page of all keys."""

from __future__ import annotations

import dataclasses
import json
import typing
from typing import TYPE_CHECKING, Any

from whyflame.config.asking import ViewConfig
from whyflame.config.fields import Rule, rule_of
from whyflame.config.sections import Config, ExporterConfig
from whyflame.config.units import format_bytes, format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["default_yaml", "reference_markdown"]

_HEAD = """\
# The configuration of `whyflame serve`: every key with its default.
# Durations: 250ms, 30s, 5m, 4h, 7d. Sizes: 512KiB, 64MiB, 2GiB.
# Secrets: keys that end in _file, or ${env:NAME} references.
"""

_EXAMPLES = {
    "fields": """\
#   team: resource.team
""",
    "views": """\
#   by_model:
#     stack: [service, model]
#     measure: cost
#     where: ["environment=production"]
""",
    "exporters": """\
#   main:
#     type: pyroscope
#     url: http://127.0.0.1:4040
""",
}

_PAGE = """\
# Configuration

<!-- Written by `make docs` from the dataclasses of `whyflame.config`; edit those. -->

`whyflame serve --config FILE` reads one YAML file. `whyflame config default` prints it with every key at
its default, `whyflame config check FILE` reads it as the server would and says what is wrong.

- **Durations** are seconds, or carry a unit: `250ms`, `30s`, `5m`, `1h30m`, `7d`.
- **Sizes** are bytes, or carry a unit: `512KiB`, `64MiB`, `2GiB` (`10MB` is ten million).
- **Unknown keys** are errors that name the nearest known one; so are wrong values, with file, line and key.
- **Environment**: `${env:NAME}` stands for a variable, `${env:NAME:-text}` for one that may be missing.
  There are no variables that override a key behind the file's back.
- **Secrets** are never written as plain values: name a file (`bearer_tokens_file`, `password_file`) or
  refer to a variable. A file of bearer tokens has one token a line, or `sha256:` and the token's hash in hex.
- **Files** are opened when the server starts, not by `config check`, which says which ones it cannot see.
- `store.memory_limit: 0` means 512 MiB, or 40 % of the container's memory limit where that is less.
"""


def default_yaml() -> str:
    """A configuration file with every key at its default, each one explained."""
    return _HEAD + "".join(_block_lines(Config, Config(), 0))


def _block_lines(cls: type[Any], block: Any, depth: int) -> Iterator[str]:
    pad = "  " * depth
    for field in dataclasses.fields(cls):
        value, rule = getattr(block, field.name), rule_of(field.metadata)
        if depth == 0:
            yield "\n"
        yield f"{pad}# {rule.doc}\n"
        if dataclasses.is_dataclass(value):
            yield f"{pad}{field.name}:\n"
            yield from _block_lines(type(value), value, depth + 1)
        else:
            yield f"{pad}{field.name}: {_scalar(rule, value)}\n"
            yield _EXAMPLES.get(field.name, "") if depth == 0 else ""


def _scalar(rule: Rule, value: object) -> str:
    """A default as it is written in YAML; JSON is YAML."""
    if rule.kind == "duration" and isinstance(value, float):
        return format_duration(value)
    if rule.kind == "bytes" and isinstance(value, int):
        return format_bytes(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value)


def reference_markdown() -> str:
    """`docs/configuration.md`."""
    parts = [_PAGE, _table("The file", Config, Config(), "")]
    return "\n".join([*parts, *_sections(Config, Config(), "")])


def _sections(cls: type[Any], block: Any, prefix: str) -> Iterator[str]:
    hints = typing.get_type_hints(cls)
    for field in dataclasses.fields(cls):
        value, key = getattr(block, field.name), prefix + field.name
        if dataclasses.is_dataclass(value):
            yield _table(f"`{key}`", type(value), value, f"{key}.")
            yield from _sections(type(value), value, f"{key}.")
        elif ViewConfig in typing.get_args(hints[field.name]):
            yield _table(f"`{key}.NAME`", ViewConfig, ViewConfig(), f"{key}.NAME.")
        elif ExporterConfig in typing.get_args(hints[field.name]):
            yield _table(f"`{key}.NAME`", ExporterConfig, ExporterConfig(), f"{key}.NAME.")


def _table(title: str, cls: type[Any], block: Any, prefix: str) -> str:
    doc = (cls.__doc__ or "").strip().splitlines()[0]
    rows = [f"## {title}", "", doc, "", "| key | default | meaning |", "|---|---|---|"]
    for field in dataclasses.fields(cls):
        value, rule = getattr(block, field.name), rule_of(field.metadata)
        if dataclasses.is_dataclass(value):
            shown = "a block, see below"
        elif cls is ExporterConfig:
            shown = "required" if field.name == "type" else ""
        else:
            shown = f"`{_scalar(rule, value)}`"
        name = "…" if cls is ExporterConfig and field.name == "options" else prefix + field.name
        rows.append(f"| `{name}` | {shown} | {rule.doc} |")
    return "\n".join([*rows, ""])
