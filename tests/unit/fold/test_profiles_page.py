"""docs/profiles.md names every view, field, measure and file ending there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from whyflame.fields import FIELDS
from whyflame.fold.encode import ENCODINGS
from whyflame.fold.measures import MEASURE_BY_NAME
from whyflame.fold.views import BUILT_IN_VIEWS

PAGE = (Path(__file__).parents[3] / "docs" / "profiles.md").read_text(encoding="utf-8")
ENDINGS = [ending for encoding in ENCODINGS.values() for ending in encoding.endings]


def test_the_page_names_everything() -> None:
    names = {*BUILT_IN_VIEWS, *FIELDS, *MEASURE_BY_NAME, *ENCODINGS, *ENDINGS}
    assert [name for name in sorted(names) if f"`{name}`" not in PAGE] == []


@pytest.mark.parametrize("name", list(BUILT_IN_VIEWS))
def test_the_page_shows_the_views_as_they_are(name: str) -> None:
    stack = ",".join(BUILT_IN_VIEWS[name].stack)
    assert f"| `{name}` | `{stack}` |" in PAGE
