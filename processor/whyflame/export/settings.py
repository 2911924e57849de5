"""What every exporter block may set, whatever backend it is for."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from whyflame.config.fields import KIB, MIB, setting
from whyflame.config.reading import read_options
from whyflame.errors import ConfigError, UsageError
from whyflame.fold.measures import MEASURE_BY_NAME
from whyflame.fold.names import Role, check_field, role_of, unknown_name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = [
    "SERIES_LABELS",
    "ExportSettings",
    "ForwardSettings",
    "split_forward_options",
    "split_options",
]

SERIES_LABELS = {
    "service_name": "service",
    "environment": "environment",
    "version": "version",
    "agent": "agent",
    "model": "model",
    "provider": "provider",
    "outcome": "outcome",
}
"""Label of a pushed series -> field it shows. Nothing else can become a label."""

_SIGNALS = ("traces", "logs", "metrics")

# Offsets inside a window are whole milliseconds; 64 replicas share them (see `times`).
MAX_SHARDS = 64


@dataclass(frozen=True, slots=True)
class ExportSettings:
    """How profiles are made and delivered; the same keys for every exporter."""

    profile: str = setting("agent", "first part of the profile type ids (`__name__`)")
    stack: list[str] = setting(["agent", "path", "leaf"], "fields that become frames")
    measures: list[str] = setting(
        ["operations", "cost", "duration", "tokens"], "measures that become sample types"
    )
    labels: list[str] = setting(list(SERIES_LABELS), "labels of the series, from this list only")
    span_links: str = setting(
        "off",
        "span id on every sample, for links from traces: of the agent's root span, of the "
        "operation, or none",
        choices=("root", "operation", "off"),
    )
    max_series: int = setting(
        4500, "series (label sets times measures); beyond it labels become `overflow`", minimum=1
    )
    late: str = setting(
        "push",
        "operations older than max_age when they are exported: push them, drop or restamp them",
        choices=("push", "drop", "restamp"),
    )
    max_age: float = setting(
        3540.0, "age at which an operation is late; the backend's window less a minute", "duration"
    )
    window: float = setting(
        15.0, "smallest window that a profile covers; grows by itself", "duration", minimum=15
    )
    max_window: float = setting(1800.0, "largest window", "duration", minimum=15)
    interval: float = setting(
        2.0, "how often new operations are looked for at the smallest window", "duration"
    )
    hold: float = setting(
        900.0,
        "operations of a run that goes on wait until their path is settled, at most so long; "
        "0 exports them at once",
        "duration",
    )
    in_flight: int = setting(4, "payloads sent at the same time", minimum=1, maximum=64)
    bytes_per_second: int = setting(
        3 * MIB, "profile bytes before compression that are sent a second", "bytes", minimum=KIB
    )
    max_profile_bytes: int = setting(
        MIB + MIB // 2, "larger profiles are split", "bytes", minimum=KIB
    )
    max_samples: int = setting(16_000, "profiles with more samples are split", minimum=1)
    max_depth: int = setting(1000, "deeper stacks lose frames from their middle", minimum=3)
    give_up_after: float = setting(
        86_400.0, "age at which a payload that was never accepted becomes a dead letter", "duration"
    )
    max_outbox_bytes: int = setting(
        256 * MIB, "payloads waiting above this: nothing new is exported until some went", "bytes"
    )
    max_dead_bytes: int = setting(64 * MIB, "dead letters kept, the newest ones", "bytes")
    shard: int = setting(
        0, "number of this replica, so that replicas never share a time", maximum=MAX_SHARDS - 1
    )


@dataclass(frozen=True, slots=True)
class ForwardSettings:
    """How received requests are passed on; the same keys for every forwarder."""

    signals: list[str] = setting(["traces", "logs"], "what is passed on: traces, logs, metrics")
    in_flight: int = setting(4, "requests of a signal sent at the same time", minimum=1, maximum=64)
    give_up_after: float = setting(
        86_400.0, "age at which a request that was never accepted becomes a dead letter", "duration"
    )
    max_spool_bytes: int = setting(
        1 << 30, "requests of a signal waiting above this: new ones are not passed on", "bytes"
    )
    max_dead_bytes: int = setting(64 * MIB, "dead letters kept, the oldest ones", "bytes")


_KEYS = frozenset(field.name for field in fields(ExportSettings))
_FORWARD_KEYS = frozenset(field.name for field in fields(ForwardSettings))


def split_options(
    name: str, options: Mapping[str, Any], promoted: Collection[str] = ()
) -> tuple[ExportSettings, dict[str, Any]]:
    """Settings every exporter has, and what is left for the exporter itself.

    Args:
        name: Name of the exporter block, for error messages.
        options: All keys of the block but `type`.
        promoted: Names of promoted fields, which `stack` may use.

    Raises:
        ConfigError: A shared key has a wrong value.
    """
    common = {key: value for key, value in options.items() if key in _KEYS}
    settings = read_options(ExportSettings, common, f"exporters.{name}")
    _check_names(name, settings, promoted)
    return settings, {key: value for key, value in options.items() if key not in _KEYS}


def split_forward_options(
    name: str, options: Mapping[str, Any]
) -> tuple[ForwardSettings, dict[str, Any]]:
    """Settings every forwarder has, and what is left for the forwarder itself.

    Raises:
        ConfigError: A shared key has a wrong value.
    """
    common = {key: value for key, value in options.items() if key in _FORWARD_KEYS}
    settings = read_options(ForwardSettings, common, f"exporters.{name}")
    for word in settings.signals:
        if word not in _SIGNALS:
            raise ConfigError(
                f"exporters.{name}: signals: {unknown_name('signal', word, _SIGNALS)}"
            )
    return settings, {key: value for key, value in options.items() if key not in _FORWARD_KEYS}


def _check_names(name: str, settings: ExportSettings, promoted: Collection[str]) -> None:
    where = f"exporters.{name}"
    for field in settings.stack:
        try:
            check_field(field, promoted)
        except UsageError as error:
            raise ConfigError(f"{where}: stack: {error}") from error
        if role_of(field) is Role.PART:
            raise ConfigError(f"{where}: stack: {field} cannot be a frame of pushed profiles")
    for key, given, known in (
        ("measures", settings.measures, MEASURE_BY_NAME),
        ("labels", settings.labels, SERIES_LABELS),
    ):
        for word in given:
            if word not in known:
                raise ConfigError(f"{where}: {key}: {unknown_name(key[:-1], word, known)}")
    for key, values in (("stack", settings.stack), ("measures", settings.measures)):
        if not values:
            raise ConfigError(f"{where}: {key}: needs at least one entry")
    if settings.max_window < settings.window:
        raise ConfigError(f"{where}: max_window: must not be smaller than window")
