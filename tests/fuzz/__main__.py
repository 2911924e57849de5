"""Fuzzing for a while: `python -m tests.fuzz --minutes 60` (`make fuzz MINUTES=60`).

Rounds in processes of their own, each with a fresh store and a fresh receiver: an input that
crashes, hangs or eats memory ends its round only. The last input of such a round is tried again
alone: what breaks something by itself is put into `found`, where `make test` tries it for ever after;
what does not is named for a look, since the fault may have been made by all of the round. One line a
round; exit code 1 when anything was found.
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
ALONE_SECONDS = 120


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


def try_again(last: Path) -> None:
    """One input alone, as `looks.note` wrote it, at the door it was meant for."""
    from tests.fuzz.looks import Entry, HttpDoor, read_note

    logging.disable(logging.ERROR)
    signal, kind, content = read_note(last)
    with tempfile.TemporaryDirectory() as folder:
        if signal == "http":
            door = HttpDoor(Path(folder))
            door.talk(content)
            door.check_alive()
            door.close()
        else:
            entry = Entry(Path(folder))
            entry.take_named(signal, kind, content)
            entry.store.close()


def keep(folder: Path) -> str:
    """What became of the input that was tried last: a file of `found` if it is to blame."""
    from tests.fuzz.looks import read_note

    last = folder / "last"
    if not last.exists():
        return "nothing was tried"
    signal, kind, content = read_note(last)
    name = f"{signal}-{hashlib.sha256(content).hexdigest()[:8]}.{kind}"
    if not ended_well(["--again", str(last)], ALONE_SECONDS):
        FOUND.mkdir(exist_ok=True)
        (FOUND / name).write_bytes(content)
        return str(FOUND / name)
    doubtful = Path(tempfile.gettempdir(), f"fuzz-{name}")
    doubtful.write_bytes(content)
    return f"the last input does no harm alone, {doubtful}"


def ended_well(arguments: list[str], seconds: float) -> bool:
    """Whether this program, in a process of its own, came to its end."""
    command = [sys.executable, "-m", "tests.fuzz", *arguments]
    try:
        return subprocess.run(command, timeout=seconds, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        say(f"no end within {seconds} s")
        return False


def run_round() -> str | None:
    """A round in a process of its own; what it found, None when nothing."""
    with tempfile.TemporaryDirectory() as folder:
        if ended_well(["--round", folder], ROUND_SECONDS):
            return None
        return keep(Path(folder))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--round", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--again", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.again:
        try_again(options.again)
        return 0
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
