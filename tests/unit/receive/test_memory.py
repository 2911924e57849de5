"""Memory that requests needed stays while they come, and not for ever."""

from __future__ import annotations

from whyflame.receive.limits import InflightBytes
from whyflame.receive.memory import IdleMemory


def test_memory_is_given_back_once_after_requests_end() -> None:
    """Not before any came, not while they come or are in hand, and not again and again."""
    now, given, inflight = [0.0], [], InflightBytes(1 << 20)
    memory = IdleMemory(inflight, lambda: given.append(0), lambda: now[0])

    def pass_time(seconds: int) -> None:
        for _ in range(seconds):
            now[0] += 1
            memory.tick()

    pass_time(60)
    assert given == []
    for _ in range(30):
        with inflight.hold() as held:
            held.add(10)
        pass_time(1)
    assert given == []
    with inflight.hold() as held:
        held.add(10)
        pass_time(60)
    assert given == []
    pass_time(60)
    assert given == [0]
