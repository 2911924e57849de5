"""whyflame beside agentpprof (`cargo install agentpprof`) on equal session files.

    python bench/fold/beside_agentpprof.py 27765

agentpprof reads the session files for every profile. whyflame reads them once (`import`) and answers
each profile from its store. Whole commands, in turn; the median of the rounds. Says so and ends when
there is no agentpprof.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bytecode import compiled_once
from session_files import write_session_files

ROUNDS = 5


def main() -> None:
    tool = shutil.which("agentpprof")
    if tool is None:
        print("no agentpprof: cargo install agentpprof, to see both side by side")
        return
    print("| operations | command | wall | CPU | memory | tokens |")
    print("|---|---|---|---|---|---|")
    for size in (int(word) for word in sys.argv[1:]):
        with tempfile.TemporaryDirectory() as folder, compiled_once() as environment:
            compare(tool, Path(folder), size, environment)


def compare(tool: str, folder: Path, size: int, environment: dict[str, str]) -> None:
    """Print both tools' figures over the session files of one size."""
    sessions, store = folder / "sessions", folder / "store"
    write_session_files(sessions, size)
    store.mkdir()
    ours = [sys.executable, "-m", "whyflame"]
    theirs = [tool, "--view", "tokens", "--no-cache", "--project-root", str(sessions)]
    theirs += ["--claude-root", str(sessions), "--codex-root", str(folder / "none"), "-o"]
    profile = [*ours, "profile", "--view", "tokens", "--data-dir", str(store), "-o"]
    read = run([*ours, "import", str(sessions), "--data-dir", str(store)], environment)
    rounds = [
        (
            run([*theirs, str(folder / "theirs.pb.gz")], environment),
            run([*profile, str(folder / "ours.pb.gz")], environment),
        )
        for _ in range(ROUNDS)
    ]
    totals = []
    for command, name in ((theirs, "theirs.folded"), (profile, "ours.folded")):
        run([*command, str(folder / name), "--format", "folded"], environment)
        totals.append(widths(folder / name))
    report(size, "agentpprof", [pair[0] for pair in rounds], totals[0])
    report(size, "whyflame profile", [pair[1] for pair in rounds], totals[1])
    report(size, "whyflame import, once", [read], totals[1])


def run(command: list[str], environment: dict[str, str]) -> tuple[float, float, int]:
    """Wall and CPU seconds and peak MiB of a whole command."""
    began = time.perf_counter()
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    wall = time.perf_counter() - began
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024


def widths(file: Path) -> int:
    """The sum of a folded file."""
    return sum(int(line.rsplit(" ", 1)[1]) for line in file.read_text().splitlines())


def report(size: int, name: str, runs: list[tuple[float, float, int]], tokens: int) -> None:
    wall = statistics.median(run[0] for run in runs)
    cpu = min(run[1] for run in runs)
    memory = max(run[2] for run in runs)
    print(
        f"| {size:,} | {name} | {wall:.2f} s | {cpu:.2f} s | {memory} MiB | {tokens:,} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
