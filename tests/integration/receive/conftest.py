"""A real receiver on free ports, and what it has journalled."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import grpc
import pytest

from whyflame.config import AuthConfig, Config, JournalConfig, OtlpConfig, TlsConfig
from whyflame.journal import Frame, JournalReader
from whyflame.journal.otlp_json import request_class
from whyflame.receive import Addresses, Receiver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

EXPORTS = {
    "traces": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "logs": "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    "metrics": "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
}
OPTIONS = [("grpc.max_send_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]


@dataclass
class Running:
    """A receiver that serves.

    Attributes:
        receiver: The object under test.
        addresses: Where it listens.
        journal: Its journal directory.
    """

    receiver: Receiver
    addresses: Addresses
    journal: Path
    channels: list[grpc.Channel] = field(default_factory=list)

    def channel(self) -> grpc.Channel:
        """A plain-text channel of its own connection."""
        self.channels.append(grpc.insecure_channel(self.addresses.grpc, OPTIONS))
        return self.channels[-1]

    def export(self, signal: str = "traces") -> Any:
        """The raw-bytes call of a signal."""
        return self.channel().unary_unary(EXPORTS[signal])

    def url(self, signal: str = "traces") -> str:
        """Where to POST a signal."""
        return f"http://{self.addresses.http}/v1/{signal}"

    def frames(self) -> list[Frame]:
        """Everything journalled so far."""
        reader = JournalReader(self.journal / "r0")
        frames = reader.read(1 << 30)
        reader.close()
        return frames

    def close(self) -> None:
        """Stop everything."""
        for channel in self.channels:
            channel.close()
        self.receiver.close(2)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Start a receiver; keyword arguments are keys of the block `otlp`."""
    running: list[Running] = []

    def make(*, tls: TlsConfig | None = None, tokens_file: str = "", **otlp: Any) -> Running:
        settings = {"grpc": "127.0.0.1:0", "http": "127.0.0.1:0"} | otlp
        config = Config(
            otlp=OtlpConfig(
                tls=tls or TlsConfig(), auth=AuthConfig(bearer_tokens_file=tokens_file), **settings
            ),
            journal=JournalConfig(),
        )
        receiver = Receiver(config, tmp_path / "journal", "r0")
        running.append(Running(receiver, receiver.start(), tmp_path / "journal"))
        return running[-1]

    yield make
    for one in running:
        one.close()


@pytest.fixture
def running(start: Callable[..., Running]) -> Running:
    """A receiver with default settings."""
    return start()


@pytest.fixture
def make_body() -> Callable[..., bytes]:
    """A valid traces request of so many spans."""

    def make(spans: int = 1, name: str = "chat") -> bytes:
        from whyflame.journal import Signal

        message = request_class(Signal.TRACES)()
        scope = message.resource_spans.add().scope_spans.add()
        for number in range(spans):
            scope.spans.add(name=name, trace_id=bytes(16), span_id=number.to_bytes(8, "big"))
        return bytes(message.SerializeToString())

    return make
