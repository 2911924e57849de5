"""What features are made of is found by short ways; they find what the plain way finds."""

from __future__ import annotations

import re
from zlib import crc32

from hypothesis import given, strategies as st

from whyflame.content.vocabulary import CUE_WORDS, CUES, STOP_WORDS
from whyflame.content.words import BAG_BITS, bags_of, known_words, plain_words

TOKENS = st.one_of(
    st.sampled_from(
        "the fix failing tests now Please Maria Schmidt named Dr. for Hana, 'x', error: src/app.py 12 v2.1 I'm "
        "ref_01ab Done. --- naïve co-op it's ERROR Straße 3fa9c0 build, (see) x=1 my name is".split()
    ),
    st.text(min_size=1, max_size=45).filter(lambda text: len(text.split()) == 1),
)
TEXTS = st.lists(TOKENS, max_size=70).map(lambda tokens: " ".join(tokens).split())


def bag_of(tokens: list[str]) -> int:
    return bags_of([tokens])[0]


def plain_bag(tokens: list[str]) -> int:
    """Word by word, without any memory."""
    bag = 0
    for word in re.findall("[a-z]{3,}", " ".join(tokens).lower()):
        if word not in STOP_WORDS:
            bag |= 1 << crc32(word.encode()) % BAG_BITS
        for bit, cue in enumerate(CUES):
            if word in CUE_WORDS[cue].split():
                bag |= 1 << BAG_BITS + bit
    return bag


@given(TEXTS)
def test_a_bag_holds_each_word_of_its_tokens(tokens: list[str]) -> None:
    assert bag_of(tokens) == plain_bag(tokens)


@given(TEXTS, st.integers(1, 20))
def test_words_of_known_tokens_are_the_plain_words(tokens: list[str], limit: int) -> None:
    bag_of(tokens)
    assert known_words(tokens, limit) == plain_words(tokens, limit)


def test_ids_without_end_are_forgotten_and_words_are_not() -> None:
    """Memory of numbers and ids is bounded; forgetting them changes no bag."""
    kept = bag_of(["deploy"])
    for number in range(0, 60_000, 100):
        bag_of([f"id{at}x" for at in range(number, number + 100)])
    assert bag_of(["deploy", "id7x"]) == kept
