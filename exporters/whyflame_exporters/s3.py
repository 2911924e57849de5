"""A bucket of any S3-compatible store: PUT of whole objects, signed with AWS Signature Version 4."""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from whyflame.config import read_secret
from whyflame.config.fields import section, setting
from whyflame.errors import ConfigError
from whyflame.export import PausedError, UnavailableError
from whyflame_exporters.answers import Answer, answer_error
from whyflame_exporters.http import Endpoint, EndpointOptions, TlsOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import PurePath

__all__ = ["Bucket", "Credentials", "S3Options", "sign"]

_ALGORITHM = "AWS4-HMAC-SHA256"
_UNRESERVED = "/-_.~"
_CODE = re.compile(rb"<Code>(\w+)</Code>")
# What S3 refuses with 400 or 409 though the object is sound: keys and settings, and bad moments.
_PAUSING = {
    "ExpiredToken": "unauthorized",
    "InvalidToken": "unauthorized",
    "TokenRefreshRequired": "unauthorized",
    "AuthorizationHeaderMalformed": "wrong_address",
    "IllegalLocationConstraintException": "wrong_address",
}
_PASSING = {"RequestTimeout", "IncompleteBody", "OperationAborted", "ConditionalRequestConflict"}


@dataclass(frozen=True, slots=True)
class S3Options:
    """Where a bucket is, and whose."""

    bucket: str = setting("", "name of the bucket; it must exist")
    prefix: str = setting("", "what every object's name begins with")
    region: str = setting("us-east-1", "region of the bucket, part of every signature")
    endpoint: str = setting("", "address of a store other than AWS, as http://minio:9000")
    access_key_id: str = setting("", "name of the key")
    secret_access_key_file: str = setting("", "file with the key", "secret_file")
    secret_access_key: str = setting("", "the key, as ${env:NAME}")
    session_token_file: str = setting("", "file with the token of a temporary key", "secret_file")
    timeout: float = setting(10.0, "longest wait for an answer", "duration", minimum=0.1)
    tls: TlsOptions = section(TlsOptions, "TLS of https addresses")


@dataclass(frozen=True, slots=True)
class Credentials:
    """A key; `token` belongs to a temporary one."""

    key_id: str
    secret: str
    token: str = ""


class Bucket:
    """Puts objects into one bucket.

    Args:
        name: Name of the exporter block.
        options: Where and as whom.
        clock_ns: Now, in nanoseconds since the epoch; signatures are valid for 15 minutes.

    Raises:
        ConfigError: Something is missing or no address.
    """

    def __init__(self, name: str, options: S3Options, clock_ns: Callable[[], int]) -> None:
        where = f"exporters.{name}: s3"
        if not options.bucket or not options.access_key_id:
            raise ConfigError(f"{where}: needs bucket and access_key_id")
        if bool(options.secret_access_key_file) == bool(options.secret_access_key):
            raise ConfigError(f"{where}: needs secret_access_key_file or secret_access_key")
        self._options = options
        self._clock_ns = clock_ns
        url = f"https://{options.bucket}.s3.{options.region}.amazonaws.com"
        if options.endpoint:
            url = f"{options.endpoint.rstrip('/')}/{quote(options.bucket)}"
        server = EndpointOptions(url=url, timeout=options.timeout, tls=options.tls)
        self._endpoint = Endpoint(name, server)
        self._url = urlsplit(url)

    def start(self) -> None:
        """Read certificates and secrets once, so that a mistake shows at start."""
        self._credentials()
        self._endpoint.start()

    def put(self, file: PurePath, body: bytes) -> None:
        """Write an object whole; writing it again changes nothing.

        Raises:
            PermanentError: The store refused it.
            TransientError: It may pass later.
        """
        key = f"{self._options.prefix}{file.as_posix()}"
        path = quote(f"/{key}", safe=_UNRESERVED)
        now = datetime.fromtimestamp(self._clock_ns() / 1e9, tz=UTC)
        headers = {
            "Host": self._url.netloc,
            "Content-Type": "application/octet-stream",
            "x-amz-content-sha256": hashlib.sha256(body).hexdigest(),
            "x-amz-date": now.strftime("%Y%m%dT%H%M%SZ"),
        }
        credentials = self._credentials()
        if credentials.token:
            headers["x-amz-security-token"] = credentials.token
        signed = sign("PUT", self._url.path + path, headers, credentials, self._options.region)
        headers["Authorization"] = signed
        error = _error(self._endpoint.request("PUT", path, body, headers))
        if error is not None:
            raise error

    def close(self) -> None:
        """Close the connections."""
        self._endpoint.close()

    def _credentials(self) -> Credentials:
        """Read anew for every object, so that a changed file takes effect."""
        options = self._options
        file, token = options.secret_access_key_file, options.session_token_file
        return Credentials(
            options.access_key_id,
            read_secret(file) if file else options.secret_access_key,
            read_secret(token) if token else "",
        )


def _error(answer: Answer) -> Exception | None:
    """What an answer of S3 means: its code says more than the status."""
    found = _CODE.search(answer.body)
    code = found[1].decode() if found else ""
    if code in _PAUSING:
        return PausedError(f"HTTP {answer.status}: {code}", _PAUSING[code])
    if code in _PASSING:
        return UnavailableError(f"HTTP {answer.status}: {code}")
    return answer_error(answer)


def sign(
    method: str, path: str, headers: Mapping[str, str], credentials: Credentials, region: str
) -> str:
    """The `Authorization` header of a request to S3 without a query.

    Args:
        method: HTTP method. path: Encoded path.
        headers: All that are signed, `x-amz-date` and `x-amz-content-sha256` among them.
        credentials: The key. region: Of the bucket.
    """
    lower = {name.lower(): " ".join(value.split()) for name, value in headers.items()}
    names = ";".join(sorted(lower))
    lines = "".join(f"{name}:{lower[name]}\n" for name in sorted(lower))
    request = f"{method}\n{path}\n\n{lines}\n{names}\n{lower['x-amz-content-sha256']}"
    moment = lower["x-amz-date"]
    scope = f"{moment[:8]}/{region}/s3/aws4_request"
    digest = hashlib.sha256(request.encode()).hexdigest()
    key = f"AWS4{credentials.secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    text = f"{_ALGORITHM}\n{moment}\n{scope}\n{digest}"
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    return (
        f"{_ALGORITHM} Credential={credentials.key_id}/{scope},"
        f"SignedHeaders={names},Signature={signature}"
    )
