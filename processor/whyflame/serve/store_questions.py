"""Every question the CLI, the API and the page ask, answered from the store.

A cold command asks one: what the others alone need is imported where they are answered.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whyflame.errors import NothingMatched
from whyflame.fold.encode import encode_by_name
from whyflame.fold.names import check_field, unknown_name
from whyflame.fold.projection import compile_filter, make_projection
from whyflame.fold.views import view_projection
from whyflame.serve.behind import what_is_behind
from whyflame.store.ask import fold_projection
from whyflame.store.completion import complete_values
from whyflame.store.extent import newest_generation, operations_extent
from whyflame.store.owner import owned_by
from whyflame.store.passing import passing
from whyflame.store.session_view import list_sessions, show_session
from whyflame.store.state import remembered
from whyflame.store.totals import INNER_KEYS, totals

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from whyflame.config import AskingConfig, Config
    from whyflame.fold.profile import Profile
    from whyflame.fold.projection import Projection
    from whyflame.serve.questions import DiffRequest, Filter, FrameRequest, ProfileRequest
    from whyflame.store.readable import Readable

__all__ = ["StoreQuestions"]

_MOST_KEPT_ROWS = 1000


class StoreQuestions:
    """Answers from an open store. Thread-safe: every question takes a cursor of its own.

    Args:
        store: The open store.
        config: For own views and promoted fields.
        clock_ns: Now, for relative times.
        status: Facts of the running server, merged into `status`.
    """

    def __init__(
        self,
        store: Readable,
        config: Config | AskingConfig,
        clock_ns: Callable[[], int],
        status: Callable[[], dict[str, Any]] = dict,
    ) -> None:
        self._store = store
        self._config = config
        self._clock_ns = clock_ns
        self._status = status

    def reading(self, store: Readable) -> Self:
        """See `PageQuestions`."""
        return type(self)(store, self._config, self._clock_ns, self._status)

    def totals(self, by: tuple[str, ...], chosen: Filter) -> dict[str, Any]:
        """See `Questions`.

        Raises:
            NothingMatched: Filters were given and no operation passes them.
        """
        from whyflame.store.coverage import count_lost, coverage

        condition = compile_filter(self._projection(chosen))
        sums = self.sums(by, chosen)
        question = ("coverage", condition.sql, repr(condition.params), chosen.tenant)
        report = remembered(
            self._store,
            question,
            lambda: coverage(self._store, condition, chosen.tenant),
        )
        counters = count_lost(self._store.cursor(), chosen.tenant)
        return {**sums, "coverage": {**report, "counters": counters}}

    def sums(self, by: tuple[str, ...], chosen: Filter) -> dict[str, Any]:
        """See `PageQuestions`.

        Raises:
            NothingMatched: Filters were given and no operation passes them.
        """
        for field in by:
            check_field(field, self._config.fields)
        condition = compile_filter(self._projection(chosen))
        rows = remembered(
            self._store,
            ("totals", by, condition.sql, repr(condition.params), chosen.tenant),
            lambda: totals(self._store, by, condition, chosen.tenant),
            lambda found: len(found) <= _MOST_KEPT_ROWS,
        )
        if chosen.is_set and not any(row["operations"] for row in rows):
            raise NothingMatched("no operation matches these filters")
        for row in rows:
            for key in INNER_KEYS:
                del row[key]
        return {"rows": rows}

    def fold(self, request: ProfileRequest) -> Profile:
        """The profile itself, before encoding."""
        return fold_projection(self._store, self._asked_for(request))

    def _asked_for(self, request: ProfileRequest) -> Projection:
        projection = view_projection(
            request.view,
            self._config,
            measure=request.measure,
            stack=request.stack or None,
            where=request.filter.where,
            labels=request.labels,
        )
        if request.waits is not None:
            projection = replace(projection, waits=request.waits)
        return self._timed(projection, request.filter)

    def profile(self, request: ProfileRequest, encoding: str) -> bytes:
        """See `Questions`.

        Raises:
            NothingMatched: No operation passes the filters, or none has the measure.
        """
        profile = self.fold(request)
        if profile.is_empty:
            raise NothingMatched(
                f"no operation to show in view {request.view}: nothing is settled yet, "
                "or the filters exclude everything"
            )
        return encode_by_name(profile, encoding)

    def diff(self, request: DiffRequest, encoding: str) -> bytes:
        """See `Questions`.

        Raises:
            NothingMatched: One side is empty.
            UsageError: Unknown format, or nothing can be paired.
        """
        from whyflame.fold.compare import compare
        from whyflame.serve.differences import DIFF_ENCODINGS, UNITS, encode_diff

        if encoding not in DIFF_ENCODINGS:
            raise unknown_name("format", encoding, DIFF_ENCODINGS)
        unit = UNITS[request.unit]
        labels = tuple(dict.fromkeys((*unit, *((request.pair_by,) if request.pair_by else ()))))
        base = self._side(request, request.base, request.base_times, labels)
        target = self._side(request, request.target, request.target_times, labels)
        compared = compare(
            base, target, measure=request.profile.measure, unit=unit, pair_by=request.pair_by
        )
        return encode_diff(encoding, base, target, compared)

    def _side(
        self,
        request: DiffRequest,
        where: tuple[str, ...],
        times: tuple[str | None, str | None],
        labels: tuple[str, ...],
    ) -> Profile:
        common = request.profile.filter
        since, until = times if any(times) else (common.since, common.until)
        chosen = replace(common, where=(*common.where, *where), since=since, until=until)
        stack = request.profile.stack
        wanted = tuple(name for name in labels if name not in stack)
        profile = self.fold(replace(request.profile, filter=chosen, labels=wanted))
        if profile.is_empty:
            raise NothingMatched(f"no operation matches {' and '.join(where) or 'this side'}")
        return profile

    def options(self) -> dict[str, Any]:
        """See `PageQuestions`."""
        from whyflame.serve.options import page_options

        return page_options(self._config)

    def values(self, field: str, contains: str, chosen: Filter, limit: int) -> dict[str, Any]:
        """See `PageQuestions`."""
        check_field(field, self._config.fields)
        condition = compile_filter(self._projection(chosen))
        return complete_values(self._store, field, contains, condition, limit)

    def behind(self, request: FrameRequest, limit: int) -> dict[str, Any]:
        """See `PageQuestions`.

        Raises:
            NothingMatched: No operation lies behind the frame.
        """
        labels = ("session", "run") if request.session is None else ("run", "lane", "step")
        asked = request.profile
        if request.session is not None:
            only = replace(asked.filter, where=(*asked.filter.where, f"session={request.session}"))
            asked = replace(asked, filter=only)
        projection = self._asked_for(replace(asked, labels=labels))
        wanted = request.frames[-1:] if request.anywhere else request.frames
        tests = [passing(self._store, projection, frame) for frame in wanted]
        only_passing = tuple(test for test in tests if test is not None)
        projection = replace(projection, only=(*projection.only, *only_passing))
        if request.anywhere and only_passing:
            # All that is left shows the frame: what else is in the stacks does not matter.
            projection = replace(projection, stack=labels[:1])
            request = replace(request, frames=())
        return what_is_behind(fold_projection(self._store, projection), request, limit)

    def sessions(self, chosen: Filter, limit: int) -> dict[str, Any]:
        """See `Questions`."""
        return list_sessions(self._store, compile_filter(self._projection(chosen)), limit)

    def _projection(self, chosen: Filter) -> Projection:
        """A projection that only carries the filter."""
        projection = make_projection(["agent"], where=chosen.where, promoted=self._config.fields)
        return self._timed(projection, chosen)

    def _timed(self, projection: Projection, chosen: Filter) -> Projection:
        now = self._clock_ns()
        return replace(
            projection,
            since_ns=_nanoseconds(chosen.since, now),
            until_ns=_nanoseconds(chosen.until, now),
            tenant=chosen.tenant,
            owner=owned_by(self._store, chosen.tenant),
        )

    def session(self, session: str, tenant: str = "") -> dict[str, Any]:
        """See `Questions`.

        Raises:
            NothingMatched: No such session.
        """
        from whyflame.fold.palette import colour_of

        shown = show_session(self._store, session, tenant)
        names = {
            name
            for run in shown["runs"]
            for lane in run["lanes"]
            for op in lane["operations"]
            for name in (*op["path"], op["name"] or op["kind"])
        }
        return {**shown, "colours": {name: colour_of(name) for name in sorted(names)}}

    def status(self, tenant: str = "") -> dict[str, Any]:
        """See `Questions`."""
        count, oldest, newest = operations_extent(self._store, tenant)
        return {
            "operations": count,
            "oldest_ns": oldest,
            "newest_ns": newest,
            "generation": newest_generation(self._store),
            "store_bytes": self._store.database_bytes(),
            **self._status(),
        }


def _nanoseconds(time: str | None, now_ns: int) -> int | None:
    """A point in time as users write it."""
    if time is None:
        return None
    from whyflame.fold.timerange import parse_time

    return parse_time(time, now_ns)
