"""SIGKILL of every process under load: what was acknowledged is there once."""

from __future__ import annotations

import threading
from itertools import combinations
from typing import TYPE_CHECKING

import grpc
import pytest
from tests.runs import CALLS, run_request
from tests.serving import EXPORT, Serving, wait_until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

ROUNDS = 3


class _Load(threading.Thread):
    """Sends runs until the server is gone, and remembers which were acknowledged."""

    def __init__(self, address: str, first: int) -> None:
        super().__init__()
        self.address = address
        self.next = first
        self.acked: list[int] = []

    def run(self) -> None:
        with grpc.insecure_channel(self.address) as channel:
            call = channel.unary_unary(EXPORT.format("trace", "Trace"))
            while True:
                try:
                    call(run_request(self.next), timeout=5)
                except grpc.RpcError:
                    self.next += 1
                    return
                self.acked.append(self.next)
                self.next += 1


def test_acknowledged_is_stored_once(tmp_path: Path) -> None:
    """After kills at arbitrary moments and restarts, every acknowledged call counts once."""
    serving, tried = Serving(tmp_path / "d"), 1
    acked: list[int] = []
    unanswered: list[int] = []
    for round_number in range(ROUNDS):
        serving.start()
        load = _Load(serving.grpc, tried)
        load.start()
        wait_until(lambda load=load, least=15 * (round_number + 1): len(load.acked) > least)
        serving.kill()
        load.join(30)
        acked += load.acked
        tried = load.next
        unanswered.append(tried - 1)
    with serving:
        serving.settle()
        (row,) = serving.totals()
    more, rest = divmod(row["llm_calls"] - len(acked) * CALLS, CALLS)
    assert rest == 0
    # A request that was journalled when the kill came before its answer may be there as well.
    assert row["input_tokens"] in {
        CALLS * (sum(acked) + sum(also)) for also in combinations(unanswered, more)
    }
    assert row["output_tokens"] == 2 * row["llm_calls"]
