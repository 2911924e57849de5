"""Answers to questions over HTTP, each within the bounds of one question."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from whyflame.store.running import RunningStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from whyflame.serve.questions import PageQuestions
    from whyflame.serve.runner import Runner

__all__ = ["Answering"]

_T = TypeVar("_T")


class Answering:
    """Asks questions in threads of the runner, which Grafana's questions share.

    Args:
        questions: Who answers. runner: So many at a time, so long, and while somebody waits.
    """

    def __init__(self, questions: PageQuestions, runner: Runner) -> None:
        self._questions = questions
        self._runner = runner

    async def ask(self, request: Request, work: Callable[[PageQuestions], _T]) -> _T:
        """What `work` gives when it asks.

        Raises:
            QueryStopped: It took too long, or the client went away.
            QueryTooLarge: The answer has too many rows, or takes too much memory.
            Backpressure: Too many others are waiting.
        """
        return await self._runner.run(
            request, lambda running: work(self._questions.reading(RunningStore(running)))
        )
