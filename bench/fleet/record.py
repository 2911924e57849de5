"""Records the bundled fleet: `python bench/fleet/record.py`.

Builds an environment of its own outside the repository, plays every session with really
instrumented agents, and writes `processor/whyflame/demo_data/`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET = HERE.parents[1] / "processor" / "whyflame" / "demo_data"


def environment() -> Path:
    """The recorder's own Python, built once in the user's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "whyflame" / "fleet"
    python = cache / "bin" / "python"
    stamp = cache / "requirements.txt"
    wanted = (HERE / "requirements.txt").read_text()
    if not stamp.exists() or stamp.read_text() != wanted:
        venv.create(cache, with_pip=True)
        subprocess.run(
            [python, "-m", "pip", "install", "-q", "-r", HERE / "requirements.txt"], check=True
        )
        stamp.write_text(wanted)
    return python


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", default="whyflame")
    parser.add_argument("--minutes", type=float, default=50.0, help="length of the whole recording")
    parser.add_argument("--limit", type=int, default=0, help="sessions of each agent, 0 = all")
    parser.add_argument("-o", "--output", type=Path, default=TARGET)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if not args.inside:
        command = [environment(), __file__, "--inside", *sys.argv[1:]]
        raise SystemExit(subprocess.run(command, check=False).returncode)
    from recording import record

    record(seed=args.seed, minutes=args.minutes, limit=args.limit, output=args.output)


if __name__ == "__main__":
    main()
