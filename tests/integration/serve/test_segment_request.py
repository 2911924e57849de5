"""A request to segment now says when it could not wait for all that was acknowledged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.otlp import Row, traces

from whyflame.app import http_port
from whyflame.app.build import JOURNAL, build_pipeline
from whyflame.app.state import State
from whyflame.cli import main
from whyflame.config import Config
from whyflame.journal import JournalWriter, Signal

if TYPE_CHECKING:
    from pathlib import Path

CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
EVERYTHING = (None, None, "")


def test_what_is_not_stored_in_time_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is there is settled all the same: better than nothing."""
    monkeypatch.setattr(http_port, "CATCH_UP_SECONDS", 0.1)
    config, state = Config(), State()
    pipeline = build_pipeline(tmp_path, config, exports=False)
    writer = JournalWriter(tmp_path / JOURNAL, "r0")
    for trace in (1, 2):
        writer.append(
            traces(Row("test", "chat", CHAT, trace=trace)), signal=Signal.TRACES, received_ns=1
        )
        if trace == 1:
            pipeline.indexer.drain()
    done = http_port.segment_now(pipeline, config, state, EVERYTHING)
    assert done["traces"] == 1
    assert done["unstored_bytes"] > 0
    pipeline.indexer.drain()
    done = http_port.segment_now(pipeline, config, state, EVERYTHING)
    assert done == {"traces": 1, "operations": 1, "unstored_bytes": 0}
    writer.close()
    pipeline.close()


@pytest.mark.parametrize("unstored", [0, 5_000_000])
def test_the_command_says_so_too(
    unstored: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Server:
        def segment(self, *_: object) -> dict[str, int]:
            return {"traces": 1, "operations": 2, "unstored_bytes": unstored}

    monkeypatch.setattr("whyflame.cli.segment.remote", lambda _args: Server())
    assert main(["segment"]) == 0
    out, err = capsys.readouterr()
    assert out == "settled 1 trace, 2 spans\n"
    assert ("5.0 MB of what the server acknowledged are not stored yet" in err) is bool(unstored)
