"""Fuzzing for a while: `python -m tests.fuzz --minutes 60` (`make fuzz MINUTES=60`).

Rounds in processes of their own, each with a fresh store and a fresh receiver: an input that
crashes, hangs or eats memory ends its round only. What breaks something is put into `found`, where
`make test` tries it for ever after. One line a round; exit code 1 when anything was found.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hypothesis import settings

FOUND = Path(__file__).parent / "found"
GROWTH_MIB = 300
# hypothesis itself holds on to what it tried: few at a time, so that memory tells about the product.
PASSES, EXAMPLES, HTTP_EXAMPLES = 5, 300, 100
ROUND_SECONDS = 1200


def say(text: str) -> None:
    """A line at once, also into a file."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def resident_mib() -> int:
    """The most this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def one_round(folder: Path) -> None:
    """Look at every door once; raises at the first fault, its input in `folder/last`."""
    from tests.fuzz.looks import Entry, HttpDoor, look_at_http, look_behind

    # What was found is a file, not an entry of a database that every round tries again.
    settings.register_profile("rounds", database=None, print_blob=False)
    settings.load_profile("rounds")
    logging.disable(logging.ERROR)  # of what is refused
    entry, door = Entry(folder), HttpDoor(folder)
    before = resident_mib()
    for _ in range(PASSES):
        look_behind(entry, EXAMPLES)
        look_at_http(door, HTTP_EXAMPLES)
    entry.store.close()
    door.close()
    grown = resident_mib() - before
    assert grown < GROWTH_MIB, f"{grown} MiB more"
    say(f"{dict(entry.outcomes)}, {PASSES * HTTP_EXAMPLES} over HTTP, {grown} MiB more")


def keep(folder: Path) -> Path | None:
    """The input that was tried last, as a file of `found`; None when nothing was tried."""
    if not (folder / "last").exists():
        return None
    head, _, content = (folder / "last").read_bytes().partition(b"\n")
    signal, kind = head.decode().split()
    FOUND.mkdir(exist_ok=True)
    file = FOUND / f"{signal}-{hashlib.sha256(content).hexdigest()[:8]}.{kind}"
    file.write_bytes(content)
    return file


def run_round() -> str | None:
    """A round in a process of its own; what it found, None when nothing."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.fuzz", "--round", folder]
        try:
            ended = subprocess.run(command, timeout=ROUND_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return f"no end within {ROUND_SECONDS} s: {keep(Path(folder))}"
        if ended.returncode:
            return f"exit code {ended.returncode}: {keep(Path(folder))}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--round", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.round:
        one_round(options.round)
        return 0
    began, rounds, faults = time.monotonic(), 0, 0
    while time.monotonic() - began < options.minutes * 60:
        rounds += 1
        if fault := run_round():
            faults += 1
            say(f"round {rounds}: {fault}")
    minutes = (time.monotonic() - began) / 60
    say(f"{rounds} rounds in {minutes:.0f} minutes, {faults} with a fault")
    return int(faults > 0)


if __name__ == "__main__":
    raise SystemExit(main())
