"""`whyflame config`: check a configuration file, print the default one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from whyflame.config import Config

__all__ = ["add_parser", "run"]


def add_parser(subparsers: Any) -> None:
    """Add `config` with its own commands."""
    parser = subparsers.add_parser("config", help="check a configuration, print the default one")
    parser.set_defaults(run=run)
    commands = parser.add_subparsers(dest="config_command", metavar="COMMAND", required=True)
    check = commands.add_parser("check", help="read FILE as the server would")
    check.add_argument("file", metavar="FILE", help="the YAML file")
    commands.add_parser("default", help="print every key with its default and what it means")


def run(args: argparse.Namespace) -> int:
    """Carry out `config check` or `config default`.

    Raises:
        ConfigError: The file to check is wrong.
    """
    if args.config_command == "default":
        return _print_default()
    return _check(args.file)


def _print_default() -> int:
    from whyflame.config import default_yaml

    sys.stdout.write(default_yaml())
    return 0


def _check(file: str) -> int:
    """Say that the file is right; what deserves a second look goes to stderr."""
    from whyflame.config import cautions, load, missing_files

    config = load(file)
    _check_stages(config)
    for line in [*cautions(config), *missing_files(config)]:
        print(f"note: {line}", file=sys.stderr)
    print(f"{file}: ok")
    return 0


def _check_stages(config: Config) -> None:
    """What only the stages know: their own options, names of fields, measures and extensions.

    Raises:
        ConfigError: A stage could not be built as configured.
    """
    from whyflame.dialects import dialect_settings
    from whyflame.errors import ConfigError, UsageError
    from whyflame.export import build_exporters, build_forwarders
    from whyflame.fold.views import view_projection
    from whyflame.segment import load_segmenter

    dialect_settings(config.fields, config.settle.outcome_attributes)
    build_exporters(config)
    build_forwarders(config)
    load_segmenter(config.segment)
    for name in config.views:
        try:
            view_projection(name, config)
        except UsageError as error:
            raise ConfigError(f"views.{name}: {error}") from error
