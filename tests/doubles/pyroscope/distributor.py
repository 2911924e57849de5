"""The write path: what happens to a push between the handler and the store."""

from __future__ import annotations

import threading
import zlib
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from tests.doubles.pyroscope.errors import Refusal, invalid
from tests.doubles.pyroscope.normalize import Normal, normalize, split_by_labels
from tests.doubles.pyroscope.profiles import Profiles, StoredProfile
from tests.doubles.pyroscope.validate import label_text, validate_labels, validate_profile
from tests.doubles.pyroscope.wire import Profile

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.doubles.pyroscope.limits import Flavour, Limits

GZIP = b"\x1f\x8b"
DEFAULT_TENANT = "anonymous"


class Distributor:
    """Checks, limits, normalises, splits and stores.

    Args:
        flavour: Which server is played.
        limits: Per-tenant limits; may be replaced at any time.
        clock: Nanoseconds since the epoch.
    """

    def __init__(self, flavour: Flavour, limits: Limits, clock: Callable[[], int]) -> None:
        self.flavour = flavour
        self.limits = limits
        self.profiles = Profiles(flavour)
        self._clock = clock
        self._buckets: dict[str, tuple[float, int]] = {}
        self._lock = threading.Lock()

    def tenant(self, header: str | None) -> str:
        """Tenant of a request; any header counts for nothing while multi-tenancy is off."""
        if not self.limits.multitenancy:
            return DEFAULT_TENANT
        if not header:
            raise Refusal("unauthenticated", "no org id")
        return header

    def push(self, tenant: str, request: Any) -> None:
        """Store every (series, sample) pair that passes; if any fails the call fails."""
        if not any(series.samples for series in request.series):
            raise invalid("no profiles received")
        raw = [
            (number, [(pair.name, pair.value) for pair in series.labels], sample)
            for number, series in enumerate(request.series)
            for sample in series.samples
        ]
        opened = self._open(raw)
        failures: list[tuple[str, Refusal]] = []
        for (number, labels, sample), content in zip(raw, opened, strict=True):
            try:
                self.push_profile(tenant, labels, content)
            except Refusal as refusal:
                where = f"push series with index {number} and id {sample.ID} failed"
                failures.append((where, refusal))
        if failures:
            text = "; ".join(f"{where}: {refusal.message}" for where, refusal in failures)
            raise Refusal(failures[0][1].code, text)

    def _open(self, raw: list[tuple[int, list[tuple[str, str]], Any]]) -> list[bytes | Refusal]:
        opened: list[bytes | Refusal] = []
        total = 0
        for _, _, sample in raw:
            try:
                content = inflate(sample.raw_profile, self.limits.profile_bytes)
            except Refusal as refusal:
                opened.append(refusal)
                continue
            total += len(content)
            if total > self.limits.request_bytes:
                raise invalid("uncompressed batched profile payload size exceeds limit")
            opened.append(content)
        return opened

    def push_profile(
        self, tenant: str, labels: list[tuple[str, str]], content: bytes | Refusal
    ) -> None:
        """One profile of one series, uncompressed, in the server's order of checks."""
        if isinstance(content, Refusal):
            raise content
        try:
            profile = Profile.FromString(content)
        except DecodeError as error:
            raise invalid(f"failed to parse profile: {error}") from None
        if not labels:
            raise invalid("no labels for profile")
        if all(name != "service_name" for name, _ in labels):
            labels = [*labels, ("service_name", "unknown_service")]
        self._take(tenant, len(content) + sum(len(n) + len(v) for n, v in labels))
        validate_profile(profile, label_text(labels), self.limits, self._clock())
        normal = normalize(profile)
        if normal.stacks:
            labels = [pair for pair in labels if pair[0] != "__session_id__"]
            self._store(tenant, labels, normal, profile.time_nanos)

    def _take(self, tenant: str, size: int) -> None:
        """Token bucket in the double's own time."""
        limits, now = self.limits, self._clock()
        with self._lock:
            level, before = self._buckets.get(tenant, (float(limits.burst_bytes), now))
            earned = max(0, now - before) / 1e9 * limits.rate_bytes_per_second
            level = min(float(limits.burst_bytes), level + earned)
            if size > level:
                self._buckets[tenant] = (level, now)
                rate = human(limits.rate_bytes_per_second)
                raise Refusal(
                    "resource_exhausted",
                    f"push rate limit ({rate}) exceeded while adding {human(size)}",
                )
            self._buckets[tenant] = (level - size, now)

    def _store(
        self, tenant: str, labels: list[tuple[str, str]], normal: Normal, time_ns: int
    ) -> None:
        stored: list[StoredProfile] = []
        for promoted, stacks in split_by_labels(normal.stacks, self.flavour).items():
            own = {name for name, _ in labels}
            series = [*labels, *(pair for pair in promoted if pair[0] not in own)]
            checked = validate_labels(series, self.limits, self.flavour)
            name = dict(checked)["__name__"]
            for number, (kind, unit) in enumerate(normal.types):
                values = tuple(
                    (stack.frames, stack.labels, stack.values[number])
                    for stack in stacks
                    if stack.values[number]
                )
                type_id = ":".join((name, kind, unit, *normal.period_type))
                stored.append(StoredProfile(tenant, tuple(checked), type_id, time_ns, values))
        self._check_series(tenant, stored)
        self.profiles.add(stored)

    def _check_series(self, tenant: str, stored: list[StoredProfile]) -> None:
        if not self.flavour.is_v1 or not self.limits.active_series:
            return
        known = {(p.labels, p.type_id) for p in self.profiles.select(tenant)}
        new = {(p.labels, p.type_id) for p in stored} - known
        if new and len(known) + len(new) > self.limits.active_series:
            raise Refusal(
                "resource_exhausted",
                f"Maximum active series limit exceeded ({len(known)}/{self.limits.active_series})",
            )


def inflate(content: bytes, limit: int) -> bytes:
    """Content of a gzip member, or the bytes themselves; a bomb is refused before it unfolds."""
    if not content.startswith(GZIP):
        if len(content) > limit:
            raise invalid("uncompressed profile payload size exceeds limit")
        return content
    inflater = zlib.decompressobj(wbits=31)
    try:
        result = inflater.decompress(content, limit + 1)
    except zlib.error as error:
        raise invalid(f"failed to decompress: {error}") from None
    if len(result) > limit:
        raise invalid("uncompressed profile payload size exceeds limit")
    return result


def human(size: int) -> str:
    """A size as the server writes it: one decimal below ten."""
    value, unit = float(size), "B"
    for larger in ("KiB", "MiB", "GiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.1f} {unit}" if value < 10 and unit != "B" else f"{value:.0f} {unit}"
