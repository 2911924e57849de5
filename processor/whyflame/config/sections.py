"""What users write: frozen dataclasses with defaults, one a block of the configuration file.

Durations are seconds, sizes bytes; in YAML both may carry units ("30s", "64MiB"). Secrets come from
`*_file` keys or `${env:NAME}` references, never from plain values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from whyflame.config.asking import ViewConfig  # noqa: TC001 - `reading` looks at the types
from whyflame.config.fields import GIB, MIB, section, setting

__all__ = [
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
]


CONTENT_MODES = ("features", "excerpt", "none")


@dataclass(frozen=True, slots=True)
class TlsConfig:
    """Server certificate; empty means plain text."""

    cert_file: str = setting("", "PEM certificate chain of the server", "file")
    key_file: str = setting("", "PEM private key of the server", "file")
    client_ca_file: str = setting(
        "", "PEM CA that client certificates must chain to (mTLS)", "file"
    )


@dataclass(frozen=True, slots=True)
class AuthConfig:
    """Bearer tokens and tenants; an empty file name means no authentication."""

    bearer_tokens_file: str = setting(
        "",
        "file with one token (or sha256:<hex> of one) a line, and behind a blank the tenant of "
        "its bearer; any of them is accepted",
        "secret_file",
    )
    tenant_header: str = setting(
        "",
        "header that names the tenant, for example X-Scope-OrgID, set by a proxy you trust; empty: "
        "none is looked at",
    )


@dataclass(frozen=True, slots=True)
class OtlpConfig:
    """OTLP receivers."""

    grpc: str = setting("127.0.0.1:4317", "host:port of OTLP/gRPC", "address")
    http: str = setting("127.0.0.1:4318", "host:port of OTLP/HTTP", "address")
    allowed_hosts: list[str] = setting(
        [],
        "names under which OTLP/HTTP is sent to, beside localhost and addresses; on a loopback "
        "address others are refused (but for the names that containers have for their machine), "
        "elsewhere any name is taken while this list is empty",
    )
    http_prefix: str = setting(
        "", "path before /v1/traces and /v1/logs, where a proxy in front passes it on"
    )
    max_request_bytes: int = setting(
        64 * MIB, "largest request, before and after inflating", "bytes"
    )
    max_pending_bytes: int = setting(
        2 * GIB,
        "bytes journalled but not yet indexed above which senders are asked to wait",
        "bytes",
    )
    max_inflight_bytes: int = setting(
        256 * MIB, "bytes of requests being handled above which senders are asked to wait", "bytes"
    )
    processes: int = setting(1, "receiver processes sharing the ports", minimum=1)
    max_connection_age: float = setting(
        600.0, "close gRPC connections after this long, so that clients rebalance", "duration"
    )
    tls: TlsConfig = section(TlsConfig, "TLS of both OTLP ports")
    auth: AuthConfig = section(AuthConfig, "who may send")


@dataclass(frozen=True, slots=True)
class HttpConfig:
    """Query API, page, metrics, health."""

    listen: str = setting("127.0.0.1:4319", "host:port", "address")
    allowed_hosts: list[str] = setting(
        [],
        "names under which it may be asked, beside localhost and addresses; on a loopback address "
        "others are refused, elsewhere any name is taken while this list is empty",
    )
    tls: TlsConfig = section(TlsConfig, "TLS of this port")
    auth: AuthConfig = section(AuthConfig, "who may read")
    forget: AuthConfig = section(AuthConfig, "who may forget; as `auth` when empty")
    trace_links: dict[str, str] = setting(
        {},
        "links from operations to other tools, name: address with {trace_id}, {span_id}, {session}",
    )


@dataclass(frozen=True, slots=True)
class QueryConfig:
    """Bounds of every question asked over HTTP: by Grafana, the page, the API."""

    timeout: float = setting(30.0, "longest time for one answer", "duration")
    concurrency: int = setting(4, "questions answered at the same time", minimum=1)
    max_stacks: int = setting(
        1_000_000, "stacks or rows that one question may give; more are refused", minimum=1
    )
    max_length: float = setting(
        0.0, "longest time range that Grafana may ask for; 0 sets no limit", "duration"
    )
    max_lookback: float = setting(
        0.0, "how far back Grafana's ranges reach; 0 sets no limit", "duration"
    )
    max_label_values: int = setting(
        1000, "values offered for one label, the newest ones", minimum=1
    )


@dataclass(frozen=True, slots=True)
class JournalConfig:
    """Requests as received, until they are indexed."""

    segment_bytes: int = setting(64 * MIB, "size at which a segment file is sealed", "bytes")
    retention: float = setting(
        0.0, "keep indexed segments this long (unredacted); 0 deletes them", "duration"
    )
    max_bytes: int = setting(8 * GIB, "keep at most this much of kept segments", "bytes")


@dataclass(frozen=True, slots=True)
class IndexConfig:
    """Bounds of what one span puts into the store; what is cut is counted in coverage."""

    max_attributes: int = setting(
        10_000, "attributes of one span; of a longer one no messages are read", minimum=16
    )
    max_text: int = setting(500, "characters of one name or id", minimum=64)


@dataclass(frozen=True, slots=True)
class StoreConfig:
    """DuckDB."""

    memory_limit: int = setting(
        0, "DuckDB memory limit; 0 derives it from the cgroup or 512 MiB", "bytes"
    )
    threads: int = setting(2, "DuckDB threads for queries", minimum=1)
    retention: float = setting(0.0, "forget traces that ended longer ago; 0 keeps all", "duration")
    max_bytes: int = setting(
        0, "forget the oldest traces while the store uses more; 0 sets no limit", "bytes"
    )


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """Sessions and runs."""

    gap: float = setting(4 * 3600.0, "a longer silence starts a new run of the session", "duration")


@dataclass(frozen=True, slots=True)
class SettleConfig:
    """When a run is settled, and rules about outcomes."""

    idle: float = setting(30.0, "settle a run that has been quiet this long", "duration")
    max_hold: float = setting(
        300.0, "settle a span at this age even if its run goes on", "duration"
    )
    worker_spans: int = setting(
        8192,
        "a pass over at least so many spans runs in a process of its own; 0: none does",
        minimum=0,
    )
    outcome_attributes: list[str] = setting(
        [], "further span attributes that state the outcome of a run, before the known ones"
    )


@dataclass(frozen=True, slots=True)
class SegmentConfig:
    """Segmentation."""

    segmenter: str = setting("auto", "auto, recurrence, rules, llm, marks or an entry point's name")
    interval: float = setting(
        15.0, "how often runs that are ready are settled and segmented", "duration"
    )
    granularity: float = setting(5.0, "expected steps of an innermost interval", minimum=1)
    names_file: str = setting("", "YAML with verbs, synonyms and object aliases to add", "file")
    options: dict[str, Any] = setting({}, "options of the chosen segmenter")


@dataclass(frozen=True, slots=True)
class ContentConfig:
    """What is kept of prompts, arguments and results."""

    mode: str = setting("features", "features, excerpt or none", choices=CONTENT_MODES)
    services: dict[str, str] = setting({}, "mode by service name", choices=CONTENT_MODES)


@dataclass(frozen=True, slots=True)
class PricesConfig:
    """Prices for calls whose producer reports no cost."""

    file: str = setting("", "YAML with own prices, looked up before the shipped ones", "file")
    enabled: bool = setting(default=True, doc="price calls at all")


@dataclass(frozen=True, slots=True)
class ExporterConfig:
    """One configured exporter; `options` are the exporter's own, checked by it."""

    type: str = setting("", "entry-point name, for example pyroscope")
    options: dict[str, Any] = setting({}, "every other key of the block")


