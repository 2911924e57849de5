"""Limits and flavours of the double; defaults are those of a Pyroscope without configuration."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

MIB = 1 << 20


class Flavour(StrEnum):
    """Which server is played."""

    V1_21 = "v1.21"
    V2_0 = "v2.0"
    V2_2 = "v2.2"

    @property
    def is_v1(self) -> bool:
        """Sanitises label names, counts active series, joins profiles by millisecond."""
        return self is Flavour.V1_21

    @property
    def keeps_trace_id_in_samples(self) -> bool:
        """Since 2.1 a `trace_id` label makes no series of its own."""
        return self is Flavour.V2_2

    @property
    def ingest_shows_limits(self) -> bool:
        """Since 2.2 `/ingest` answers 429 for limits; 422 before."""
        return self is Flavour.V2_2


@dataclass(frozen=True, slots=True)
class Limits:
    """Per-tenant limits; sizes in bytes, times in seconds, 0 switches a time limit off."""

    rate_bytes_per_second: int = 4 * MIB
    burst_bytes: int = 2 * MIB
    profile_bytes: int = 4 * MIB
    request_bytes: int = 256 * MIB
    samples: int = 16_000
    sample_labels: int = 100
    depth: int = 1000
    string_bytes: int = 65_535
    label_names: int = 30
    label_name_bytes: int = 1024
    label_value_bytes: int = 2048
    reject_older_seconds: int = 3600
    reject_newer_seconds: int = 600
    active_series: int = 5000
    multitenancy: bool = False
