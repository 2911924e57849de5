"""Whatever is sent: an answer, an end, and bounded memory. Inputs that once failed are kept in `found`.

`python -m tests.fuzz --minutes 60` looks for an hour and puts what it finds there.
"""

from __future__ import annotations

import resource
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.fuzz.__main__ import keep
from tests.fuzz.looks import Entry, HttpDoor, look_at_http, look_behind

if TYPE_CHECKING:
    from collections.abc import Iterator

FOUND = sorted(file for file in (Path(__file__).parent / "found").iterdir())
GROWTH_MIB = 300

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def entry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Entry]:
    """One for all inputs, as in a server; memory may grow by caches only."""
    made = Entry(tmp_path_factory.mktemp("fuzz"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield made
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    made.store.close()
    assert grown < GROWTH_MIB, f"{grown:.0f} MiB more"


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpDoor]:
    """One receiver for all that is thrown at it."""
    made = HttpDoor(tmp_path_factory.mktemp("http"))
    yield made
    made.close()


def test_nothing_hostile_breaks_the_way_into_the_store(entry: Entry) -> None:
    """Refused, put aside, or stored; never a crash, a hang or a row without bounds."""
    examples = 150
    look_behind(entry, examples)
    assert entry.outcomes["read"] > examples
    assert entry.outcomes["refused"] > examples / 10


def test_nothing_hostile_breaks_http(door: HttpDoor) -> None:
    """Every request line, head and body gets an answer that HTTP knows, or the connection closes."""
    look_at_http(door, 100)


@pytest.mark.parametrize("file", FOUND, ids=[file.stem for file in FOUND])
def test_inputs_found_before(tmp_path: Path, door: HttpDoor, file: Path) -> None:
    """What once broke something does not any more."""
    if file.suffix == ".raw":
        door.talk(file.read_bytes())
        return
    made = Entry(tmp_path)
    made.take_named(file.stem.partition("-")[0], file.suffix[1:], file.read_bytes())
    made.store.close()


def test_only_what_breaks_something_alone_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last input of a round that failed need not be the one that made it fail."""
    monkeypatch.setattr("tests.fuzz.__main__.FOUND", tmp_path / "found")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "last").write_bytes(b"traces bin\n")
    assert "does no harm alone" in keep(tmp_path)
    assert not (tmp_path / "found").exists()
    (tmp_path / "last").write_bytes(b"no_signal bin\nx")
    assert keep(tmp_path).startswith(str(tmp_path / "found" / "no_signal-"))
