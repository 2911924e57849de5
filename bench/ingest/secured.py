"""TLS and a bearer token for benchmarks: a certificate of their own, made by the openssl command."""

from __future__ import annotations

import secrets
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import grpc

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Secured"]


@dataclass(slots=True)
class Secured:
    """What a server and its clients need to speak securely; nothing of it when not asked for.

    Attributes:
        settings: The block `otlp` of the server's configuration.
        credentials: For TLS channels; None sends in the clear. token: "" sends none.
    """

    settings: dict[str, Any] = field(default_factory=dict)
    credentials: grpc.ChannelCredentials | None = None
    token: str = ""

    @classmethod
    def make(cls, folder: Path, *, tls: bool, token: bool) -> Secured:
        """A new certificate and a new token in files of the folder."""
        made = cls()
        if tls:
            cert, key = folder / "cert.pem", folder / "key.pem"
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                 "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
                 "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)],
                check=True, capture_output=True,
            )  # fmt: skip
            made.settings["tls"] = {"cert_file": str(cert), "key_file": str(key)}
            made.credentials = grpc.ssl_channel_credentials(cert.read_bytes())
        if token:
            made.token = secrets.token_urlsafe(24)
            file = folder / "tokens"
            file.write_text(f"{made.token}\n")
            file.chmod(0o600)
            made.settings["auth"] = {"bearer_tokens_file": str(file)}
        return made
