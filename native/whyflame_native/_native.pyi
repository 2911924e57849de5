from collections.abc import Callable
from typing import Any, TypeAlias

VERSION: str
SIGNS: str
CHECKSUM: str

class Extractor: ...  # opaque
class Schema: ...  # opaque

_Words: TypeAlias = list[tuple[str, int, int, int]]

def prepare(
    words: _Words,
    openers: _Words,
    edges: str,
    shell: int,
    activity_of_tool: Callable[[str], int],
    activity_of_call: Callable[[str, str], tuple[int, str]],
    /,
) -> Extractor: ...
def extract(
    extractor: Extractor, spans: list[Any], modes: list[str], /
) -> tuple[list[bytes | None], list[int]]: ...
def single_speech(raw: bytes, limit: int, /) -> tuple[str, str, bytes] | None: ...
def request_schema(table: bytes, item: int, time: int, /) -> Schema: ...
def look_at_request(
    schema: Schema, body: bytes, earliest: int, latest: int, /
) -> tuple[int, int] | None: ...
def crc32(text: bytes | memoryview, before: int, /) -> int: ...
def newest_user(
    raw: bytes,
    limit: int,
    users: tuple[str, ...],
    others: tuple[str, ...],
    results: tuple[str, ...],
    /,
) -> tuple[str, bytes, int] | None: ...
