"""The questions that README and docs show can be asked as they stand of the demo's fleet."""

from __future__ import annotations

import shlex
from itertools import count
from typing import TYPE_CHECKING

import pytest
from tests.e2e.fleet import serve_requests
from tests.unit.test_docs import commands_of

from whyflame import demo_data
from whyflame.cli import main
from whyflame.sending import newest_time, shift_times

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

PAGES = ("README.md", "docs/demo.md", "docs/profiles.md")
QUESTIONS = {"top", "totals", "profile", "diff", "sessions", "session", "doctor"}
# Some of each agent, and all of the session that the pages look at.
SHOWN, REQUESTS = b"coder-2043", 60


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    number = count()
    some = [
        request
        for request in demo_data.requests()
        if next(number) < REQUESTS or SHOWN in request[1]
    ]
    newest = newest_time(some)
    assert newest is not None
    with serve_requests(tmp_path_factory.mktemp("fleet"), shift_times(some, newest)) as fleet:
        yield fleet.url


@pytest.mark.parametrize("page", PAGES)
def test_questions_are_answered(
    page: str,
    url: str,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = 0
    for command in commands_of((root / page).read_text(encoding="utf-8")):
        words = shlex.split(command.replace("http://127.0.0.1:4319", url), comments=True)[1:]
        if words[0] not in QUESTIONS:
            continue
        where = [] if "--url" in words else ["--url", url]
        assert main([*words, *where]) == 0, (command, capsys.readouterr().err)
        file = words[words.index("-o") + 1] if "-o" in words else ""
        assert (tmp_path / file).stat().st_size if file else capsys.readouterr().out, command
        asked += 1
    assert asked >= 4
