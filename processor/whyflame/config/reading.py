"""From YAML to `Config`: every unknown key and every wrong value is an error that says where."""

from __future__ import annotations

import dataclasses
import re
import typing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyflame.config.environment import Referenced, read_environment, resolve_references
from whyflame.config.fields import Rule, rule_of
from whyflame.config.place import Place, line_numbers, nearest
from whyflame.config.sections import Config, ExporterConfig, TlsConfig
from whyflame.config.units import parse_address, parse_bytes, parse_duration

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["load", "parse", "read_options"]

_SECRET_KEY = re.compile(
    r"(^|[_-])(password|passwd|secret|token|api[_-]?key|secret[_-]?access[_-]?key|authorization"
    r"|credentials?)$",
    re.IGNORECASE,
)
_LARGEST = (1 << 63) - 1
_Options = typing.TypeVar("_Options")
_TRUTH = {"true": True, "yes": True, "false": False, "no": False}


def load(path: str | Path, environment: Mapping[str, str] | None = None) -> Config:
    """Read a configuration file.

    Args:
        path: The YAML file; an empty file is the default configuration.
        environment: Where `${env:NAME}` looks; the process environment when not given.

    Raises:
        ConfigError: The file cannot be read, is no YAML, or has an unknown key or a wrong value.
    """
    import yaml  # a command without a configuration does without its 20 ms

    place = Place(str(path))
    try:
        text = Path(path).read_text(encoding="utf-8")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        content = yaml.safe_load(text)
    except OSError as error:
        raise place.error(f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise place.error(f"cannot be read: {error}") from error
    except yaml.YAMLError as error:
        raise place.error(f"is no valid YAML: {' '.join(str(error).split())}") from error
    place = dataclasses.replace(place, lines=line_numbers(node, place))
    return _parse({} if content is None else content, place, environment)


def parse(
    mapping: Mapping[str, Any],
    source: str = "configuration",
    environment: Mapping[str, str] | None = None,
) -> Config:
    """Read a mapping as if it were a file; `source` is the name errors give it.

    Raises:
        ConfigError: An unknown key or a wrong value.
    """
    return _parse(mapping, Place(source), environment)


def read_options(cls: type[_Options], mapping: Mapping[str, Any], source: str) -> _Options:
    """A settings dataclass of an extension, such as an exporter, from the mapping users wrote.

    Args:
        cls: Dataclass whose fields are declared with `setting` or `section`.
        mapping: Keys and values; references are resolved already.
        source: What errors call the mapping, such as `exporters.pyroscope`.

    Raises:
        ConfigError: An unknown key or a wrong value.
    """
    options: _Options = _read_block(cls, mapping, Place(source))
    return options


def _parse(content: object, place: Place, environment: Mapping[str, str] | None) -> Config:
    names = read_environment() if environment is None else environment
    config: Config = _read_block(Config, resolve_references(content, names, place), place)
    return config


def _read_block(cls: type[Any], value: object, place: Place) -> Any:
    """A dataclass from a mapping; keys that are not there keep their defaults."""
    if value is None:
        value = {}
    if not isinstance(value, dict):
        raise place.error(f"expected a block of keys, got {_show(value)}")
    hints = typing.get_type_hints(cls)
    fields = {field.name: field for field in dataclasses.fields(cls)}
    found: dict[str, Any] = {}
    for key, item in value.items():
        at = place.child(str(key))
        if key not in fields:
            raise at.error(f"unknown key; {nearest(str(key), fields)}")
        found[key] = _read_value(hints[key], rule_of(fields[key].metadata), item, at)
    block = cls(**found)
    if isinstance(block, TlsConfig) and bool(block.cert_file) != bool(block.key_file):
        raise place.error("cert_file and key_file must be given together")
    return block


def _read_value(hint: Any, rule: Rule, value: object, place: Place) -> Any:
    if hint is ExporterConfig:
        return _read_exporter(value, place)
    if dataclasses.is_dataclass(hint):
        return _read_block(typing.cast("type[Any]", hint), value, place)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is list:
        return [_read_value(arguments[0], rule, v, at) for v, at in _items(value, place)]
    if origin is dict:
        return {
            str(key): _read_value(arguments[1], rule, item, place.child(str(key)))
            for key, item in _entries(value, place)
        }
    return value if hint is Any else _read_scalar(hint, rule, value, place)


def _items(value: object, place: Place) -> list[tuple[object, Place]]:
    if not isinstance(value, list):
        raise place.error(f"expected a list, got {_show(value)}")
    return [(item, place.child(str(index))) for index, item in enumerate(value)]


def _entries(value: object, place: Place) -> list[tuple[Any, Any]]:
    if value is None:
        return []
    if not isinstance(value, dict):
        raise place.error(f"expected a block of keys, got {_show(value)}")
    return list(value.items())


def _read_exporter(value: object, place: Place) -> ExporterConfig:
    """`type` and, as the exporter's own options, every other key."""
    options = dict(_entries(value, place))
    kind = options.pop("type", "")
    if not isinstance(kind, str) or not kind:
        raise place.child("type").error("is missing: the exporter's name, for example pyroscope")
    _refuse_plain_secrets(options, place)
    return ExporterConfig(type=kind, options=options)


def _refuse_plain_secrets(value: object, place: Place) -> None:
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        at = place.child(str(key))
        if _SECRET_KEY.search(str(key)) and not isinstance(item, (Referenced, dict)):
            raise at.error(f"a secret in plain text; write {key}_file: PATH or ${{env:NAME}}")
        _refuse_plain_secrets(item, at)


def _read_scalar(hint: Any, rule: Rule, value: object, place: Place) -> Any:
    try:
        result = _convert(hint, rule, value)
    except ValueError as error:
        raise place.error(f"{error}, got {_show(value)}") from error
    except OverflowError as error:
        raise place.error(f"too large a number, got {_show(value)}") from error
    if rule.choices and result not in rule.choices:
        raise place.error(f"unknown value {_show(value)}; {nearest(str(value), rule.choices)}")
    if isinstance(result, (int, float)) and not isinstance(result, bool):
        _check_range(result, rule, value, place)
    return result


def _check_range(number: float, rule: Rule, value: object, place: Place) -> None:
    if not number >= rule.minimum:  # nor is what is no number
        raise place.error(f"must be at least {rule.minimum:g}, got {_show(value)}")
    most = _LARGEST if rule.maximum is None else rule.maximum
    if number > most:
        raise place.error(f"must be at most {most:g}, got {_show(value)}")


def _convert(hint: Any, rule: Rule, value: object) -> Any:
    """The value in its type; a number or truth value may come as text only from the environment."""
    if rule.kind == "duration":
        return parse_duration(value)
    if rule.kind == "bytes":
        return parse_bytes(value)
    if hint is str:
        return _convert_text(rule, value)
    if hint is bool:
        return _convert_truth(value)
    return _convert_number(hint, value)


def _convert_number(hint: type[int | float], value: object) -> float:
    expected = "expected a whole number" if hint is int else "expected a number"
    if isinstance(value, Referenced):
        try:
            return hint(str(value))
        except ValueError:
            raise ValueError(expected) from None  # Python's own text quotes the value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError("expected a number")  # noqa: TRY004 - the caller names key and value
    if hint is int and isinstance(value, float) and not value.is_integer():
        raise ValueError(expected)
    return hint(value)


def _convert_text(rule: Rule, value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("expected a text")  # noqa: TRY004 - the caller names key and value
    if rule.kind == "address":
        parse_address(value)
    return str(value)


def _convert_truth(value: object) -> bool:
    if isinstance(value, Referenced) and value.lower() in _TRUTH:
        return _TRUTH[value.lower()]
    if not isinstance(value, bool):
        raise ValueError("expected true or false")  # noqa: TRY004 - the caller names key and value
    return value


def _show(value: object) -> str:
    """A value for an error message; never one that may be a secret."""
    if isinstance(value, Referenced):
        return "the value of an environment variable"
    return "nothing" if value is None else repr(value)
