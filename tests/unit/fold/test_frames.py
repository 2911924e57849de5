"""Names of frames and labels: short enough for every backend, cut where a reader would cut."""

from __future__ import annotations

from hypothesis import given, strategies as st

from whyflame.export.labels import MAX_VALUE_BYTES, clean_value
from whyflame.fold.frames import MAX_FRAME_BYTES, clean_frame, cut_text

texts = st.text(st.sampled_from("aé日🙂 \n\x00"), max_size=40)


@given(texts, st.integers(3, 60))
def test_a_cut_keeps_the_beginning_and_whole_characters(text: str, limit: int) -> None:
    cut = cut_text(text, limit)
    assert len(cut.encode()) <= limit
    if cut == text:
        return
    assert len(text.encode()) > limit
    assert cut.endswith("…")
    kept = cut.removesuffix("…")
    assert text.startswith(kept)
    following = text[len(kept)]
    assert len((kept + following).encode()) > limit - 3, "not one character more would fit"


@given(texts)
def test_long_names_fit_every_backend(text: str) -> None:
    frame = clean_frame("日" + text * 300, "path")
    assert len(frame.encode()) <= MAX_FRAME_BYTES
    assert frame.isprintable()
    value = clean_value("日" + text * 300)
    assert len(value.encode()) <= MAX_VALUE_BYTES
    assert value.isprintable()


def test_names_that_pyroscope_gives_a_meaning_say_what_they_are() -> None:
    assert clean_frame("other", "path") == "other (task)"
    assert clean_frame("total", "agent") == "total (agent)"
    assert clean_frame(" other\n", "leaf") == "other (leaf)"
    assert clean_frame("another", "path") == "another"
