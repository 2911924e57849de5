"""Opening a store only to read it: the file stays as it is, and others may read too."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.made import span

from whyflame import __version__
from whyflame.errors import StoreError
from whyflame.store.duck import Store
from whyflame.store.spans import SpanWriter

if TYPE_CHECKING:
    from pathlib import Path

LEFT_BY_A_CRASH = """
import os, sys
from pathlib import Path
from whyflame.store.duck import Store
store = Store(Path(sys.argv[1]))
store.cursor().execute("INSERT INTO strings VALUES (1, 'late')")
os._exit(9)
"""

ANOTHER_READER = """
import sys
from pathlib import Path
from whyflame.store.duck import Store
print(len(Store(Path(sys.argv[1]), to_read=True).strings))
"""


def run(code: str, path: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 9), done.stderr
    return done.stdout.strip()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store that was closed in good order."""
    store = Store(tmp_path / "w.duckdb")
    SpanWriter(store).append([span(1, 1), span(1, 2)], {}, {})
    store.close()
    return store.path


def test_slow_statements_draw_no_bar_into_answers(path: Path) -> None:
    """DuckDB shows its progress on standard output, where commands write what was asked."""
    for to_read in (False, True):
        store = Store(path, to_read=to_read)
        shown = store.cursor().execute("SELECT current_setting('enable_progress_bar')")
        assert shown.fetchall() == [(False,)]
        store.close()


def test_reading_changes_no_byte(path: Path) -> None:
    before = path.read_bytes()
    store = Store(path, to_read=True)
    assert store.cursor().execute("SELECT count(*) FROM spans").fetchone() == (2,)
    assert store.cursor().execute("SELECT count(*) FROM operations").fetchone() == (0,)
    store.close()
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_readers_do_not_lock_each_other_out(path: Path) -> None:
    store = Store(path, to_read=True)
    assert run(ANOTHER_READER, path) == str(len(store.strings))
    store.close()


def test_reader_is_refused_while_a_writer_has_the_file(path: Path) -> None:
    writer = Store(path)
    with pytest.raises(AssertionError, match="in use by another process"):
        run(ANOTHER_READER, path)
    writer.close()


def test_reader_sees_what_a_crash_left_in_the_log(path: Path) -> None:
    run(LEFT_BY_A_CRASH, path)
    log = path.with_name("w.duckdb.wal")
    assert log.exists()
    store = Store(path, to_read=True)
    assert store.strings.find("late") == 1
    store.close()
    assert not log.exists()


@pytest.mark.parametrize("to_read", [True, False])
def test_missing_column_and_view_of_an_earlier_version_are_made(path: Path, to_read: bool) -> None:
    store = Store(path)
    store.cursor().execute("DROP VIEW operations; ALTER TABLE exported DROP COLUMN tokens")
    store.cursor().execute("DELETE FROM meta WHERE key = 'layout'")
    store.close()
    store = Store(path, to_read=to_read)
    assert store.cursor().execute("SELECT count(*) FROM operations").fetchone() == (0,)
    assert store.cursor().execute("SELECT count(tokens) FROM exported").fetchone() == (0,)
    store.close()


@pytest.mark.parametrize(
    ("schema", "version", "advice"),
    [
        ("99", "9.8.7", "install that version or a newer one"),
        ("1", "0.0.1", "whyflame import .*journal"),
    ],
    ids=["newer", "older"],
)
def test_store_of_another_schema_is_refused_untouched(
    path: Path, schema: str, version: str, advice: str
) -> None:
    """The message names both versions and the way out."""
    store = Store(path)
    store.cursor().execute("UPDATE meta SET value = ? WHERE key = 'schema'", [schema])
    store.cursor().execute("UPDATE meta SET value = ? WHERE key = 'version'", [version])
    store.cursor().execute("DELETE FROM meta WHERE key = 'layout'")
    store.cursor().execute("DROP VIEW operations")
    store.close()
    before = path.read_bytes()
    said = f"whyflame {version} with schema {schema}; this is whyflame {__version__} .*{advice}"
    for to_read in (True, False):
        with pytest.raises(StoreError, match=said):
            Store(path, to_read=to_read)
    assert path.read_bytes() == before


def test_store_whose_tables_a_newer_version_has_extended_is_refused(path: Path) -> None:
    """Of the same schema: rows are appended by position, so the older one could not go on."""
    store = Store(path)
    store.cursor().execute("ALTER TABLE marks ADD COLUMN later VARCHAR")
    store.cursor().execute("UPDATE meta SET value = '9.8.7' WHERE key = 'version'")
    store.cursor().execute("UPDATE meta SET value = 'another' WHERE key = 'layout'")
    store.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"written by whyflame 9\.8\.7 .*install that version"):
        Store(path)
    assert path.read_bytes() == before


def test_store_that_names_no_version_is_refused_all_the_same(path: Path) -> None:
    store = Store(path)
    store.cursor().execute("DELETE FROM meta WHERE key = 'version'")
    store.cursor().execute("UPDATE meta SET value = '99' WHERE key = 'schema'")
    store.close()
    with pytest.raises(StoreError, match="another version with schema 99"):
        Store(path)


def test_directory_without_a_store_has_nothing_to_read(tmp_path: Path) -> None:
    store = Store(tmp_path / "w.duckdb", to_read=True)
    assert store.cursor().execute("SELECT count(*) FROM operations").fetchone() == (0,)
    store.close()
