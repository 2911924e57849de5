"""Files that hold OTLP requests.

`.binpb` (one request), `.json` (one or a list), `.jsonl` (one a line), `.wfj` (a kept journal
segment), each also gzipped.

The signal is what the content says (JSON keys), else what the file's name says (`traces`, `logs`,
`metrics`), else what the protobuf parses as.
"""

from __future__ import annotations

import gzip
import json
import logging
import re
import zlib
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from whyflame.errors import PermanentError
from whyflame.journal import Encoding, Signal
from whyflame.journal.inspect import scan_segment
from whyflame.journal.otlp_json import content_to_protobuf, request_class

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import BinaryIO

__all__ = ["read_captures"]

_LOG = logging.getLogger(__name__)
_KIND = re.compile(r"\.(binpb|json|jsonl|ndjson|wfj)(\.gz)?$")
_NAMED = re.compile(r"(?<![a-z])(trace|log|metric)s(?![a-z])")
_KEYS = {
    "resourceSpans": Signal.TRACES,
    "resourceLogs": Signal.LOGS,
    "resourceMetrics": Signal.METRICS,
}
_MAX_REQUEST_BYTES = 256 << 20


def read_captures(paths: Iterable[Path]) -> Iterator[tuple[str, bytes]]:
    """(signal, protobuf bytes) of every request; directories in sorted order.

    In directories, JSON files that are no OTLP are passed over; named ones are an error.

    Raises:
        PermanentError: A file cannot be read or is no capture; names the file and the reason.
    """
    for path in paths:
        if path.is_dir():
            for file in sorted(found for found in path.rglob("*") if _KIND.search(found.name)):
                yield from _read_file(file, is_named=False)
        else:
            yield from _read_file(path, is_named=True)


def _read_file(path: Path, *, is_named: bool) -> Iterator[tuple[str, bytes]]:
    kind = _KIND.search(path.name)
    if kind is None and not path.exists():
        raise PermanentError(f"{path}: No such file or directory")
    if kind is None:
        raise PermanentError(
            f"{path}: expected .binpb, .json, .jsonl or .wfj, or one of them with .gz"
        )
    try:
        with _open(path) as file:
            match kind[1]:
                case "binpb":
                    yield _read_protobuf(path, _read_all(path, file))
                case "json":
                    yield from _read_json(path, _read_all(path, file), is_named=is_named)
                case "wfj":
                    yield from _read_segment(path, _read_all(path, file))
                case _:
                    yield from _read_lines(path, file)
    except OSError as error:
        raise PermanentError(f"{path}: {error.strerror or error}") from error
    except (EOFError, zlib.error) as error:
        raise PermanentError(f"{path}: damaged gzip: {error}") from error


def _open(path: Path) -> BinaryIO:
    if path.name.endswith(".gz"):
        return gzip.open(path, "rb")  # type: ignore[return-value]
    return path.open("rb")


def _read_all(path: Path, file: BinaryIO) -> bytes:
    content = file.read(_MAX_REQUEST_BYTES + 1)
    if len(content) > _MAX_REQUEST_BYTES:
        raise PermanentError(f"{path}: larger than {_MAX_REQUEST_BYTES} bytes")
    return content


def _read_lines(path: Path, file: BinaryIO) -> Iterator[tuple[str, bytes]]:
    number = 0
    while line := file.readline(_MAX_REQUEST_BYTES + 1):
        number += 1
        if len(line) > _MAX_REQUEST_BYTES:
            raise PermanentError(f"{path}: line {number}: larger than {_MAX_REQUEST_BYTES} bytes")
        if line.strip():
            yield from _read_json(path, line, is_named=True, place=f" line {number}:")


def _read_json(
    path: Path, text: bytes, *, is_named: bool, place: str = ""
) -> Iterator[tuple[str, bytes]]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PermanentError(f"{path}:{place} not JSON ({error})") from error
    entries = content if isinstance(content, list) else [content]
    for entry in entries:
        signals = _signals(entry)
        if not signals and not is_named:
            _LOG.info("%s is no OTLP capture; passed over", path)
            return
        if not signals:
            raise PermanentError(f"{path}:{place} no OTLP request: none of {', '.join(_KEYS)}")
        for signal in signals:
            try:
                yield signal.label, content_to_protobuf(signal, entry)
            except PermanentError as error:
                raise PermanentError(f"{path}:{place} {error}", error.reason) from error


def _signals(entry: Any) -> list[Signal]:
    if not isinstance(entry, dict):
        return []
    return [signal for key, signal in _KEYS.items() if key in entry]


def _read_segment(path: Path, data: bytes) -> Iterator[tuple[str, bytes]]:
    for header, payload in scan_segment(data):
        if header.encoding is Encoding.JSON:
            yield from _read_json(path, payload, is_named=True)
        else:
            yield header.signal.label, payload


def _read_protobuf(path: Path, body: bytes) -> tuple[str, bytes]:
    named = _NAMED.search(path.name.lower())
    signal = Signal[f"{named[1].upper()}S"] if named else _detect(body)
    if signal is None:
        raise PermanentError(
            f"{path}: cannot tell the signal; put traces, logs or metrics into the file's name"
        )
    try:
        request_class(signal).FromString(body)
    except DecodeError as error:
        raise PermanentError(f"{path}: not an OTLP {signal.label} request", "malformed") from error
    return signal.label, body


def _detect(body: bytes) -> Signal | None:
    """Signals share their outer layout; the records inside differ in what can be set."""
    for signal, is_like in _TRAITS.items():
        try:
            message = request_class(signal).FromString(body)
        except DecodeError:
            continue
        if is_like(message):
            return signal
    return None


def _is_traces(message: Any) -> bool:
    return any(
        span.trace_id and span.span_id
        for group in message.resource_spans
        for scope in group.scope_spans
        for span in scope.spans
    )


def _is_logs(message: Any) -> bool:
    return any(
        record.time_unix_nano or record.observed_time_unix_nano
        for group in message.resource_logs
        for scope in group.scope_logs
        for record in scope.log_records
    )


def _is_metrics(message: Any) -> bool:
    return any(
        metric.name and metric.WhichOneof("data")
        for group in message.resource_metrics
        for scope in group.scope_metrics
        for metric in scope.metrics
    )


_TRAITS = {Signal.TRACES: _is_traces, Signal.METRICS: _is_metrics, Signal.LOGS: _is_logs}
