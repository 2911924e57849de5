"""What can be asked: the port between CLI, API and page on one side, store or server on the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from typing import Self

    from whyflame.store.readable import Readable

__all__ = [
    "DiffRequest",
    "Filter",
    "FrameRequest",
    "PageQuestions",
    "ProfileRequest",
    "Questions",
]


@dataclass(frozen=True, slots=True)
class Filter:
    """Which operations a question is about.

    Attributes:
        where: Filters as written, all must hold. since, until: Times as written, by end time.
        tenant: Whose operations; "" when tenancy is off.
    """

    where: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    tenant: str = ""

    @property
    def is_set(self) -> bool:
        """True when something is excluded."""
        return bool(self.where or self.since or self.until)


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """One profile as asked for.

    Attributes:
        view: Name of a view. measure, stack: Override the view's own.
        labels: Fields that become labels of the samples (pprof only).
        filter: Which operations, beyond the view's own filter.
        waits: Show waiting for a person between turns too; None as the view says.
    """

    view: str = "tokens"
    measure: str | None = None
    stack: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    filter: Filter = field(default_factory=Filter)
    waits: bool | None = None


@dataclass(frozen=True, slots=True)
class DiffRequest:
    """Two sets of operations, compared.

    Attributes:
        profile: View, measure, stack, and the filter that both sides share.
        base, target: Filters of each side, on top.
        base_times, target_times: (since, until) of each side, instead of the shared ones.
        unit: What values are averaged over: "run" or "session".
        pair_by: Field by which runs are paired ("root": the same goal); None pairs nothing.
    """

    profile: ProfileRequest
    base: tuple[str, ...]
    target: tuple[str, ...]
    unit: str = "run"
    pair_by: str | None = None
    base_times: tuple[str | None, str | None] = (None, None)
    target_times: tuple[str | None, str | None] = (None, None)


@dataclass(frozen=True, slots=True)
class FrameRequest:
    """One frame of a profile, to ask what is behind it.

    Attributes:
        profile: As it was asked for.
        frames: The frame and all above it, root first; or only its name, with `anywhere`.
        anywhere: The frame wherever it stands in a stack.
        session: Only the steps of this session; None for a list of sessions.
    """

    profile: ProfileRequest
    frames: tuple[str, ...]
    anywhere: bool = False
    session: str | None = None


class Questions(Protocol):
    """Whoever can answer: the store itself, or a server over HTTP."""

    def totals(self, by: tuple[str, ...], chosen: Filter) -> dict[str, Any]:
        """`{"rows": [...], "coverage": {...}}` of the Contract."""

    def profile(self, request: ProfileRequest, encoding: str) -> bytes:
        """One encoded profile (`pprof`, `folded`, `svg`, `json`, `speedscope`)."""

    def diff(self, request: DiffRequest, encoding: str) -> bytes:
        """A comparison as `table` (text), `json`, `pprof` or `svg`."""

    def sessions(self, chosen: Filter, limit: int) -> dict[str, Any]:
        """`{"sessions": [...], "not_shown": n}`, newest first."""

    def session(self, session: str, tenant: str = "") -> dict[str, Any]:
        """One session: runs, lanes, intervals and steps in time order."""

    def status(self, tenant: str = "") -> dict[str, Any]:
        """State of the store, and of one tenant's operations in it."""


class PageQuestions(Questions, Protocol):
    """What the page asks beside: only whoever has the store can answer."""

    def reading(self, store: Readable) -> Self:
        """The same, answered from another view of the store: one that can be stopped."""

    def sums(self, by: tuple[str, ...], chosen: Filter) -> dict[str, Any]:
        """As `totals`, without the coverage, which costs more than all else."""

    def options(self) -> dict[str, Any]:
        """Views, measures, fields and links that can be chosen."""

    def values(self, field: str, contains: str, chosen: Filter, limit: int) -> dict[str, Any]:
        """`{"values": [{"value", "operations"}], "not_shown": n}`, the most frequent first."""

    def behind(self, request: FrameRequest, limit: int) -> dict[str, Any]:
        """Sessions, or steps of one session, that a frame was summed from."""