@dataclass(frozen=True, slots=True)
class Config:
    """The whole file."""

    data_dir: str = setting("", "where journal and store live; empty: the user's state directory")
    otlp: OtlpConfig = section(OtlpConfig, "receivers")
    http: HttpConfig = section(HttpConfig, "API, page, metrics")
    query: QueryConfig = section(QueryConfig, "bounds of questions over HTTP")
    journal: JournalConfig = section(JournalConfig, "durable log")
    index: IndexConfig = section(IndexConfig, "bounds of spans")
    store: StoreConfig = section(StoreConfig, "DuckDB store")
    session: SessionConfig = section(SessionConfig, "sessions and runs")
    settle: SettleConfig = section(SettleConfig, "settling")
    segment: SegmentConfig = section(SegmentConfig, "segmentation")
    content: ContentConfig = section(ContentConfig, "content privacy")
    prices: PricesConfig = section(PricesConfig, "pricing")
    fields: dict[str, str] = setting({}, "promoted fields, name: resource.KEY or span.KEY")
    views: dict[str, ViewConfig] = setting({}, "views to add or override")
    exporters: dict[str, ExporterConfig] = setting({}, "exporters by name")

    @property
    def trace_links(self) -> dict[str, str]:
        """Links from operations to other tools, as `AskingConfig` has them."""
        return self.http.trace_links
