"""Run the double by hand and print what it received whenever that changes."""

from __future__ import annotations

import argparse
import json
import sys
import time

from tests.doubles.pyroscope import Double, Flavour, Limits


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.doubles.pyroscope", description=__doc__)
    parser.add_argument("--port", type=int, default=4040)
    parser.add_argument("--flavour", choices=[f.value for f in Flavour], default=Flavour.V2_2.value)
    parser.add_argument(
        "--reject-older", type=int, default=3600, help="seconds; 0 accepts profiles of any age"
    )
    parser.add_argument("--multitenancy", action="store_true")
    options = parser.parse_args()
    limits = Limits(reject_older_seconds=options.reject_older, multitenancy=options.multitenancy)
    with Double(options.flavour, limits, port=options.port) as double:
        sys.stdout.write(
            f"{double.flavour.value} on {double.url} (HTTP and gRPC), /double/state says what arrived, "
            "/double/stacks/tokens shows it folded, /double/compact drops duplicates\n"
        )
        _watch(double)


def _watch(double: Double) -> None:
    shown = -1
    try:
        while True:
            if len(double.profiles.all) != shown:
                shown = len(double.profiles.all)
                sys.stdout.write(json.dumps(double.state(), indent=1) + "\n")
                sys.stdout.flush()
            time.sleep(1)
    except KeyboardInterrupt:
        sys.stdout.write("stopped\n")


if __name__ == "__main__":
    main()
