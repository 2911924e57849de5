"""What is behind a frame equals a walk over all stacks, whatever was left out before folding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.query_server import NOW, made, open_filled

from whyflame.config import Config
from whyflame.serve.behind import what_is_behind
from whyflame.serve.questions import FrameRequest, ProfileRequest
from whyflame.serve.store_questions import StoreQuestions
from whyflame.store.running import RunningQuery, RunningStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whyflame.store.duck import Store

LONG = "x" * 5000
SOME = 12
NAMES = [
    "fix tests",
    "other",
    "total",
    " padded ",
    "two\nlines",
    LONG,
    LONG + "y",
    "coder",
    "é",
    "",
]
STACKS = [
    ("agent", "path", "leaf"),
    ("task", "agent"),
    ("leaf", "path"),
    ("session", "agent", "path"),
    ("agent", "path", "token_kind"),
    ("run", "task"),
    ("team", "agent"),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    operations = [
        made(
            number // 3,
            number,
            ";".join(filter(None, (NAMES[number % 10], NAMES[number // 10 % 10]))),
            number + 1,
            agent=NAMES[number * 7 % 10] or None,
            leaf=NAMES[number * 3 % 10] or None,
            session=f"s{number // 6}",
            extra={"team": NAMES[number % 3]},
            run=number % 2,
        )
        for number in range(60)
    ]
    opened = open_filled(tmp_path_factory.mktemp("behind") / "w.duckdb", operations)
    yield opened
    opened.close()


@pytest.mark.parametrize("anywhere", [True, False])
@pytest.mark.parametrize("stack", STACKS, ids=" ".join)
@pytest.mark.parametrize("session", [None, "s3"])
def test_what_is_behind(
    store: Store, stack: tuple[str, ...], anywhere: bool, session: str | None
) -> None:
    """Frames of all kinds, by their place and wherever they stand."""
    running = RunningQuery(store, 1_000_000)
    config = Config(fields={"team": "resource.team"})
    questions = StoreQuestions(store, config, lambda: NOW).reading(RunningStore(running))
    asked = ProfileRequest(stack=stack)
    labels = ("session", "run") if session is None else ("run", "lane", "step")
    only = (f"session={session}",) if session else ()
    whole = questions.fold(
        ProfileRequest(stack=stack, labels=labels, filter=type(asked.filter)(where=only))
    )
    prefixes = {found[:depth] for found, *_ in whole.stacks() for depth in range(1, len(found) + 1)}
    assert prefixes
    for frames in sorted(prefixes)[:: max(1, len(prefixes) // SOME)]:
        request = FrameRequest(asked, frames[-1:] if anywhere else frames, anywhere, session)
        assert questions.behind(request, 1000) == what_is_behind(whole, request, 1000)
    running.close()
