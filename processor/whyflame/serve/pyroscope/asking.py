"""From a request to the store: which operations, which stacks, which measure."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from whyflame.errors import UsageError
from whyflame.fold.cost import in_micro_usd
from whyflame.fold.measures import MEASURE_BY_NAME
from whyflame.fold.profile import Profile, SampleType
from whyflame.fold.projection import Projection, compile_filter, make_projection
from whyflame.fold.where import Fragment
from whyflame.serve.pyroscope.connect import ConnectError
from whyflame.serve.pyroscope.hierarchies import (
    MEASURES,
    Hierarchy,
    ProfileType,
    hierarchies_of,
    profile_type,
)
from whyflame.serve.pyroscope.labels import Selection, field_of, read_selectors, whole
from whyflame.serve.pyroscope.ranges import check_ids, check_range, traces_of
from whyflame.store.ask import fold_running
from whyflame.store.below import operations_below
from whyflame.store.owner import owned_by
from whyflame.store.traces import in_traces
from whyflame.store.values import field_groups, full_matches

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whyflame.config import Config
    from whyflame.fold.where import Condition
    from whyflame.serve.pyroscope.ranges import TimeRange
    from whyflame.store.running import RunningQuery

__all__ = ["Asking", "Settings", "Wanted"]

# A span's range may be given too tight; this much around it, its beginning is looked for.
SPAN_SLACK_NS = 3_600_000_000_000


@dataclass(frozen=True, slots=True)
class Settings:
    """What is the same for every question."""

    config: Config
    hierarchies: Mapping[str, Hierarchy]

    @classmethod
    def of(cls, config: Config) -> Settings:
        """Settings of a configuration."""
        return cls(config, hierarchies_of(config))


@dataclass(frozen=True, slots=True)
class Wanted:
    """One selection of stacks, as a client describes it.

    Attributes:
        type_id, selector, start, end: As in the request.
        spans, traces: Ids; at most one of the two is given.
        only_spans: Nothing is selected unless a span is.
        call_site: Frames with which the stacks begin.
        profiles: Ids of exemplars, each of which is a trace.
    """

    type_id: str
    selector: str
    start: int
    end: int
    spans: Sequence[str] = ()
    traces: Sequence[str] = ()
    only_spans: bool = False
    call_site: Sequence[str] = ()
    profiles: Sequence[str] = field(default=())


class Asking:
    """One question being answered.

    Args:
        running: The query it runs on. settings: The server's.
        tenant: Whose operations. now_ns: When it was asked.
    """

    def __init__(self, running: RunningQuery, settings: Settings, tenant: str, now_ns: int) -> None:
        self.running = running
        self.settings = settings
        self.tenant = tenant
        self.now_ns = now_ns

    @property
    def promoted(self) -> Mapping[str, str]:
        """Promoted fields by name."""
        return self.settings.config.fields

    def range(self, start: int, end: int) -> TimeRange | None:
        """See `check_range`."""
        return check_range(start, end, self.settings.config.query, self.now_ns)

    def selection(self, selectors: Sequence[str]) -> Selection:
        """See `read_selectors`."""
        return read_selectors(selectors, self._full_match, self.promoted)

    def _full_match(self, pattern: str, values: Sequence[str]) -> set[str]:
        return full_matches(self.running, whole(pattern), values)

    def taken(self, selection: Selection) -> dict[str, tuple[Hierarchy, str]]:
        """Hierarchy and measure of every profile type that a selection takes, by id."""
        known = {
            hierarchy.type_id(measure): (hierarchy, measure)
            for hierarchy in self.settings.hierarchies.values()
            for measure in MEASURES
        }
        return {type_id: known[type_id] for type_id in selection.taken(list(known))}

    def type_of(self, wanted: Wanted) -> ProfileType:
        """The profile type asked for.

        Raises:
            UsageError: None is, or it cannot be read.
        """
        return profile_type(wanted.type_id, self.settings.hierarchies)

    def filter(
        self, selection: Selection, range_: TimeRange | None, where: Sequence[str] = ()
    ) -> Fragment:
        """The WHERE clause of a selection; without a range, over all time."""
        hierarchy = Hierarchy("", ("agent",), tuple(where))
        return compile_filter(self._projection(hierarchy, "operations", selection, range_))

    def projection(self, wanted: Wanted) -> Projection | None:
        """What is asked of the store; None when it cannot have anything.

        Raises:
            UsageError: The request is not a question.
        """
        kind = self.type_of(wanted)
        if not wanted.selector.strip():
            raise ConnectError(
                "invalid_argument", "missing label_selector: write {} for everything"
            )
        if wanted.spans and wanted.traces:
            raise ConnectError(
                "invalid_argument", "give span_selector or trace_id_selector, not both"
            )
        spans = check_ids(wanted.spans, 16, "span_selector")
        traces = check_ids(wanted.traces, 32, "trace_id_selector")
        profiles = traces_of(wanted.profiles)
        selection = self.selection([wanted.selector])
        range_ = self.range(wanted.start, wanted.end)
        is_nothing = wanted.only_spans and not spans
        if kind.hierarchy is None or range_ is None or is_nothing:
            return None
        if not selection.taken([kind.hierarchy.type_id(kind.measure)]):
            return None
        # Rows without the measure add nothing, and need not be grouped.
        selection.only.append(Fragment(MEASURE_BY_NAME[kind.measure].is_known))
        selection.only += [in_traces(ids) for ids in (traces, profiles) if ids]
        if spans:
            selection.only.append(self._below(spans, range_))
            return self._projection(kind.hierarchy, kind.measure, selection, None)
        return self._projection(kind.hierarchy, kind.measure, selection, range_)

    def _below(self, spans: Sequence[str], range_: TimeRange) -> Fragment:
        """A span is shown whole: the range says where it is, not what of it counts."""
        between = (range_.since_ns - SPAN_SLACK_NS, range_.until_ns + SPAN_SLACK_NS)
        return operations_below(self.running, spans, self.tenant, between)

    def _projection(
        self,
        hierarchy: Hierarchy,
        measure: str,
        selection: Selection,
        range_: TimeRange | None,
    ) -> Projection:
        stack = self._stack(selection.stack) or hierarchy.stack
        where: list[str | Condition] = [*hierarchy.where, *selection.where]
        made = make_projection(stack, measure, where, self.promoted)
        return replace(
            made,
            measures=(made.default,),
            since_ns=range_.since_ns if range_ else None,
            until_ns=range_.until_ns if range_ else None,
            tenant=self.tenant,
            owner=owned_by(self.running.store, self.tenant),
            only=tuple(selection.only),
        )

    def _stack(self, wanted: Sequence[str]) -> tuple[str, ...]:
        """Fields of a `stack_by`: names of fields or labels, or of one hierarchy."""
        if len(wanted) == 1 and wanted[0] in self.settings.hierarchies:
            return self.settings.hierarchies[wanted[0]].stack
        return tuple(field_of(name, self.promoted) or name for name in wanted)

    def profile(self, wanted: Wanted, *, timed: bool = False) -> Profile:
        """The profile of one measure; money in micro-USD, exact in all.

        Raises:
            UsageError: The request is not a question.
        """
        projection = self.projection(wanted)
        if projection is None:
            return _nothing(self.type_of(wanted))
        profile = fold_running(self.running, projection, timed=timed)
        if wanted.call_site:
            profile = profile.below(wanted.call_site)
        return in_micro_usd(profile)[0]

    def types(
        self, selection: Selection, range_: TimeRange | None, fields: Sequence[str] = ()
    ) -> dict[tuple[str | None, ...], set[str]]:
        """Ids of the profile types that have data, for every combination of some fields."""
        by_filter: dict[tuple[str, ...], list[tuple[str, Sequence[str]]]] = {}
        for type_id, (hierarchy, measure) in self.taken(selection).items():
            columns = MEASURE_BY_NAME[measure].columns
            by_filter.setdefault(hierarchy.where, []).append((type_id, columns))
        found: dict[tuple[str | None, ...], set[str]] = {}
        for where, types in by_filter.items():
            asked = sorted({column for _, needed in types for column in needed})
            condition = self.filter(selection, range_, where)
            for labels, used in field_groups(self.running, fields, asked, condition).items():
                ids = {type_id for type_id, needed in types if used.intersection(needed)}
                found.setdefault(labels, set()).update(ids)
        return found


def _nothing(kind: ProfileType) -> Profile:
    return Profile(
        sample_types=(SampleType(kind.measure, kind.unit),),
        frames=(),
        offsets=array("q", [0]),
        frame_ids=array("i"),
        values=(array("q"),),
        default=kind.measure,
    )


def same_measure(left: ProfileType, right: ProfileType) -> None:
    """Refuse to compare what cannot be compared.

    Raises:
        UsageError: Measures or units differ.
    """
    if (left.measure, left.unit) != (right.measure, right.unit):
        raise UsageError(
            f"profile types must be equal: {left.measure}:{left.unit} and "
            f"{right.measure}:{right.unit} cannot be compared"
        )
