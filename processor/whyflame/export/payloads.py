"""From grouped operations to payloads: labels, frames, whole micro-USD, profiles, splits."""

from __future__ import annotations

import json
import zlib
from array import array
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from whyflame.export.labels import LabelSet, SeriesGuard, make_labels
from whyflame.export.money import CostRounder
from whyflame.export.settings import SERIES_LABELS
from whyflame.export.times import SECOND_NS, last_closed, payload_time
from whyflame.fold.frames import UNKNOWN_FRAME, column_frames, label_by_id
from whyflame.fold.measures import find_measure
from whyflame.fold.names import role_of
from whyflame.fold.pprof import PprofOptions, encode_message
from whyflame.fold.profile import Labels, Profile, SampleType, Stack, build_profile
from whyflame.fold.projection import Column
from whyflame.store.outbox import Batch, Built, NewRow
from whyflame.store.outbox_batch import BatchQuery

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whyflame.export.settings import ExportSettings
    from whyflame.fold.frames import Dictionary
    from whyflame.store.outbox_hold import Held, HoldRule

__all__ = ["PayloadBuilder", "compress", "decode_series", "encode_series"]

_COST = "cost"
_NANO_USD, _MICRO_USD = "nanousd", "microusd"
_GZIP_WINDOW = 31  # zlib's code for a gzip header: no name, time 0


def encode_series(labels: LabelSet) -> str:
    """A label set as text, equal for equal sets."""
    return json.dumps(labels, ensure_ascii=False, separators=(",", ":"))


def decode_series(text: str) -> LabelSet:
    """The label set of `encode_series`."""
    return tuple((name, value) for name, value in json.loads(text))


def compress(message: bytes) -> bytes:
    """Gzip without name and time, so that equal profiles are equal bytes."""
    packer = zlib.compressobj(6, zlib.DEFLATED, _GZIP_WINDOW)
    return packer.compress(message) + packer.flush()


@dataclass(slots=True)
class _Group:
    """Stacks of one series and window: (frames, sample labels) -> values."""

    stacks: dict[tuple[Stack, Labels], list[int]] = field(default_factory=dict)

    def add(self, stack: tuple[Stack, Labels], values: Sequence[int]) -> None:
        known = self.stacks.get(stack)
        if known is None:
            self.stacks[stack] = list(values)
        else:
            for number, value in enumerate(values):
                known[number] += value


_Key = tuple[str, LabelSet, int]  # tenant, labels, window end


