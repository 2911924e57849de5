"""Configuration: one YAML file, frozen dataclasses with defaults, every key documented.

The only package that reads the configuration, the environment and secret files.
"""

from __future__ import annotations

from whyflame.config.environment import (
    default_data_dir,
    default_memory_limit,
    read_environment,
    read_secret,
)
from whyflame.config.fields import GIB, KIB, MIB
from whyflame.config.load import load, parse
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
    ViewConfig,
)
from whyflame.config.units import cannot_listen, parse_address, parse_bytes, parse_duration

__all__ = [
    "GIB",
    "KIB",
    "MIB",
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
]
