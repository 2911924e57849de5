"""Scores against published examples and an independent implementation."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from whyflame.segment.scoring import bootstrap, summarize, tally

PARTITION = st.lists(st.integers(0, 5), min_size=1, max_size=40)
# Bagga and Baldwin (1998): truth {1-5}, {6,7}, {8-12}; A joins the last two, B the large two.
TRUTH = [0] * 5 + [1] * 2 + [2] * 5
JOINED_SMALL = [0] * 5 + [1] * 7
JOINED_LARGE = [0] * 5 + [1] * 2 + [0] * 5


@pytest.mark.parametrize(("response", "precision"), [(JOINED_SMALL, 0.762), (JOINED_LARGE, 0.583)])
def test_b_cubed_of_bagga_and_baldwin(response: list[int], precision: float) -> None:
    """Precision .762 and .583, recall 1."""
    scores = summarize([tally(response, TRUTH)])
    assert scores["b3_precision"] == pytest.approx(precision, abs=0.0005)
    assert scores["b3_recall"] == 1


@pytest.mark.slow  # for importing scikit-learn
@given(PARTITION, st.data())
def test_v_measure_is_that_of_scikit_learn(gold: list[int], data: st.DataObject) -> None:
    """Of one trajectory."""
    from sklearn.metrics import v_measure_score

    guess = data.draw(st.lists(st.integers(0, 5), min_size=len(gold), max_size=len(gold)))
    mine = summarize([tally(guess, gold)])["v_measure"]
    assert mine == pytest.approx(v_measure_score(gold, guess), abs=1e-9)


@given(PARTITION)
def test_perfect_prediction(gold: list[int]) -> None:
    """Everything is 1."""
    scores = summarize([tally(gold, gold)])
    for key in ("b3_f1", "b3_macro_f1", "boundary_f1", "v_measure"):
        assert scores[key] == pytest.approx(1)


@given(PARTITION, st.data())
def test_pairwise_definition(gold: list[int], data: st.DataObject) -> None:
    """B-cubed as defined per item agrees with the sums over cells."""
    guess = data.draw(st.lists(st.integers(0, 5), min_size=len(gold), max_size=len(gold)))
    n = range(len(gold))
    precision = sum(
        sum(guess[i] == guess[j] and gold[i] == gold[j] for j in n)
        / sum(guess[i] == guess[j] for j in n)
        for i in n
    )
    assert tally(guess, gold).precision == pytest.approx(precision)


def test_boundaries_are_pooled() -> None:
    """Hits over all trajectories, not the mean of their scores."""
    scores = summarize([tally([0, 0, 1, 1], [0, 1, 1, 1]), tally([0, 1], [0, 1])])
    assert scores["boundary_precision"] == 0.5
    assert (scores["groups_predicted"], scores["groups_annotated"]) == (4, 4)


def test_bootstrap_is_repeatable() -> None:
    """The same interval on every run, around the figure."""
    tallies = [tally([0, 0, 1], [0, 1, 1]), tally([0, 1, 2], [0, 1, 2]), tally([0, 0], [0, 0])]
    low, high = bootstrap(tallies, lambda scores: scores["b3_f1"])
    assert low <= summarize(tallies)["b3_f1"] <= high
    assert (low, high) == bootstrap(tallies, lambda scores: scores["b3_f1"])


def test_nothing_to_score() -> None:
    """No tallies, no figures; unequal lengths are a mistake of the caller."""
    assert summarize([]) == {}
    with pytest.raises(ValueError, match="3 predicted"):
        tally([0, 0, 0], [0])
