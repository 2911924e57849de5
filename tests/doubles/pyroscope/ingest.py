"""The legacy `/ingest` route, as far as it shows why custom profiles do not belong there."""

from __future__ import annotations

import re
from email import message_from_bytes
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from google.protobuf.message import DecodeError

from tests.doubles.pyroscope.distributor import GZIP, Distributor, inflate
from tests.doubles.pyroscope.errors import Refusal
from tests.doubles.pyroscope.wire import Profile

if TYPE_CHECKING:
    from typing import Any

INGEST_PATHS = {"/ingest", "/pyroscope/ingest"}
MAX_BODY = 4 << 20
_NAME = re.compile(r"([^{}]+)(?:\{([^{}]*)\})?")
# Folded text: last word of the name -> (`__name__`, sample type, unit).
_TYPES = {
    "cpu": ("process_cpu", "cpu", "nanoseconds"),
    "wall": ("wall", "wall", "nanoseconds"),
    "alloc_objects": ("memory", "alloc_objects", "count"),
    "alloc_space": ("memory", "alloc_space", "bytes"),
    "inuse_objects": ("memory", "inuse_objects", "count"),
    "inuse_space": ("memory", "inuse_space", "bytes"),
    "goroutines": ("goroutines", "goroutines", "count"),
}

Reply = tuple[int, str, bytes]


def handle_ingest(
    distributor: Distributor, query: str, headers: dict[str, str], body: bytes
) -> Reply:
    """Status, content type and body of the answer."""
    options = {name: values[0] for name, values in parse_qs(query).items()}
    named = _NAME.fullmatch(options.get("name", ""))
    if named is None:
        return _text(400, "bad name")
    if len(body) > MAX_BODY:
        return _text(413, "request body too large")
    labels = [tuple(pair.split("=", 1)) for pair in (named[2] or "").split(",") if "=" in pair]
    try:
        name, profile = _read(options, named[1], headers, body)
        service = named[1].rsplit(".", 1)[0] if options.get("format") != "pprof" else named[1]
        pairs = [("__name__", name), *labels, ("service_name", service)]
        tenant = distributor.tenant(headers.get("x-scope-orgid"))
        distributor.push_profile(tenant, pairs, profile.SerializeToString())
    except Refusal as refusal:
        limited = refusal.code == "resource_exhausted"
        shown = limited and distributor.flavour.ingest_shows_limits
        return _text(429 if shown else 422, f"{refusal.code}: {refusal.message}")
    except DecodeError as error:
        return _text(422, str(error))
    return 200, "text/plain", b""


def _text(status: int, text: str) -> Reply:
    return status, "text/plain", text.encode()


def _read(
    options: dict[str, str], name: str, headers: dict[str, str], body: bytes
) -> tuple[str, Any]:
    kind = headers.get("content-type", "")
    if kind.startswith("multipart/form-data"):
        body = _part(kind, body)
    elif options.get("format") != "pprof":
        return _folded(options, name, body)
    profile = Profile.FromString(inflate(body, MAX_BODY) if body.startswith(GZIP) else body)
    profile.time_nanos = 0
    names = [profile.string_table[item.type].decode() for item in profile.sample_type]
    return ("wall" if "wall" in names else names[-1]), profile


def _part(kind: str, body: bytes) -> bytes:
    message = message_from_bytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
    parts = {
        str(part.get_param("name", header="content-disposition")): part.get_payload(decode=True)
        for part in message.get_payload()
        if not isinstance(part, str)
    }
    if "prev_profile" in parts:
        raise Refusal("invalid_argument", "prev_profile is not supported")
    content = parts["profile"]
    assert isinstance(content, bytes)
    return content


def _folded(options: dict[str, str], name: str, body: bytes) -> tuple[str, Any]:
    word = name.rsplit(".", 1)[1] if "." in name else "cpu"
    if word not in _TYPES:
        raise Refusal("invalid_argument", f"unknown profile type: {word}")
    metric, kind, unit = _TYPES[word]
    scale = 10**9 // int(options.get("sampleRate", "100")) if word == "cpu" else 1
    profile = Profile(period=1)
    strings: dict[str, int] = {"": 0}

    def index(text: str) -> int:
        return strings.setdefault(text, len(strings))

    profile.sample_type.add(type=index(kind), unit=index(unit))
    profile.period_type.type, profile.period_type.unit = index(kind), index(unit)
    for line in body.decode().splitlines():
        stack, _, value = line.rpartition(" ")
        sample = profile.sample.add(value=[int(value) * scale])
        for frame in reversed(stack.split(";")):
            number = len(profile.location) + 1
            profile.function.add(id=number, name=index(frame))
            profile.location.add(id=number).line.add(function_id=number)
            sample.location_id.append(number)
    profile.string_table.extend(text.encode() for text in strings)
    return metric, profile
