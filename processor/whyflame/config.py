"""Configuration: one YAML file, frozen dataclasses with defaults, every key documented.

`Config` is what users write. The only module that reads files and the environment. Durations are
seconds, sizes bytes; in YAML both may carry units ("30s", "64MiB"). Secrets come from `*_file` keys
or `${env:NAME}` references, never from plain values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = [
    "AuthConfig",
    "Config",
    "ContentConfig",
    "ExporterConfig",
    "HttpConfig",
    "JournalConfig",
    "OtlpConfig",
    "PricesConfig",
    "SegmentConfig",
    "SessionConfig",
    "SettleConfig",
    "StoreConfig",
    "TlsConfig",
    "ViewConfig",
]

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def _doc(default: Any, doc: str, kind: str = "") -> Any:
    """A field with its documentation; `kind` is "duration", "bytes", "secret_file" or ""."""
    if isinstance(default, (dict, list)):
        return field(
            default_factory=lambda: type(default)(default), metadata={"doc": doc, "kind": kind}
        )
    return field(default=default, metadata={"doc": doc, "kind": kind})


@dataclass(frozen=True, slots=True)
class TlsConfig:
    """Server certificate; empty means plain text."""

    cert_file: str = _doc("", "PEM certificate chain of the server")
    key_file: str = _doc("", "PEM private key of the server")
    client_ca_file: str = _doc("", "PEM CA that client certificates must chain to (mTLS)")


@dataclass(frozen=True, slots=True)
class AuthConfig:
    """Bearer tokens; an empty file name means no authentication."""

    bearer_tokens_file: str = _doc(
        "",
        "file with one token (or sha256:<hex> of one) a line; any of them is accepted",
        "secret_file",
    )


@dataclass(frozen=True, slots=True)
class OtlpConfig:
    """OTLP receivers."""

    grpc: str = _doc("127.0.0.1:4317", "host:port of OTLP/gRPC")
    http: str = _doc("127.0.0.1:4318", "host:port of OTLP/HTTP")
    max_request_bytes: int = _doc(64 * MIB, "largest request, before and after inflating", "bytes")
    max_pending_bytes: int = _doc(
        256 * MIB,
        "bytes journalled but not yet indexed above which senders are asked to wait",
        "bytes",
    )
    max_inflight_bytes: int = _doc(
        256 * MIB, "bytes of requests being handled above which senders are asked to wait", "bytes"
    )
    processes: int = _doc(1, "receiver processes sharing the ports")
    max_connection_age: float = _doc(
        600.0, "close gRPC connections after this long, so that clients rebalance", "duration"
    )
    tls: TlsConfig = field(default_factory=TlsConfig, metadata={"doc": "TLS of both OTLP ports"})
    auth: AuthConfig = field(default_factory=AuthConfig, metadata={"doc": "who may send"})


@dataclass(frozen=True, slots=True)
class HttpConfig:
    """Query API, page, metrics, health."""

    listen: str = _doc("127.0.0.1:4319", "host:port")
    tls: TlsConfig = field(default_factory=TlsConfig, metadata={"doc": "TLS of this port"})
    auth: AuthConfig = field(default_factory=AuthConfig, metadata={"doc": "who may read"})


@dataclass(frozen=True, slots=True)
class JournalConfig:
    """Requests as received, until they are indexed."""

    segment_bytes: int = _doc(64 * MIB, "size at which a segment file is sealed", "bytes")
    retention: float = _doc(
        0.0, "keep indexed segments this long (unredacted); 0 deletes them", "duration"
    )
    max_bytes: int = _doc(8 * GIB, "keep at most this much of kept segments", "bytes")


@dataclass(frozen=True, slots=True)
class StoreConfig:
    """DuckDB."""

    memory_limit: int = _doc(
        0, "DuckDB memory limit; 0 derives it from the cgroup or 512 MiB", "bytes"
    )
    threads: int = _doc(2, "DuckDB threads for queries")
    commit_rows: int = _doc(8192, "rows after which the indexer commits")
    commit_interval: float = _doc(
        0.25, "longest time between commits while data arrives", "duration"
    )
    retention: float = _doc(0.0, "forget operations older than this; 0 keeps all", "duration")


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """Sessions and runs."""

    gap: float = _doc(4 * 3600.0, "a longer silence starts a new run of the session", "duration")


@dataclass(frozen=True, slots=True)
class SettleConfig:
    """When a run is settled, and rules about outcomes."""

    idle: float = _doc(30.0, "settle a run that has been quiet this long", "duration")
    max_hold: float = _doc(300.0, "settle a span at this age even if its run goes on", "duration")
    interval: float = _doc(5.0, "how often to look for runs to settle", "duration")
    outcome_attributes: list[str] = _doc(
        ["whyflame.outcome", "gen_ai.evaluation.score.label", "outcome"],
        "attributes that state the outcome of a run, first found wins",
    )
    wait_frames: bool = _doc(False, "show waiting for a person between turns as `wait for user`")


@dataclass(frozen=True, slots=True)
class SegmentConfig:
    """Segmentation."""

    segmenter: str = _doc("auto", "auto, recurrence, rules, llm, marks or an entry point's name")
    interval: float = _doc(15.0, "how often changed runs are segmented", "duration")
    granularity: float = _doc(5.0, "expected steps of an innermost interval")
    names_file: str = _doc("", "YAML with verbs, synonyms and object aliases to add")
    options: dict[str, Any] = _doc({}, "options of the chosen segmenter")


@dataclass(frozen=True, slots=True)
class ContentConfig:
    """What is kept of prompts, arguments and results."""

    mode: str = _doc("features", "features, excerpt or none")
    services: dict[str, str] = _doc({}, "mode by service name")


@dataclass(frozen=True, slots=True)
class PricesConfig:
    """Prices for calls whose producer reports no cost."""

    file: str = _doc("", "YAML with own prices, looked up before the shipped ones")
    enabled: bool = _doc(True, "price calls at all")


@dataclass(frozen=True, slots=True)
class ViewConfig:
    """A named question."""

    stack: list[str] = _doc(["agent", "path", "leaf"], "fields, outermost first")
    measure: str = _doc("tokens", "what width means")
    where: list[str] = _doc([], "filters, field=value, field!=value or field=~regex")


@dataclass(frozen=True, slots=True)
class ExporterConfig:
    """One configured exporter; `options` are the exporter's own, checked by it."""

    type: str = _doc("", "entry-point name, for example pyroscope")
    options: dict[str, Any] = _doc({}, "every other key of the block")


