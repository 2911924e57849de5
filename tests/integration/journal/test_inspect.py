"""The journal can be looked at and replayed without moving a position."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

import pytest

from whyflame.cli import journal
from whyflame.errors import NothingMatched
from whyflame.importers import read_captures
from whyflame.journal import JournalTail, JournalWriter, Signal
from whyflame.journal.segments import segment_path

if TYPE_CHECKING:
    from pathlib import Path


def run_journal(data_dir: Path, form: str) -> int:
    parser = argparse.ArgumentParser()
    journal.add_parser(parser.add_subparsers())
    args = parser.parse_args(["journal", "--data-dir", str(data_dir), "--format", form])
    return int(args.run(args))


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A journal of three requests, one of them indexed."""
    writer = JournalWriter(tmp_path / "journal", "r0")
    tail = JournalTail(tmp_path / "journal", {})
    for number, signal in enumerate((Signal.TRACES, Signal.LOGS, Signal.TRACES)):
        writer.append(bytes([number]) * 50, signal=signal, received_ns=1_700_000_000_000_000_000)
        if number == 0:
            tail.applied(tail.read(1 << 20).positions, 2_000_000_000)
    writer.close()
    tail.close()
    return tmp_path


def test_segments_are_described(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Requests by signal, what waits, no damage."""
    assert run_journal(filled, "json") == 0
    (report,) = json.loads(capsys.readouterr().out)
    assert report["frames"] == {"traces": 2, "logs": 1}
    assert report["pending_bytes"] == report["size_bytes"] * 2 // 3
    assert report["damaged_bytes"] == 0
    assert run_journal(filled, "table") == 0
    assert "r0" in capsys.readouterr().out


def test_damage_is_reported_and_the_rest_replayed(
    filled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A kept segment is a capture; a damaged record is left out."""
    path = segment_path(filled / "journal" / "r0", 1)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert run_journal(filled, "json") == 0
    (report,) = json.loads(capsys.readouterr().out)
    assert report["damaged_bytes"] == report["size_bytes"] // 3
    assert list(read_captures([path])) == [("traces", b"\0" * 50), ("traces", b"\2" * 50)]


def test_no_journal_is_said(tmp_path: Path) -> None:
    """An empty directory is not an error of ours."""
    with pytest.raises(NothingMatched):
        run_journal(tmp_path, "table")
