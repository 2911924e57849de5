"""Export drift of recorded agents, through the real store, settling, segmenting and export.

    python -m bench.segmentation.corpus_drift [--piece 10] [--pause 120]

The spans of every recording of the corpus arrive in the order of their ends, so many at a time, with
such a pause after each piece: parents and sub-agents' spans come after what was made below them.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tests import corpus
from tests.integration.export.growing import Growing

from whyflame.content import extract

if TYPE_CHECKING:
    from whyflame.store.outbox import Drift


def replay(name: str, piece: int, pause: float) -> tuple[int, Drift] | None:
    """Exported tokens and drift of one recording; None for one that is too short."""
    spans = corpus.read_requests(corpus.cases()[name].requests())
    if len(spans) < 2 * piece:
        return None
    spans.sort(key=lambda span: (span.end_ns or span.start_ns or 0, span.span_key))
    for span in spans:
        span.features = extract(span, "features")
    with TemporaryDirectory() as folder:
        run = Growing(Path(folder) / "w.duckdb", {"late": "restamp"})
        for first in range(0, len(spans), piece):
            run.arrive(spans[first : first + piece])
            run.tick(pause)
        run.tick(pause)
        run.tick(pause)
        found = run.exported_tokens(), run.drift()
        run.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--piece", type=int, default=10)
    parser.add_argument("--pause", type=float, default=120.0)
    options = parser.parse_args()
    piece, pause = options.piece, options.pause
    tokens = moved = 0
    for name in corpus.names():
        if (found := replay(name, piece, pause)) is not None:
            tokens, moved = tokens + found[0], moved + found[1].moved_tokens
            print(f"{name}: {found[1].moved_tokens:,}/{found[0]:,}", flush=True)
    print(
        f"pieces of {piece} spans, {pause:.0f} s: {moved:,}/{tokens:,} tokens ({moved / tokens:.1%})"
    )


if __name__ == "__main__":
    main()
