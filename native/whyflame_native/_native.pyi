from collections.abc import Callable, Sequence
from typing import Any

VERSION: str
SIGNS: str

class Extractor: ...  # opaque

_Words = list[tuple[str, int, int, int]]

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
