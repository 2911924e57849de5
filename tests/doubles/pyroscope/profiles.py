"""What the double has stored, and what compaction leaves of it."""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.doubles.pyroscope.validate import is_legacy_name

if TYPE_CHECKING:
    from tests.doubles.pyroscope.limits import Flavour

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class StoredProfile:
    """One sample type of one pushed profile.

    Attributes:
        labels: The series, without the labels the server makes itself.
        type_id: `name:type:unit:period type:period unit`.
        stacks: (frames root first, span labels) -> value.
    """

    tenant: str
    labels: Labels
    type_id: str
    time_ns: int
    stacks: tuple[tuple[tuple[str, ...], Labels, int], ...]
    id: str = field(default_factory=lambda: str(uuid.uuid4()))

    @property
    def total(self) -> int:
        return sum(value for _, _, value in self.stacks)

    @property
    def sample_type(self) -> str:
        return self.type_id.split(":")[1]


class Profiles:
    """All stored profiles, in order of arrival, and questions about them."""

    def __init__(self, flavour: Flavour) -> None:
        self._flavour = flavour
        self._lock = threading.Lock()
        self.all: list[StoredProfile] = []

    def add(self, profiles: list[StoredProfile]) -> None:
        with self._lock:
            self.all.extend(profiles)

    def compact(self) -> int:
        """Keep the first of profiles with equal series and time; returns how many went."""
        with self._lock:
            kept: dict[tuple[str, Labels, str, int], StoredProfile] = {}
            for profile in self.all:
                # v1 joins what two ingesters or blocks hold at one millisecond.
                time = profile.time_ns // 1_000_000 if self._flavour.is_v1 else profile.time_ns
                kept.setdefault((profile.tenant, profile.labels, profile.type_id, time), profile)
            gone = len(self.all) - len(kept)
            self.all = list(kept.values())
        return gone

    def select(self, tenant: str | None = None, **labels: str) -> list[StoredProfile]:
        """Profiles of a tenant (None: of all) whose series has these labels."""
        return [
            profile
            for profile in list(self.all)
            if (tenant is None or profile.tenant == tenant)
            and all(dict(profile.labels).get(name) == value for name, value in labels.items())
        ]

    def sums(self, tenant: str | None = None, **labels: str) -> dict[str, int]:
        """Sample type -> sum over all series."""
        sums: Counter[str] = Counter()
        for profile in self.select(tenant, **labels):
            sums[profile.sample_type] += profile.total
        return dict(sums)

    def type_ids(self) -> list[str]:
        return sorted({profile.type_id for profile in list(self.all)})

    def label_sets(self, tenant: str | None = None) -> set[Labels]:
        """Distinct series, sample types not told apart."""
        return {profile.labels for profile in self.select(tenant)}

    def series_count(self, tenant: str | None = None) -> int:
        """Distinct series as the server counts them: label set times sample type."""
        return len({(p.labels, p.type_id) for p in self.select(tenant)})

    def label_names(self, *, utf8: bool = False) -> list[str]:
        """What LabelNames shows; names beyond the legacy form only to clients that ask."""
        names = {name for profile in list(self.all) for name, _ in profile.labels}
        return sorted(name for name in names if utf8 or is_legacy_name(name))

    def stacks(self, sample_type: str, **labels: str) -> dict[tuple[str, ...], int]:
        """Frames root first -> value, over all matching series."""
        stacks: Counter[tuple[str, ...]] = Counter()
        for profile in self.select(**labels):
            if profile.sample_type == sample_type:
                for frames, _, value in profile.stacks:
                    stacks[frames] += value
        return dict(stacks)

    def of_span(self, span_id: str, sample_type: str) -> dict[tuple[str, ...], int]:
        """Stacks whose sample carries this span id."""
        stacks: Counter[tuple[str, ...]] = Counter()
        for profile in list(self.all):
            if profile.sample_type == sample_type:
                for frames, inner, value in profile.stacks:
                    if dict(inner).get("span_id") == span_id:
                        stacks[frames] += value
        return dict(stacks)
