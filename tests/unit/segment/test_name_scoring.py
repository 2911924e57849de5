"""How right names are, by the one definition of it."""

from __future__ import annotations

import pytest

from whyflame.segment import Mark
from whyflame.segment.name_scoring import main_path, paths_of, read_annotated
from whyflame.segment.names import load_tables

TABLES = load_tables()


@pytest.mark.parametrize(
    ("annotated", "name", "verb", "word"),
    [
        ("Explore the repos", "inspect repository", True, True),
        ("Run the tests", "test script", False, False),  # the annotated verb is no object
        ("Verify test results", "test result file", True, True),
        ("Please fix login issues", "fix error", True, True),
    ],
)
def test_right(annotated: str, name: str, *, verb: bool, word: bool) -> None:
    """Verbs of one class and words of one alias are equal; the verb itself is not an object."""
    found = read_annotated(TABLES, annotated)
    assert found is not None
    assert found.has_verb_of(name) is verb
    assert found.has_object_of([name]) is word


@pytest.mark.parametrize("name", ["", None, "(all done)", "The very old login"])
def test_names_without_a_verb_do_not_count(name: str | None) -> None:
    """Nobody could be right about them."""
    assert read_annotated(TABLES, name) is None


def test_the_path_of_most_steps() -> None:
    """Of a group that lies in several intervals."""
    paths = paths_of([Mark(0, ("fix a",)), Mark(1, ("fix a", "test b"))], 4)
    assert paths == [("fix a",), *[("fix a", "test b")] * 3]
    assert main_path(paths, [0, 0, 0, 1], 0) == ("fix a", "test b")
