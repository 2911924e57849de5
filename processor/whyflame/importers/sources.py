"""What a file holds, told by its name and its first line, and the reader for it."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whyflame.errors import PermanentError
from whyflame.importers.captures import KIND, is_capture, read_capture
from whyflame.importers.claude_code import read_claude_code
from whyflame.importers.claude_lines import is_claude_code, is_subagent_file, session_file_of
from whyflame.importers.codex import is_codex, read_codex
from whyflame.importers.gemini import is_gemini, read_gemini
from whyflame.importers.history import History, requests_of
from whyflame.importers.lines import MOST_BYTES, PassedOver, first_line, open_file
from whyflame.importers.operations import is_operation, read_operations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

__all__ = ["KNOWN", "Listed", "list_files", "read_captures", "read_files"]

_HEAD_BYTES = 4096
KNOWN = (
    "OTLP captures (.binpb, .json, .jsonl, .wfj), session files of Claude Code, Codex CLI and "
    "Gemini CLI, operation JSONL; each also with .gz"
)
_HISTORIES: tuple[tuple[Callable[[dict[str, Any]], bool], Callable[[Path], History]], ...]
_HISTORIES = (
    (is_codex, read_codex),
    (is_claude_code, read_claude_code),
    (is_gemini, read_gemini),
)


@dataclass(slots=True)
class Listed:
    """Files to read.

    Attributes:
        files: (file, whether it was named); those of directories in sorted order.
        others: Files of directories whose names say that they are none of the known kinds.
    """

    files: list[tuple[Path, bool]] = field(default_factory=list)
    others: int = 0


def list_files(paths: Iterable[Path]) -> Listed:
    """Everything to read in files and directories.

    Raises:
        PermanentError: One of them is not there.
    """
    found: dict[Path, bool] = {}
    others = 0
    for path in paths:
        if not path.exists():
            raise PermanentError(f"{path}: No such file or directory")
        if not path.is_dir():
            found[path] = True
            continue
        inside = sorted(file for file in path.rglob("*") if file.is_file())
        kinds = [file for file in inside if KIND.search(file.name)]
        others += len(inside) - len(kinds)
        for file in kinds:
            found.setdefault(file, False)
    return Listed(list(found.items()), others)


def read_files(
    files: Iterable[tuple[Path, bool]],
    *,
    counts: str | None = None,
    begun: Callable[[Path], None] = lambda _path: None,
    passed_over: Callable[[Path, str], None] = lambda _path, _why: None,
) -> Iterator[tuple[str, bytes]]:
    """(signal, protobuf bytes) of every request that the files hold or become.

    In directories, what is none of the known kinds is passed over; named, it is an error.

    Args:
        files: From `list_files`. counts: What values of operation JSONL count.
        begun: Called with each file before it is read.
        passed_over: Called with each file that is none of the known kinds, and the reason.

    Raises:
        PermanentError: A file cannot be read; names the file and the reason.
    """
    done: set[Path] = set()
    for path, is_named in files:
        begun(path)
        try:
            yield from _read_file(path, counts=counts, done=done)
        except PassedOver as error:
            if is_named:
                raise
            passed_over(error.path, error.why)
        except OSError as error:
            raise PermanentError(f"{path}: {error.strerror or error}") from error
        except (EOFError, zlib.error) as error:
            raise PermanentError(f"{path}: damaged gzip: {error}") from error


def read_captures(paths: Iterable[Path]) -> Iterator[tuple[str, bytes]]:
    """(signal, protobuf bytes) of every request of files and directories."""
    return read_files(list_files(paths).files)


def _read_file(path: Path, *, counts: str | None, done: set[Path]) -> Iterator[tuple[str, bytes]]:
    kind = KIND.search(path.name)
    if kind is None:
        raise PermanentError(
            f"{path}: expected .binpb, .json, .jsonl or .wfj, or one of them with .gz; known are {KNOWN}"
        )
    entry = _sample(path, kind[1])
    if entry is None or is_capture(entry):
        yield from read_capture(path)
        return
    for is_like, read in _HISTORIES:
        if isinstance(entry, dict) and is_like(entry):
            yield from _read_history(path, read, done)
            return
    if isinstance(entry, dict) and kind[1] in ("jsonl", "ndjson") and is_operation(entry):
        yield from (("traces", body) for body in read_operations(path, counts))
    else:
        raise PassedOver(path, "its first entry is of no known kind", f"; known are {KNOWN}")


def _sample(path: Path, kind: str) -> Any:
    """The first JSON value of a file; None where only its name tells, or it is no JSON."""
    if kind in ("jsonl", "ndjson"):
        return first_line(path)
    if kind != "json":
        return None
    with open_file(path) as file:
        head = file.read(_HEAD_BYTES)
        if b'"sessionId"' not in head or b'"resource' in head:
            return None
        try:
            return json.loads(head + file.read(MOST_BYTES))
        except (ValueError, RecursionError):
            return None


def _read_history(
    path: Path, read: Callable[[Path], History], done: set[Path]
) -> Iterator[tuple[str, bytes]]:
    """A session once, whichever of its files was named."""
    if read is read_claude_code and is_subagent_file(path):
        path = session_file_of(path)
    if path in done:
        return
    done.add(path)
    yield from (("traces", body) for body in requests_of(read(path)))
