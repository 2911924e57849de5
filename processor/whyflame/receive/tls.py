"""Certificates of the OTLP ports, taken up again when their files change."""

from __future__ import annotations

import logging
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc

from whyflame.errors import ConfigError

if TYPE_CHECKING:
    from whyflame.config import TlsConfig

__all__ = ["CertificateWatch", "grpc_credentials", "ssl_context"]

_LOG = logging.getLogger(__name__)


class CertificateWatch:
    """Notices that certificate files were replaced."""

    def __init__(self, tls: TlsConfig) -> None:
        self._paths = [
            Path(name) for name in (tls.cert_file, tls.key_file, tls.client_ca_file) if name
        ]
        self._seen = self._stamps()

    def has_changed(self) -> bool:
        """True once after each change."""
        stamps = self._stamps()
        if stamps == self._seen or None in stamps:
            return False
        self._seen = stamps
        return True

    def _stamps(self) -> list[tuple[int, int] | None]:
        stamps: list[tuple[int, int] | None] = []
        for path in self._paths:
            try:
                status = path.stat()
            except OSError:
                stamps.append(None)
            else:
                stamps.append((status.st_mtime_ns, status.st_ino))
        return stamps


def grpc_credentials(tls: TlsConfig) -> grpc.ServerCredentials:
    """Credentials that follow the files.

    Raises:
        ConfigError: A file cannot be read.
    """
    watch = CertificateWatch(tls)

    def fetch() -> Any:
        if not watch.has_changed():
            return None
        try:
            return _grpc_configuration(tls)
        except ConfigError as error:
            _LOG.warning("%s; the certificate known before stays in use", error)
            return None

    return grpc.dynamic_ssl_server_credentials(
        _grpc_configuration(tls), fetch, require_client_authentication=bool(tls.client_ca_file)
    )


def ssl_context(tls: TlsConfig) -> ssl.SSLContext:
    """Context of an HTTP port that follows the files: each new connection has what they hold then.

    Raises:
        ConfigError: A file cannot be read or is no certificate.
    """
    watch = CertificateWatch(tls)
    context = current = _load_context(tls)

    def follow(connection: ssl.SSLObject, _name: str | None, _: ssl.SSLContext) -> None:
        # Called at the beginning of every handshake, with or without a server name.
        nonlocal current
        if watch.has_changed():
            try:
                current = _load_context(tls)
            except ConfigError as error:
                _LOG.warning("%s; the certificate known before stays in use", error)
        if current is not context:
            connection.context = current

    context.sni_callback = follow
    return context


def _load_context(tls: TlsConfig) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(tls.cert_file, tls.key_file)
    except OSError as error:
        raise ConfigError(f"cannot use {tls.cert_file} and {tls.key_file}: {error}") from error
    if tls.client_ca_file:
        # A resumed session would not show its certificate again.
        context.options |= ssl.OP_NO_TICKET
        context.num_tickets = 0
        context.verify_mode = ssl.CERT_REQUIRED
        try:
            context.load_verify_locations(tls.client_ca_file)
        except OSError as error:
            raise ConfigError(f"cannot use {tls.client_ca_file}: {error}") from error
    return context


def _grpc_configuration(tls: TlsConfig) -> Any:
    try:
        pair = (Path(tls.key_file).read_bytes(), Path(tls.cert_file).read_bytes())
        roots = Path(tls.client_ca_file).read_bytes() if tls.client_ca_file else None
    except OSError as error:
        raise ConfigError(f"cannot read a TLS file: {error}") from error
    return grpc.ssl_server_certificate_configuration([pair], root_certificates=roots)