class PayloadBuilder:
    """Makes the payloads of one exporter.

    Args:
        settings: The exporter's settings.
        dictionary: Texts of the ids in a batch.
        guard: Bounds the number of series.
    """

    def __init__(
        self, settings: ExportSettings, dictionary: Dictionary, guard: SeriesGuard
    ) -> None:
        self._settings = settings
        self._dictionary = dictionary
        self._guard = guard
        self._labels = [name for name in SERIES_LABELS if name in settings.labels]
        fields = [SERIES_LABELS[name] for name in self._labels]
        self._series = tuple(Column(name, role_of(name)) for name in fields)
        self._frames = tuple(Column(name, role_of(name)) for name in settings.stack)
        self._measures = tuple(find_measure(name) for name in settings.measures)
        self._cost = settings.measures.index(_COST) if _COST in settings.measures else None
        self.late = 0

    def query(
        self,
        exporter: str,
        after_generation: int,
        window_ns: int,
        now_ns: int,
        rule: HoldRule,
        held: Held,
    ) -> BatchQuery:
        """What to ask the outbox for."""
        return BatchQuery(
            exporter=exporter,
            series=self._series,
            frames=self._frames,
            measures=self._measures,
            after_generation=after_generation,
            max_operations=_MAX_OPERATIONS,
            window_ns=window_ns,
            closed_ns=last_closed(now_ns),
            span_links=self._settings.span_links,
            rule=rule,
            held=held,
        )

    def build(self, batch: Batch, window_ns: int, now_ns: int) -> Built:
        """Payloads of a batch, numbered from `batch.first_id`."""
        groups = self._group(batch, now_ns)
        rounder = CostRounder(batch.carries)
        rows: list[NewRow] = []
        for key in sorted(groups):
            tenant, labels, window_end = key
            series = encode_series(labels)
            profile = self._profile(groups[key], rounder, (tenant, series), window_ns)
            for part in self._split(profile):
                identifier = batch.first_id + len(rows)
                time_ns = payload_time(window_end, identifier, self._settings.shard)
                message = self._encode(replace(part, time_ns=time_ns), labels)
                rows.append(
                    NewRow(
                        identifier, tenant, series, time_ns, len(message), len(part),
                        compress(message),
                    )
                )  # fmt: skip
        return Built(rows, rounder.changed)

    def _group(self, batch: Batch, now_ns: int) -> dict[_Key, _Group]:
        first_frame = 3 + len(self._series)
        first_value = first_frame + len(self._frames)
        columns = list(zip(*batch.rows, strict=True))
        tenants = self._dictionary.strings(set(columns[0]))
        labels = self._label_sets(batch.rows, columns, tenants)
        frames = [
            column_frames(column, set(columns[number]), self._dictionary)
            for number, column in enumerate(self._frames, first_frame)
        ]
        groups: dict[_Key, _Group] = defaultdict(_Group)
        for row in batch.rows:
            window_end = self._place(row[first_frame - 2], now_ns)
            if window_end is None:
                self.late += 1
                continue
            names = zip(frames, row[first_frame:first_value], strict=True)
            stack = tuple(frame for known, key in names for frame in known.stack(key))
            stack = stack or (UNKNOWN_FRAME,)
            tenant = tenants.get(row[0], "")
            # A cost or a time below zero would make a backend drop the whole sample.
            values = [max(0, value) for value in row[first_value:]]
            link = (("span_id", row[first_frame - 1]),) if row[first_frame - 1] else ()
            groups[tenant, labels[tuple(row[: first_frame - 2])], window_end].add(
                (self._shorten(stack), link), values
            )
        return groups

    def _label_sets(
        self,
        rows: Sequence[Sequence[Any]],
        columns: list[tuple[Any, ...]],
        tenants: Any,
    ) -> dict[tuple[Any, ...], LabelSet]:
        """Admitted labels for every (tenant, series ids) of the rows."""
        texts = [
            label_by_id(column, set(columns[number]), self._dictionary)
            for number, column in enumerate(self._series, 1)
        ]
        keys = {tuple(row[: 1 + len(self._series)]) for row in rows}
        wanted: dict[tuple[Any, ...], tuple[str, LabelSet]] = {}
        for key in keys:
            values = [
                (name, found[number])
                for name, found, number in zip(self._labels, texts, key[1:], strict=True)
            ]
            labels = make_labels(self._settings.profile, values)
            wanted[key] = (tenants.get(key[0], ""), labels)
        # In order of their text, so that it does not depend on ids which series overflow.
        ordered = sorted(wanted.items(), key=lambda item: item[1])
        return {key: self._guard.admit(tenant, labels) for key, (tenant, labels) in ordered}

    def _place(self, window_end: int, now_ns: int) -> int | None:
        """The window to push to; None drops what is late."""
        if self._settings.late == "push":
            return window_end
        if window_end > now_ns - int(self._settings.max_age * SECOND_NS):
            return window_end
        return last_closed(now_ns) if self._settings.late == "restamp" else None

    def _shorten(self, stack: tuple[str, ...]) -> tuple[str, ...]:
        """A stack that is not too deep: frames go from its middle, root and leaf stay."""
        limit = self._settings.max_depth
        if len(stack) <= limit:
            return stack
        gone = len(stack) - limit + 1
        return (*stack[: limit - 2], f"({gone} frames left out)", stack[-1])

    def _profile(
        self, group: _Group, rounder: CostRounder, key: tuple[str, str], window_ns: int
    ) -> Profile:
        stacks = sorted(group.stacks)
        values = [group.stacks[stack] for stack in stacks]
        if self._cost is not None:
            for row, micro in zip(
                values, rounder.round(key, [row[self._cost] for row in values]), strict=True
            ):
                row[self._cost] = micro
        like = self._empty(window_ns)
        return build_profile(
            ((*stack, row) for stack, row in zip(stacks, values, strict=True)), like=like
        )

    def _empty(self, window_ns: int) -> Profile:
        types = tuple(
            SampleType(item.name, _MICRO_USD if item.unit == _NANO_USD else item.unit)
            for item in self._measures
        )
        names = self._settings.measures
        return Profile(
            sample_types=types,
            frames=(),
            offsets=array("q", [0]),
            frame_ids=array("i"),
            values=tuple(array("q") for _ in types),
            default="tokens" if "tokens" in names else names[-1],
            duration_ns=window_ns,
        )

    def _encode(self, profile: Profile, labels: LabelSet) -> bytes:
        service = dict(labels)["service_name"]
        return encode_message(profile, PprofOptions(name=self._settings.profile, mapping=service))

    def _split(self, profile: Profile) -> Iterator[Profile]:
        """Parts that are small enough; nothing when the profile is empty."""
        if profile.is_empty:
            return
        small = len(profile) <= self._settings.max_samples
        if small:
            # Labels are the same in every part: any set shows the size of the rest.
            size = len(encode_message(replace(profile, time_ns=1 << 60))) + _SIZE_MARGIN
            small = size <= self._settings.max_profile_bytes
        if small or len(profile) == 1:
            yield profile
            return
        rows = list(profile.stacks())
        middle = len(rows) // 2
        for half in (rows[:middle], rows[middle:]):
            yield from self._split(build_profile(half, like=profile))


_MAX_OPERATIONS = 200_000
# Service name as mapping, and what the varints of the real time take.
_SIZE_MARGIN = 512
