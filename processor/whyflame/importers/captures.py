"""Files that hold OTLP requests.

`.binpb` (one request), `.json` (one or a list), `.jsonl` (one a line), `.wfj` (a kept journal
segment), each also gzipped.

The signal is what the content says (JSON keys), else what the file's name says (`traces`, `logs`,
`metrics`), else what the protobuf parses as.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from whyflame.errors import PermanentError
from whyflame.importers.lines import MOST_BYTES, PassedOver, open_file
from whyflame.journal import Encoding, Signal
from whyflame.journal.inspect import scan_segment
from whyflame.journal.otlp_json import content_to_protobuf, request_class

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

__all__ = ["KIND", "is_capture", "read_capture"]

KIND = re.compile(r"\.(binpb|json|jsonl|ndjson|wfj)(\.gz)?$")
"""How names of files end that may hold something to import."""
_NAMED = re.compile(r"(?<![a-z])(trace|log|metric)s(?![a-z])")
_KEYS = {
    "resourceSpans": Signal.TRACES,
    "resourceLogs": Signal.LOGS,
    "resourceMetrics": Signal.METRICS,
}


def read_capture(path: Path) -> Iterator[tuple[str, bytes]]:
    """(signal, protobuf bytes) of every request of one file.

    Args:
        path: Ends in one of the kinds above.

    Raises:
        PassedOver: It is JSON and no OTLP.
        PermanentError: The file is damaged; names it and the reason.
    """
    kind = KIND.search(path.name)
    with open_file(path) as file:
        match kind[1] if kind else "":
            case "binpb":
                yield _read_protobuf(path, _read_all(path, file))
            case "json":
                yield from _read_json(path, _read_all(path, file))
            case "wfj":
                yield from _read_segment(path, _read_all(path, file))
            case _:
                yield from _read_lines(path, file)


def is_capture(entry: Any) -> bool:
    """Whether a JSON value is an OTLP request, or a list that begins with one."""
    first = entry[0] if isinstance(entry, list) and entry else entry
    return bool(_signals(first))


def _read_all(path: Path, file: BinaryIO) -> bytes:
    content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise PermanentError(f"{path}: larger than {MOST_BYTES} bytes")
    return content


def _read_lines(path: Path, file: BinaryIO) -> Iterator[tuple[str, bytes]]:
    number = 0
    while line := file.readline(MOST_BYTES + 1):
        number += 1
        if len(line) > MOST_BYTES:
            raise PermanentError(f"{path}: line {number}: larger than {MOST_BYTES} bytes")
        if line.strip():
            yield from _read_json(path, line, place=f"line {number}: ")


def _read_json(path: Path, text: bytes, place: str = "") -> Iterator[tuple[str, bytes]]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PermanentError(f"{path}: {place}not JSON ({error})") from error
    entries = content if isinstance(content, list) else [content]
    for entry in entries:
        signals = _signals(entry)
        if not signals:
            why = f"{place}no OTLP request: none of {', '.join(_KEYS)}"
            raise PermanentError(f"{path}: {why}") if place else PassedOver(path, why)
        for signal in signals:
            try:
                yield signal.label, content_to_protobuf(signal, entry)
            except PermanentError as error:
                raise PermanentError(f"{path}: {place}{error}", error.reason) from error


def _signals(entry: Any) -> list[Signal]:
    if not isinstance(entry, dict):
        return []
    return [signal for key, signal in _KEYS.items() if key in entry]


def _read_segment(path: Path, data: bytes) -> Iterator[tuple[str, bytes]]:
    for header, payload in scan_segment(data):
        if header.encoding is Encoding.JSON:
            yield from _read_json(path, payload)
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
