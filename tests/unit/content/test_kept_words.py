"""Which words of a text may be kept, and where what is asked for begins."""

from __future__ import annotations

import pytest

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
