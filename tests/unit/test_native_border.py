"""The border between Python and the native part holds whatever Python code does meanwhile."""

from __future__ import annotations

import gc
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.content_strategies import make_span
from tests.native import require_native

from whyflame import native
from whyflame.content.native import native_extract
from whyflame.content.words import EDGES

if TYPE_CHECKING:
    from types import ModuleType


@pytest.fixture
def part() -> ModuleType:
    require_native()
    assert native.part is not None
    return native.part


class Emptying:
    """A number that empties lists when it is asked for, and so is a span."""

    def __init__(self, *lists: list[Any]) -> None:
        self._lists = lists

    def __index__(self) -> int:
        for one in self._lists:
            one.clear()
        self._in_their_place = [tuple([None] * size) for size in (4, 4, 4)]
        return 1

    @property
    def content(self) -> None:
        self.__index__()


def test_a_table_may_change_while_it_is_read(part: ModuleType) -> None:
    """What was taken out of it stays until it has been read."""
    words: list[Any] = []
    words += [(f"made here {at}", Emptying(words), 0, 0) for at in range(50)]
    with pytest.raises(IndexError):
        part.prepare(words, [], EDGES, 1, str, str)


def test_spans_may_change_while_they_are_read(part: ModuleType) -> None:
    extract = native_extract()
    assert extract is not None
    spans: list[Any] = []
    modes = ["features"] * 5
    spans += [Emptying(spans, modes) for _ in range(5)]
    with pytest.raises(IndexError):
        extract(spans, modes)


def test_no_list_with_holes_is_to_be_seen(part: ModuleType) -> None:
    """The collector shows every list to whoever asks; one with holes would crash him."""
    extract = native_extract()
    assert extract is not None
    size = 7_777
    seen: list[int] = []

    class Looking:
        @property
        def content(self) -> None:
            seen.append(sum(type(one) is list and len(one) == size for one in gc.get_objects()))

    spans: list[Any] = [Looking(), *[make_span(None)] * (size - 1)]
    extract(spans, ["features"] * size)
    assert seen == [2]  # spans and modes


_ENDS_MEANWHILE = """
import threading, time
from whyflame_native import _native

def work():
    while True:
        _native.crc32(content, 0)
        _native.look_at_request(schema, content, 0, 0)

content = b"\\x0a\\x0c" + bytes([0x30, 1] * 6)
content *= 300_000
schema = _native.request_schema(bytes(32), 0, 0)
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.05)
"""


@pytest.mark.slow
@pytest.mark.usefixtures("part")
def test_python_may_end_while_a_daemon_thread_works() -> None:
    """As with zlib: the thread ends with it; an abort would look like a crash."""
    for _ in range(8):
        ended = subprocess.run(
            [sys.executable, "-c", _ENDS_MEANWHILE], capture_output=True, check=False, timeout=50
        )
        assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.usefixtures("part")
def test_a_free_threaded_python_does_without() -> None:
    """Its objects lie otherwise in memory; up to 3.14 it would load the library all the same."""
    code = "import sys; sys.abiflags = 't'\nfrom whyflame import native\nprint(native.described())"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=50
    )
    assert done.stdout == "not installed\n"
