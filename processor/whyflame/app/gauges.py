"""The coverage report as metrics: looked at after settling, never more than a percent of the time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from whyflame import telemetry
from whyflame.store.coverage import coverage_numbers

if TYPE_CHECKING:
    from whyflame.app.build import Pipeline

__all__ = ["CoverageGauges"]

# After a look that took a second, the next one comes a hundred seconds later: it goes over all that
# is stored, and five minutes of load make that so large. A twentieth of the time was 3 us a span.
REST_FACTOR = 100


class CoverageGauges:
    """Keeps `whyflame_coverage` up to date; used by one thread.

    Args:
        pipeline: Whose store is looked at, all tenants together.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._seen = -1
        self._next = 0.0

    def refresh(self) -> None:
        """Look again, if something was settled since and the last look was not too costly."""
        generation, began = self._pipeline.settled.generation, time.monotonic()
        if generation == self._seen or began < self._next:
            return
        for what, number in coverage_numbers(self._pipeline.store).items():
            telemetry.COVERAGE.set(number, what)
        self._seen = generation
        now = time.monotonic()
        self._next = now + REST_FACTOR * (now - began)
