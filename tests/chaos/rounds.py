"""Rounds of trouble under load, each checked: what was acknowledged is stored, once.

python -m tests.chaos.rounds kill 200
python -m tests.chaos.rounds full 20       # root, for a small file system of its own
python -m tests.chaos.rounds corrupt 20
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.chaos.load import Load
from tests.collector import free_port
from tests.runs import CALLS, run_request
from tests.serving import Serving, wait_until

from whyflame.app.build import build_pipeline
from whyflame.app.opening import open_store
from whyflame.config import Config
from whyflame.journal import JournalWriter, Signal
from whyflame.store.coverage import coverage
from whyflame.store.totals import totals

if TYPE_CHECKING:
    from collections.abc import Iterator

VICTIMS = ("receiver", "store", "both", "all", "worker")
SMALL_DISK_MIB = 40
BALLAST_BYTES = 20_000
DIFFERENT_BYTE = 0x41


def say(text: str) -> None:
    """A line at once, also into a file."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def serve_on_fixed_ports(data_dir: Path) -> Serving:
    """A server that can be started again where its senders look for it."""
    ports = {name: f"127.0.0.1:{free_port()}" for name in ("grpc", "http")}
    # Every pass goes to the worker, so that it lives when its turn comes.
    return Serving(data_dir, {"otlp": ports, "settle": {"worker_spans": 1}})


def check_stored(serving: Serving, first: int, end: int) -> None:
    """Runs `first` to `end` (excluded) are there, whole, once, with their own figures."""
    serving.settle()
    rows = {row["session"]: row for row in serving.totals("session")}
    for trace in range(first, end):
        row = rows.get(f"trace:{trace:032x}")
        assert row is not None, f"run {trace} was acknowledged and is lost"
        found = (row["llm_calls"], row["input_tokens"])
        assert found == (CALLS, CALLS * trace), f"run {trace}: {found}"
    assert len(rows) == end - 1, f"{len(rows)} runs are stored, {end - 1} were acknowledged"


def kill_rounds(data_dir: Path, rounds: int, seed: int) -> None:
    """SIGKILL at random moments: receiver, store process, both, the supervisor too, settle worker."""
    chance = random.Random(seed)
    serving = serve_on_fixed_ports(data_dir)
    following = 1
    for number in range(rounds):
        victim = VICTIMS[number % len(VICTIMS)]
        serving.start()
        load = Load(serving.grpc, following)
        load.start()
        time.sleep(chance.uniform(0.05, 0.8))
        kill(serving, victim)
        if victim == "all":
            serving.start()
        # Some runs pass the process that was started again.
        reached = load.next + 5
        wait_until(lambda load=load, reached=reached: load.next > reached, 60)
        load.finish()
        wait_until(lambda: answers(serving), 60)
        check_stored(serving, following, load.next)
        following = load.next
        # Every other life ends as a power cut does.
        if chance.random() < 0.5:
            serving.kill()
        else:
            assert serving.stop() == 0
        say(f"kill round {number + 1} ({victim}): {following - 1} runs stored once")


def kill(serving: Serving, victim: str) -> None:
    """SIGKILL; children are listed in the order they were started: store first."""
    if victim == "all":
        serving.kill()
        return
    store, receiver = serving.children_by_name()
    victims = {"receiver": [receiver], "store": [store], "both": [receiver, store]}
    for pid in victims.get(victim) or workers_of(store):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def workers_of(store: int) -> list[int]:
    """The settle worker of a store process, once there is one; on one processor there is none."""
    if len(os.sched_getaffinity(0)) == 1:
        return []
    found: list[int] = []

    def lives() -> bool:
        # Threads and children may end while they are looked at.
        with contextlib.suppress(OSError):
            for file in Path(f"/proc/{store}/task").glob("*/children"):
                for pid in map(int, file.read_text().split()):
                    command = Path(f"/proc/{pid}/cmdline").read_bytes()
                    if b"spawn_main" in command:
                        found.append(pid)
        return bool(found)

    wait_until(lives, 60)
    return found


def answers(serving: Serving) -> bool:
    """True while the API answers."""
    try:
        return bool(serving.text("/readyz"))
    except OSError:
        return False


