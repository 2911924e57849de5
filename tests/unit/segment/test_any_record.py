"""Stored features of any kind, also damaged or of a later version: segmenters take them."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from whyflame.config import SegmentConfig
from whyflame.content.features import RECORD_BYTES, VERSION
from whyflame.segment import Call, Lane, Step, load_segmenter, validate
from whyflame.segment.names import load_tables
from whyflame.segment.registry import BUILT_IN

_VERBS = load_tables().is_verb
_WORDS = st.lists(st.sampled_from([b"fix", b"login", b"\xff\xfe", b"\x1f", b" ", b"tests"]))
_RECORDS = st.one_of(
    st.none(),
    st.binary(max_size=RECORD_BYTES + 40),
    st.builds(
        lambda body, words: bytes([VERSION]) + body + b"".join(words),
        st.binary(min_size=RECORD_BYTES - 1, max_size=RECORD_BYTES - 1),
        _WORDS,
    ),
)
_CALLS = st.builds(
    Call, st.sampled_from(["Bash", "Read", "", "click"]), st.booleans(), features=_RECORDS
)
_STEPS = st.builds(
    Step,
    features=_RECORDS,
    agent=st.sampled_from(["", "coder", "a->b"]),
    turn=st.integers(-1, 2**40),
    failed=st.booleans(),
    calls=st.lists(_CALLS, max_size=3),
)
_LANES = st.builds(Lane, request=_RECORDS, steps=st.lists(_STEPS, max_size=24))


@pytest.mark.parametrize("name", sorted({*BUILT_IN} - {"marks"}))
@given(lane=_LANES)
def test_any_stored_record_is_segmented(name: str, lane: Lane) -> None:
    """Unknown codes count as other activities; nothing raises."""
    validate(lane, load_segmenter(SegmentConfig(), name).segment(lane), _VERBS)
