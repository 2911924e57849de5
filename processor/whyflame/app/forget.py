"""Forgetting a session or a user for good: rows, strings, payloads, journal, dead letters, bytes.

Only in a store that is closed for it. A running server writes the request down, ends its store
process, and the next one carries it out before it opens the store to anyone; receivers go on
acknowledging meanwhile. A kill in between repeats it at the next start.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import secrets
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from whyflame.app.build import DEAD_LETTERS, FORWARD, JOURNAL, build_pipeline, now_ns
from whyflame.app.opening import DATABASE
from whyflame.config import default_memory_limit
from whyflame.errors import NothingMatched, UsageError, WhyflameError
from whyflame.index.dead_letters import DeadLetters
from whyflame.journal import Position, read_applied
from whyflame.journal.scrub import Forgotten, scrub_journal
from whyflame.journal.segments import list_streams
from whyflame.store.duck import DEFAULT_MEMORY_LIMIT
from whyflame.store.forget import Removed, forget_traces, traces_of_session, traces_of_user
from whyflame.store.rewrite import rewrite_database

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from whyflame.app.build import Pipeline
    from whyflame.config import Config

__all__ = ["ForgetRequest", "carry_out_waiting", "forget", "result_of", "write_down"]

_LOG = logging.getLogger(__name__)
_FOLDER = "forget"
_EVERYTHING = Position(1 << 62, 0)
_RESULTS = "results.jsonl"
_USER_HASH = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """What to forget: a session or a user of one tenant.

    Attributes:
        session: Session id. user: User id as it was sent, or its hash as the store shows it.
    """

    tenant: str = ""
    session: str | None = None
    user: str | None = None

    def __post_init__(self) -> None:
        """Check that one thing is asked for."""
        if bool(self.session) == bool(self.user):
            raise UsageError("name a session or a user, one of them")


def forget(
    data_dir: Path, config: Config, requests: Iterable[ForgetRequest]
) -> list[dict[str, int]]:
    """Carry out requests on a store that nobody uses, then write the database anew.

    Returns:
        Counts of what was removed, for each request.

    Raises:
        StoreError: The store is in use, or cannot be written anew.
    """
    pipeline = build_pipeline(data_dir, config, exports=False)
    try:
        pipeline.indexer.drain()
        pipeline.settle_job.tick(everything=True)
        # Rows first: the dictionaries in memory are stale afterwards, so nothing else is written.
        done = [_remove(pipeline, data_dir, request) for request in requests]
    finally:
        pipeline.close()
    limit = config.store.memory_limit or default_memory_limit() or DEFAULT_MEMORY_LIMIT
    rewrite_database(data_dir / DATABASE, memory_limit=limit)
    return done


def forget_one(data_dir: Path, config: Config, request: ForgetRequest) -> dict[str, int]:
    """`whyflame forget` on a store that is not in use.

    Raises:
        NothingMatched: There was nothing of it.
    """
    (done,) = forget(data_dir, config, [request])
    if not any(done.values()):
        raise NothingMatched("nothing of this session or user is here")
    return done


def _remove(pipeline: Pipeline, data_dir: Path, request: ForgetRequest) -> dict[str, int]:
    cursor = pipeline.store.cursor()
    names: set[str] = set()
    if request.session:
        names.add(request.session)
        keys = traces_of_session(cursor, request.session, request.tenant)
    else:
        user = request.user or ""
        is_hash = _USER_HASH.fullmatch(user) is not None
        digest = user if is_hash else hashlib.sha256(user.encode()).hexdigest()[:16]
        names.add(user)
        keys = traces_of_user(cursor, digest, request.tenant)
    removed = forget_traces(pipeline.store, keys, request.tenant) if keys else Removed()
    forgotten = Forgotten(request.tenant, removed.trace_ids, frozenset(names | removed.names))
    journal = data_dir / JOURNAL
    return {
        "traces": removed.traces,
        "spans": removed.spans,
        "payloads": removed.payloads,
        "unsent_operations": removed.unsent,
        "requests": scrub_journal(journal, read_applied(journal), forgotten)
        + _scrub_spools(data_dir / FORWARD, forgotten),
        "dead_letters": sum(
            DeadLetters(folder).forget(request.tenant)
            for folder in [data_dir / DEAD_LETTERS, *(data_dir / FORWARD).glob(f"*/{DEAD_LETTERS}")]
        ),
    }


def _scrub_spools(folder: Path, forgotten: Forgotten) -> int:
    """The same for requests that wait to be forwarded, all of them: none is read while we look."""
    spools = [path for path in folder.glob("*/*") if path.name != DEAD_LETTERS and path.is_dir()]
    return sum(
        scrub_journal(spool, dict.fromkeys(list_streams(spool), _EVERYTHING), forgotten)
        for spool in spools
    )


def write_down(data_dir: Path, request: ForgetRequest) -> str:
    """Leave a request for the next start of the store process; returns its id."""
    folder = data_dir / _FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    identifier = secrets.token_hex(8)
    partial = folder / f"{identifier}.partial"
    partial.touch(mode=0o600)
    partial.write_text(json.dumps(asdict(request)), encoding="utf-8")
    partial.replace(folder / f"{identifier}.json")
    return identifier


def carry_out_waiting(data_dir: Path, config: Config) -> None:
    """Carry out the requests that were written down; what fails is tried at the next start."""
    files = sorted((data_dir / _FOLDER).glob("*.json"))
    if not files:
        return
    requests = [ForgetRequest(**json.loads(file.read_text(encoding="utf-8"))) for file in files]
    try:
        counts = forget(data_dir, config, requests)
    except WhyflameError as error:
        _LOG.error("what was to be forgotten is still there, the next start tries again: %s", error)
        return
    for file, request, done in zip(files, requests, counts, strict=True):
        _record(data_dir, {"id": file.stem, "tenant": request.tenant, "at_ns": now_ns(), **done})
        file.unlink()


def _record(data_dir: Path, result: dict[str, Any]) -> None:
    """Append to the list of what was forgotten, which names nobody."""
    with (data_dir / _FOLDER / _RESULTS).open("a", encoding="utf-8") as file:
        file.write(json.dumps(result) + "\n")


def result_of(data_dir: Path, identifier: str, tenant: str) -> dict[str, Any] | None:
    """The counts of a request that was carried out; None while it waits.

    Raises:
        NothingMatched: The tenant made no such request.
    """
    results = data_dir / _FOLDER / _RESULTS
    lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    for line in reversed(lines):
        result: dict[str, Any] = json.loads(line)
        if result["id"] == identifier and result["tenant"] == tenant:
            return result
    waiting = data_dir / _FOLDER / f"{identifier}.json"
    is_waiting = identifier.isalnum() and waiting.exists()
    if is_waiting and json.loads(waiting.read_text(encoding="utf-8"))["tenant"] == tenant:
        return None
    raise NothingMatched("no such request to forget")
