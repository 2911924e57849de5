"""Dictionary tables: one id a value, for ever, however few values are held in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from tests import corpus

from whyflame.app.build import build_pipeline
from whyflame.config import Config
from whyflame.index.indexer import Read
from whyflame.journal import Signal
from whyflame.store import dictionary
from whyflame.store.dictionary import Dictionary
from whyflame.store.driver import duckdb

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

T0 = 1_790_000_000_000_000_000
FEW = 8
TEXTS = st.sampled_from([f"v{number}" for number in range(40)])
PATHS = st.lists(st.sampled_from(["", "test", "fix", "read"]), max_size=4).map(tuple)


@pytest.fixture
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dictionary, "MOST_VALUES", FEW)


@pytest.mark.usefixtures("_few")
@pytest.mark.parametrize(("table", "column"), [("strings", "value"), ("paths", "names")])
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_value_has_one_id_whatever_was_left_out_of_memory(
    table: str, column: str, data: st.DataObject
) -> None:
    """Through commits, failures and restarts; and it is found by its value, its id and in all."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE strings (id INTEGER, value VARCHAR)")
    connection.execute("CREATE TABLE paths (id INTEGER, names VARCHAR[])")
    writer, held = connection.cursor(), Dictionary(connection.cursor(), table, column)
    values: st.SearchStrategy[Any] = TEXTS if table == "strings" else PATHS
    known: dict[Any, int] = {}
    for batch in data.draw(st.lists(st.lists(values, max_size=12), max_size=12)):
        ids = _write(held, writer, batch, fails=data.draw(st.booleans()))
        known |= ids
        if data.draw(st.booleans()):
            held = Dictionary(connection.cursor(), table, column)
        assert {value: held.find(value) for value in known} == known
        assert {number: held.value(number) for number in known.values()} == _turned(known)
        assert held.values(known.values()) == _turned(known)
        assert dict(held.items()) == _turned(known)
        assert len(known) == len(set(known.values())) <= len(held)


def _write(held: Dictionary, cursor: Any, batch: Sequence[Any], *, fails: bool) -> dict[Any, int]:
    held.look_up(batch[::2])
    ids = {value: held.code(value) for value in batch}
    cursor.execute("BEGIN")
    held.flush(cursor)
    if fails:
        cursor.execute("ROLLBACK")
        held.forget()
        return {}
    cursor.execute("COMMIT")
    held.confirm()
    return {value: number for value, number in ids.items() if number is not None}


def _turned(known: dict[Any, int]) -> dict[int, Any]:
    return {number: value for value, number in known.items()}


@pytest.mark.usefixtures("_few")
def test_memory_holds_a_bounded_number_of_values() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE strings (id INTEGER, value VARCHAR)")
    held = Dictionary(connection.cursor(), "strings", "value")
    for number in range(20):
        _write(held, connection.cursor(), [f"{number}-{part}" for part in range(5)], fails=False)
        assert held.held <= FEW
    assert [held.value(number) for number in range(100)] == [
        f"{number}-{part}" for number in range(20) for part in range(5)
    ]


@pytest.mark.slow
def test_recorded_runs_settle_alike_however_little_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In two parts, so that sessions come back after their names left memory."""
    plenty = _settled(tmp_path / "plenty")
    monkeypatch.setattr(dictionary, "MOST_VALUES", FEW)
    assert _settled(tmp_path / "few") == plenty


def _settled(folder: Path) -> list[Any]:
    pipeline = build_pipeline(folder, Config(), exports=False)
    try:
        names = corpus.names()[::4]
        for part in (names[::2], names):
            read = Read()
            for name in part:
                for kind, body in corpus.cases()[name].requests():
                    pipeline.reader.read(
                        Signal[kind.upper()], body, tenant="", received_ns=T0, into=read
                    )
            pipeline.unsettled.add(pipeline.writer.append(read.spans, {}, {}).traces)
            pipeline.settle_job.tick(everything=True)
        cursor = pipeline.store.cursor()
        tables = [
            cursor.execute(f"SELECT * FROM {table} ORDER BY ALL").fetchall()
            for table in ("settled", "strings", "paths")
        ]
        return [*tables, sorted(pipeline.store.strings.items())]
    finally:
        pipeline.close()