@dataclass(frozen=True, slots=True)
class Config:
    """The whole file."""

    data_dir: str = _doc("", "where journal and store live; empty: the user's state directory")
    otlp: OtlpConfig = field(default_factory=OtlpConfig, metadata={"doc": "receivers"})
    http: HttpConfig = field(default_factory=HttpConfig, metadata={"doc": "API, page, metrics"})
    journal: JournalConfig = field(default_factory=JournalConfig, metadata={"doc": "durable log"})
    store: StoreConfig = field(default_factory=StoreConfig, metadata={"doc": "DuckDB store"})
    session: SessionConfig = field(
        default_factory=SessionConfig, metadata={"doc": "sessions and runs"}
    )
    settle: SettleConfig = field(default_factory=SettleConfig, metadata={"doc": "settling"})
    segment: SegmentConfig = field(default_factory=SegmentConfig, metadata={"doc": "segmentation"})
    content: ContentConfig = field(
        default_factory=ContentConfig, metadata={"doc": "content privacy"}
    )
    prices: PricesConfig = field(default_factory=PricesConfig, metadata={"doc": "pricing"})
    fields: dict[str, str] = _doc({}, "promoted fields, name: resource.KEY or span.KEY")
    views: dict[str, ViewConfig] = _doc({}, "views to add or override")
    exporters: dict[str, ExporterConfig] = _doc({}, "exporters by name")


def default_data_dir(environment: dict[str, str], home: Path) -> Path:
    """`$XDG_STATE_HOME/whyflame`, else `~/.local/state/whyflame`."""
    base = environment.get("XDG_STATE_HOME")
    return (Path(base) if base else home / ".local" / "state") / "whyflame"
