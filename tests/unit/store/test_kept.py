"""A number that may be old is looked up once, and again when a new writer may have changed it."""

from __future__ import annotations

from whyflame.store.kept import Kept


def test_a_number_of_late_is_looked_up_once() -> None:
    kept, asked = Kept(), iter(range(10))
    assert [kept.lately("rows", asked.__next__) for _ in range(3)] == [0, 0, 0]
    assert kept.lately("others", asked.__next__) == 1
    kept.clear()
    assert kept.lately("rows", asked.__next__) == 2
