"""Configuration: one YAML file, frozen dataclasses with defaults, every key documented.

The only package that reads the configuration, the environment and secret files. Names are looked up
when they are first asked for: a cold question needs a few of them only, and all take 19 ms.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whyflame.config.asking import AskingConfig, ViewConfig
    from whyflame.config.environment import (
        default_data_dir,
        read_environment,
        read_secret,
        use_one_thread,
    )
    from whyflame.config.fields import GIB, KIB, MIB
    from whyflame.config.memory import default_memory_limit
    from whyflame.config.reading import load, parse
    from whyflame.config.render import default_yaml, reference_markdown
    from whyflame.config.review import cautions, missing_files
    from whyflame.config.sections import (
        AuthConfig,
        Config,
        ContentConfig,
        ExporterConfig,
        HttpConfig,
        IndexConfig,
        JournalConfig,
        OtlpConfig,
        PricesConfig,
        QueryConfig,
        SegmentConfig,
        SessionConfig,
        SettleConfig,
        StoreConfig,
        TlsConfig,
    )
    from whyflame.config.units import (
        cannot_listen,
        parse_address,
        parse_bytes,
        parse_duration,
    )

__all__ = [
    "GIB",
    "KIB",
    "MIB",
    "AskingConfig",
    "AuthConfig",
    "Config",
    "ContentConfig",
    "ExporterConfig",
    "HttpConfig",
    "IndexConfig",
    "JournalConfig",
    "OtlpConfig",
    "PricesConfig",
    "QueryConfig",
    "SegmentConfig",
    "SessionConfig",
    "SettleConfig",
    "StoreConfig",
    "TlsConfig",
    "ViewConfig",
    "cannot_listen",
    "cautions",
    "default_data_dir",
    "default_memory_limit",
    "default_yaml",
    "load",
    "missing_files",
    "parse",
    "parse_address",
    "parse_bytes",
    "parse_duration",
    "read_environment",
    "read_secret",
    "reference_markdown",
    "use_one_thread",
]

_MODULES = {
    "asking": ("AskingConfig", "ViewConfig"),
    "environment": ("default_data_dir", "read_environment", "read_secret", "use_one_thread"),
    "fields": ("GIB", "KIB", "MIB"),
    "memory": ("default_memory_limit",),
    "reading": ("load", "parse"),
    "render": ("default_yaml", "reference_markdown"),
    "review": ("cautions", "missing_files"),
    "units": ("cannot_listen", "parse_address", "parse_bytes", "parse_duration"),
}
_MODULE_BY_NAME = {name: module for module, names in _MODULES.items() for name in names}

if not TYPE_CHECKING:  # or type checkers would take any name for one of ours

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(f"{__name__}.{_MODULE_BY_NAME.get(name, 'sections')}")
        value = globals()[name] = getattr(module, name)
        return value
