"""The only place that looks at the process environment and secret files."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from whyflame.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whyflame.config.place import Place

__all__ = [
    "Referenced",
    "default_data_dir",
    "read_environment",
    "read_secret",
    "resolve_references",
    "use_one_thread",
]

_REFERENCE = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


class Referenced(str):
    """A text that came out of a `${env:NAME}` reference: may be a secret, may stand for a number."""

    __slots__ = ()


def read_environment() -> dict[str, str]:
    """A copy of the process environment."""
    return dict(os.environ)


def use_one_thread() -> None:
    """Let the numeric library of processes that start from here compute in their own thread alone.

    Its second thread waits for work by spinning: where stages keep every processor busy that took
    3 to 20 us of the 8 that segmenting a span needs. Who has set it has set it.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def resolve_references(value: object, environment: Mapping[str, str], place: Place) -> object:
    """Replace `${env:NAME}` and `${env:NAME:-default}` in every text below `value`."""
    if isinstance(value, dict):
        return {
            key: resolve_references(item, environment, place.child(str(key)))
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [
            resolve_references(item, environment, place.child(str(index)))
            for index, item in enumerate(value)
        ]
    if isinstance(value, str) and "${" in value:
        return _resolve_text(value, environment, place)
    return value


def _resolve_text(text: str, environment: Mapping[str, str], place: Place) -> Referenced:
    def replace(match: re.Match[str]) -> str:
        name, default = match[1], match[2]
        if name in environment:
            return environment[name]
        if default is None:
            raise place.error(f"the environment has no {name}, which ${{env:{name}}} asks for")
        return default

    if "${" in _REFERENCE.sub("", text):
        raise place.error(
            f"{text!r} is no reference; write ${{env:NAME}} or ${{env:NAME:-default}}"
        )
    return Referenced(_REFERENCE.sub(replace, text))


def read_secret(path: str | Path) -> str:
    """The text of a secret file without the line break at its end.

    Raises:
        ConfigError: The file cannot be read, or is empty.
    """
    try:
        secret = Path(path).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"secret file {path}: {error}") from error
    if not secret:
        raise ConfigError(f"secret file {path} is empty")
    return secret


def default_data_dir(environment: Mapping[str, str], home: Path) -> Path:
    """`$XDG_STATE_HOME/whyflame`, else `~/.local/state/whyflame`."""
    base = environment.get("XDG_STATE_HOME")
    return (Path(base) if base else home / ".local" / "state") / "whyflame"
