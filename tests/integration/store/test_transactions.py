"""What goes wrong in a transaction tells whether the same can be stored later."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from whyflame.errors import StoreBroken, TransientError
from whyflame.store.driver import duckdb
from whyflame.store.duck import transaction

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass
class _Failing:
    """A cursor on which one statement fails."""

    statement: str
    error: Exception
    done: list[str] = field(default_factory=list)

    def execute(self, statement: str) -> None:
        self.done.append(statement)
        if statement == self.statement:
            raise self.error


def _store(cursor: Any, meanwhile: Callable[[], object] | None) -> None:
    with transaction(cursor, meanwhile):
        cursor.execute("INSERT")


@pytest.mark.parametrize("meanwhile", [None, lambda: None])
@pytest.mark.parametrize("statement", ["BEGIN", "INSERT", "COMMIT"])
@pytest.mark.parametrize(
    "error",
    [
        duckdb.IOException("No space left on device"),
        duckdb.OutOfMemoryException("failed to allocate"),
        duckdb.TransactionException("Failed to commit"),
    ],
)
def test_a_full_disk_is_no_fault_of_what_was_to_be_stored(
    statement: str, error: Exception, meanwhile: Callable[[], object] | None
) -> None:
    """It is tried again, never set aside: a commit names no room by another class than a write."""
    cursor = _Failing(statement, error)
    with pytest.raises(TransientError):
        _store(cursor, meanwhile)
    assert cursor.done[-1] == "ROLLBACK"


def test_other_errors_are_rolled_back_and_passed_on() -> None:
    cursor = _Failing("INSERT", duckdb.ConversionException("not a number"))
    with pytest.raises(duckdb.ConversionException):
        _store(cursor, None)
    assert cursor.done[-1] == "ROLLBACK"


def test_a_database_that_was_given_up_is_opened_again() -> None:
    with pytest.raises(StoreBroken):
        _store(_Failing("COMMIT", duckdb.FatalException("invalidated")), None)