class CannotMountError(Exception):
    """There is no small file system to be had here."""


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of a few MiB. Needs root; CannotMountError otherwise."""
    if os.geteuid() != 0:
        raise CannotMountError("mounting a small file system needs root")
    folder.mkdir(parents=True, exist_ok=True)
    size = f"size={SMALL_DISK_MIB}m"
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", size, "tmpfs", folder], check=False, capture_output=True
    )
    if done.returncode:
        raise CannotMountError(done.stderr.decode())
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def full_disk_rounds(disk: Path, rounds: int, seed: int) -> None:
    """The disk fills at a random moment, senders are refused, room comes back, nobody helps."""
    chance = random.Random(seed)
    serving = serve_on_fixed_ports(disk / "d")
    following = 1
    for number in range(rounds):
        # A fresh store: a small disk does not hold those of all rounds.
        for file in (disk / "d").rglob("*"):
            if file.is_file():
                file.unlink()
        following = 1
        with serving:
            load = Load(serving.grpc, following, size=BALLAST_BYTES)
            load.start()
            time.sleep(chance.uniform(0.1, 1.0))
            ballast = fill_disk(disk, chance.choice((0, 4096, 100_000)))
            wait_until(lambda load=load: load.refused > 2, 60)
            time.sleep(chance.uniform(0, 1.0))
            ballast.unlink()
            reached = load.next + 5
            wait_until(lambda load=load, reached=reached: load.next > reached, 60)
            load.finish()
            wait_until(lambda: answers(serving), 60)
            check_stored(serving, following, load.next)
            following = load.next
        say(f"full round {number + 1}: {following - 1} runs stored once")


def fill_disk(disk: Path, spare: int) -> Path:
    """A file that leaves `spare` bytes of the disk."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1 << 16))
        except OSError:
            size = file.tell()
            file.truncate(max(0, size - spare))
    return ballast


def corrupt_rounds(folder: Path, rounds: int, seed: int) -> None:
    """One byte of the journal changes before it is indexed: one request is lost, and reported."""
    chance = random.Random(seed)
    for number in range(rounds):
        data_dir = folder / f"round-{number}"
        writer = JournalWriter(data_dir / "journal", "r0")
        count = chance.randint(1, 40)
        for trace in range(1, count + 1):
            writer.append(run_request(trace), signal=Signal.TRACES, received_ns=10**18)
        writer.close()
        (segment,) = (data_dir / "journal").rglob("*.wfj")
        content = bytearray(segment.read_bytes())
        content[chance.randrange(len(content))] ^= DIFFERENT_BYTE
        segment.write_bytes(content)
        pipeline = build_pipeline(data_dir, Config(), exports=False)
        try:
            pipeline.indexer.drain()
            pipeline.settle_job.tick(everything=True)
        finally:
            pipeline.store.close()
        check_one_lost(data_dir, count)
        say(f"corrupt round {number + 1}: 1 of {count} lost, reported")


def check_one_lost(data_dir: Path, count: int) -> None:
    """All runs but one are whole, and coverage says that one request was lost."""
    from whyflame.fold.projection import compile_filter, make_projection

    store = open_store(data_dir, Config())
    try:
        everything = compile_filter(make_projection(["agent"]))
        rows = totals(store, ("session",), everything)
        assert len(rows) == count - 1, f"{len(rows)} of {count}"
        assert all(row["llm_calls"] == CALLS for row in rows)
        counters = coverage(store, everything)["counters"]
        assert counters["journal_lost"]["corrupt"] == 1, counters
    finally:
        store.close()


def main(kind: str, rounds: int) -> None:
    """Run from the command line, in a temporary folder."""
    seed = int(os.environ.get("CHAOS_SEED", time.time_ns() % 10**6))
    say(f"{kind}: {rounds} rounds, CHAOS_SEED={seed}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if kind == "kill":
            kill_rounds(folder / "d", rounds, seed)
        elif kind == "full":
            with small_disk(folder / "disk") as disk:
                full_disk_rounds(disk, rounds, seed)
        else:
            corrupt_rounds(folder, rounds, seed)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
