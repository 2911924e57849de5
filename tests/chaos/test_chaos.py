"""Trouble under load: a few rounds in `make test`, hundreds in `make chaos`."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from tests.chaos.rounds import (
    CannotMountError,
    corrupt_rounds,
    full_disk_rounds,
    kill_rounds,
    say,
    small_disk,
)

if TYPE_CHECKING:
    from pathlib import Path

SHORT = [pytest.mark.slow, pytest.mark.timeout(300)]
LONG = [pytest.mark.soak, pytest.mark.timeout(4 * 3600)]


def rounds(few: int, many: int) -> pytest.MarkDecorator:
    """A short and a long version of the same."""
    return pytest.mark.parametrize(
        "rounds", [pytest.param(few, marks=SHORT), pytest.param(many, marks=LONG)]
    )


def new_seed() -> int:
    """Another one each time; it is in the report of a failure."""
    seed = random.SystemRandom().randrange(10**6)
    say(f"CHAOS_SEED={seed}")
    return seed


@rounds(5, 200)
def test_killed_processes(tmp_path: Path, rounds: int) -> None:
    """Whoever is killed whenever: acknowledged runs are stored whole, once, and no other ones."""
    kill_rounds(tmp_path / "d", rounds, new_seed())


@rounds(1, 20)
def test_a_full_disk(tmp_path: Path, rounds: int) -> None:
    """Senders are refused while the disk is full; everything goes on by itself afterwards."""
    try:
        with small_disk(tmp_path / "disk") as disk:
            full_disk_rounds(disk, rounds, new_seed())
    except CannotMountError as error:
        pytest.skip(f"no small file system can be mounted here: {error}")


@rounds(5, 20)
def test_a_changed_byte(tmp_path: Path, rounds: int) -> None:
    """One request is lost, and coverage says so."""
    corrupt_rounds(tmp_path, rounds, new_seed())
