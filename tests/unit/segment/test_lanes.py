"""What a segmenter sees of a step that several instrumentations saw."""

from __future__ import annotations

import pytest
from tests.made import operation, span

from whyflame.content import extract
from whyflame.model import Content
from whyflame.segment.lane import build_lanes

NOTHING, ASKED, SAID = Content(), Content(prompt="fix the login"), Content(response="I fix it")


@pytest.mark.parametrize(
    ("own", "twin", "seen"),
    [
        (NOTHING, ASKED, ASKED),
        (SAID, ASKED, SAID),
        (NOTHING, NOTHING, NOTHING),
        (None, ASKED, ASKED),
        (None, None, None),
        (SAID, None, SAID),
    ],
)
def test_a_call_without_text_has_that_of_its_other_view(
    own: Content | None, twin: Content | None, seen: Content | None
) -> None:
    """The view with the numbers is not always the one with the words."""
    counts, repeats = span(1, 1, session="s"), span(1, 2, session="s")
    for one, content in ((counts, own), (repeats, twin)):
        one.content = content
        one.features = extract(one, "features") if content else None
    view = operation(repeats, counted=False, same_as=counts.span_key)
    (lane,) = build_lanes([operation(counts, step=0), view])
    counts.content = seen
    assert lane.steps[0].features == (extract(counts, "features") if seen else None)
