"""An S3 for tests: PUT of objects under one bucket, every signature computed anew from the wire."""

from __future__ import annotations

import hashlib
import hmac
import re
from datetime import UTC, datetime
from typing import Self
from urllib.parse import unquote

from tests.doubles.http import Handler, HttpServer

KEY_ID, SECRET, REGION = "AKIDEXAMPLE", "the-secret", "eu-central-1"
_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, ?"
    r"SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})"
)
_ERROR = "<Error><Code>{0}</Code></Error>"


class S3Double:
    """One bucket called `profiles`, on a free port of 127.0.0.1."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.puts = 0
        self.token: str | None = None
        self.faults: list[tuple[int, str]] = []
        self._server = HttpServer(_Handler, self)

    @property
    def url(self) -> str:
        return self._server.url

    def put(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, str]:
        """Status and error code of a request."""
        self.puts += 1
        if self.faults:
            return self.faults.pop(0)
        problem = self._check(path, headers, body)
        if problem:
            return 403, problem
        bucket, _, key = path.lstrip("/").partition("/")
        if bucket != "profiles":
            return 404, "NoSuchBucket"
        self.objects[unquote(key)] = body
        return 200, ""

    def _check(self, path: str, headers: dict[str, str], body: bytes) -> str | None:
        given = _AUTHORIZATION.fullmatch(headers.get("authorization", ""))
        if given is None:
            return "AccessDenied"
        key_id, day, region, names, signature = given.groups()
        moment = headers["x-amz-date"]
        when = datetime.strptime(moment, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        if abs((datetime.now(UTC) - when).total_seconds()) > 900 or moment[:8] != day:
            return "RequestTimeTooSkewed"
        if (
            key_id != KEY_ID
            or region != REGION
            or headers.get("x-amz-security-token") != self.token
        ):
            return "InvalidAccessKeyId"
        signed = names.split(";")
        everything = {name for name in headers if name == "host" or name.startswith("x-amz-")}
        if signed != sorted(signed) or not everything <= set(signed):
            return "AccessDenied"
        if hashlib.sha256(body).hexdigest() != headers["x-amz-content-sha256"]:
            return "XAmzContentSHA256Mismatch"
        canonical = ["PUT", path, "", *[f"{name}:{headers[name].strip()}" for name in signed]]
        canonical += ["", names, headers["x-amz-content-sha256"]]
        scope = [day, region, "s3", "aws4_request"]
        secret = ("AWS4" + SECRET).encode()
        for part in scope:
            secret = hmac.new(secret, part.encode(), hashlib.sha256).digest()
        hashed = hashlib.sha256("\n".join(canonical).encode()).hexdigest()
        text = "\n".join(["AWS4-HMAC-SHA256", moment, "/".join(scope), hashed])
        wanted = hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()
        return None if wanted == signature else "SignatureDoesNotMatch"

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()


class _Handler(Handler):
    def respond(self) -> None:
        status, code = self.double.put(self.path, self.lower_headers(), self.read_body())
        self.answer(status, _ERROR.format(code).encode() if code else b"")
