"""Connect unary over HTTP: one message in, one message or one error out, as protobuf or JSON."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any

from google.protobuf import json_format
from google.protobuf.message import DecodeError
from starlette.responses import Response

from whyflame.errors import QueryStopped, QueryTooLarge, TransientError, UsageError

if TYPE_CHECKING:
    from google.protobuf.message import Message
    from starlette.requests import Request

__all__ = ["ConnectError", "answer", "compressed", "error_answer", "read_message", "timeout_of"]

MAX_BODY_BYTES = 1 << 20
_WORTH_COMPRESSING = 1024
_GZIP = 31  # zlib's code for a gzip wrapping
_STATUS = {
    "canceled": 499,
    "deadline_exceeded": 504,
    "internal": 500,
    "invalid_argument": 400,
    "resource_exhausted": 429,
    "unauthenticated": 401,
    "unavailable": 503,
    "unimplemented": 501,
    "unknown": 500,
}
_CODECS = {"application/json": "json", "application/proto": "proto"}
_MAX_TIMEOUT_DIGITS = 10


class ConnectError(UsageError):
    """A refusal with a code of the Connect protocol."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def codec_of(request: Request) -> str | None:
    """`json` or `proto`; None for any other content type."""
    kind, _, rest = request.headers.get("content-type", "").partition(";")
    charset = rest.strip().lower().replace('"', "")
    if charset not in {"", "charset=utf-8"}:
        return None
    return _CODECS.get(kind.strip().lower())


async def read_message(request: Request, message: Message) -> None:
    """Fill the message from the body.

    Raises:
        ConnectError: Too large, an unknown compression, or not a message of this kind.
    """
    body = await _body(request)
    encoding = request.headers.get("content-encoding", "identity").lower()
    if encoding == "gzip":
        body = _inflated(body)
    elif encoding not in {"identity", ""}:
        raise ConnectError(
            "unimplemented", f"unknown compression {encoding!r}: supported encodings are gzip"
        )
    try:
        if codec_of(request) == "proto":
            message.ParseFromString(body)
        else:
            json_format.ParseDict(_object(body), message, ignore_unknown_fields=True)
    except (DecodeError, json_format.ParseError, ValueError, TypeError, RecursionError) as error:
        raise ConnectError("invalid_argument", f"the body is not a message: {error}") from error


def _object(body: bytes) -> dict[str, Any]:
    found = json.loads(body)
    if not isinstance(found, dict):
        raise TypeError("not a JSON object")
    return found


async def _body(request: Request) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY_BYTES:
            raise _too_large()
        parts.append(part)
    return b"".join(parts)


def _inflated(body: bytes) -> bytes:
    packed = zlib.decompressobj(_GZIP)
    try:
        data = packed.decompress(body, MAX_BODY_BYTES + 1)
    except zlib.error as error:
        raise ConnectError("invalid_argument", f"the body is not gzip: {error}") from error
    if len(data) > MAX_BODY_BYTES:
        raise _too_large()
    if not packed.eof:
        raise ConnectError("invalid_argument", "the gzip body is cut off")
    return data


def _too_large() -> ConnectError:
    return ConnectError("resource_exhausted", f"the request is larger than {MAX_BODY_BYTES} bytes")


def timeout_of(request: Request) -> float | None:
    """Seconds that the client waits (`Connect-Timeout-Ms`); None when it does not say.

    Raises:
        ConnectError: The header is no number.
    """
    text = request.headers.get("connect-timeout-ms")
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_TIMEOUT_DIGITS):
        raise ConnectError("invalid_argument", f"Connect-Timeout-Ms is {text!r}")
    return int(text) / 1000


def answer(request: Request, message: Message) -> Response:
    """The message in the codec of the request."""
    if codec_of(request) == "proto":
        body, media_type = message.SerializeToString(), "application/proto"
    else:
        body = json_format.MessageToJson(message, indent=None, ensure_ascii=False).encode()
        media_type = "application/json"
    return compressed(request, body, media_type)


def compressed(request: Request, body: bytes, media_type: str) -> Response:
    """A body, gzipped where that is wanted and worth it."""
    headers = {"Content-Type": media_type}
    if len(body) > _WORTH_COMPRESSING and _takes_gzip(request):
        packer = zlib.compressobj(1, zlib.DEFLATED, _GZIP)
        body = packer.compress(body) + packer.flush()
        headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    return Response(body, headers=headers)


def _takes_gzip(request: Request) -> bool:
    accepted = request.headers.get("accept-encoding", "").lower().split(",")
    return any(item.partition(";")[0].strip() == "gzip" for item in accepted)


def error_answer(error: Exception) -> Response:
    """The one place where errors get a code; JSON whatever the codec of the request."""
    code, message = _code(error), str(error)
    return Response(
        json.dumps({"code": code, "message": message}, ensure_ascii=False),
        status_code=_STATUS[code],
        media_type="application/json",
    )


def _code(error: Exception) -> str:
    match error:
        case ConnectError():
            return error.code
        case UsageError():
            return "invalid_argument"
        case QueryTooLarge():
            return "resource_exhausted"
        case QueryStopped():
            return "deadline_exceeded"
        case TransientError():
            return "unavailable"
        case _:
            return "internal"
