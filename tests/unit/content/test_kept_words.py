"""Which words of a text may be kept, and where what is asked for begins."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from whyflame.content.activity import ACTIVITIES, activity_of_command
from whyflame.content.words import plain_words, plea_at, verb_sentence_at


@pytest.mark.parametrize(
    "text",
    [
        "restore access for Dima today",
        "customer Elif asks for money",
        "your refund is on its way, Hana.",
        'try "Sesamo" as the password',
        "open the DirFileSystem class",
    ],
)
def test_people_quotes_and_identifiers_are_not_kept(text: str) -> None:
    """One capital word behind "for" or "customer", a quoted value, a camel-case identifier."""
    kept = plain_words(text.split(), 20)
    assert not {"dima", "elif", "hana", "sesamo", "dirfilesystem"} & set(kept)
    assert len(kept) > 1


def test_products_are_no_people() -> None:
    """A capital behind "for" is no reason to leave a product out."""
    assert "docker" in plain_words("write a file for Docker today".split(), 20)


@pytest.mark.parametrize(
    ("text", "begin"),
    [
        ("The test fails. Please fix it now", 4),
        ("The test fails. Fix it please.", 3),
        ("Can you look at this", 2),
        ("please", 0),
        ("nothing of the kind", 0),
    ],
)
def test_where_a_plea_begins(text: str, begin: int) -> None:
    """Behind "please", or at the sentence that ends so."""
    assert plea_at(text.split()) == begin


def test_the_sentence_with_the_verb() -> None:
    """What stands before it comes behind it in kept words."""
    assert verb_sentence_at("Users are out. Fix the login".split(), 6) == 3
    assert verb_sentence_at("one two three four five six seven fix".split(), 6) == 0


def plain_plea_at(tokens: list[str]) -> int:
    """Word by word."""
    before, sentence = "", 0
    for position, token in enumerate(tokens[:40]):
        word = token.lower().strip(".,:;!?()")
        ends = token[-1] in ".:!?" or position + 1 == len(tokens)
        if word in {"please", "bitte"} or (
            word == "you" and before in {"can", "could", "would", "will"}
        ):
            return sentence if ends else position + 1
        before, sentence = word, position + 1 if ends else sentence
    return 0


@given(
    st.lists(
        st.sampled_from(
            "fix it. now please Please, pleased (bitte) can Could you you? your !! done: YOU would".split()
        ),
        max_size=50,
    )
)
def test_pleas_are_found_as_word_by_word(tokens: list[str]) -> None:
    assert plea_at(tokens) == plain_plea_at(tokens)


TEST_RUN = re.compile(
    r"\b(?:pytest|unittest|runtests|(?:npm|yarn|pnpm|cargo|go|make|mvn|gradle|ctest|dotnet)"
    r"(?: run)? (?:test|check|vet|clippy|verify))\b|\btests?[/_.]|_test\b|\btest_"
)


@given(
    st.lists(
        st.sampled_from(
            "node go run test check make vet tests/x a_test test_b tests.py npm pytest cargo clippy x".split()
        ),
        min_size=1,
        max_size=6,
    ).map(lambda words: " ".join(["python", *words]))
)
def test_what_runs_tests_is_a_test(command: str) -> None:
    """The signs that are looked for first hide no match of the pattern."""
    is_test = ACTIVITIES[activity_of_command(command)[0]] == "test"
    assert is_test == bool(TEST_RUN.search(command))
