"""The native part gives the features that Python gives, byte for byte."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from bench.ingest.workload import Workload
from hypothesis import example, given, strategies as st
from tests import corpus
from tests.content_strategies import (
    JSON_PIECES,
    LONG_TOKENS,
    ODD_TOKENS,
    OTHER_TOKENS,
    json_like,
    make_span,
    mixed,
    spans,
    tools,
)
from tests.native import require_native

from whyflame.content import extract_all
from whyflame.content.features import extract_in_python
from whyflame.content.native import native_extract
from whyflame.dialects import read_traces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyflame.model import Span


@pytest.fixture(autouse=True)
def _native() -> None:
    require_native()


def outcome(extract: Any, spans: Sequence[Span], modes: Sequence[str]) -> Any:
    """What comes back, or which error."""
    try:
        return extract(spans, modes)
    except Exception as error:  # noqa: BLE001 - which one is what is compared
        return type(error)


@given(st.lists(spans, max_size=6), st.data())
def test_any_texts_have_the_features_that_python_gives(
    found: list[Span], data: st.DataObject
) -> None:
    """Words, names, files, JSON, commands, edges, controls, other scripts; every mode."""
    chosen = st.sampled_from(("features", "features", "features", "excerpt", "none"))
    modes = data.draw(st.lists(chosen, min_size=len(found), max_size=len(found)))
    assert outcome(extract_all, found, modes) == outcome(extract_in_python, found, modes)


@given(mixed)
@example("Please fix the login page for Maria Schmidt")
@example("My name is Ada. Could you, please.")
def test_a_prompt_has_the_words_that_python_gives(text: str) -> None:
    """Alone, so that many more of them are tried."""
    # The bag in the record is that of the response, where there is one.
    both = [make_span(None, prompt=text, response=text), make_span(None, prompt=text)]
    assert extract_all(both, ["features"] * 2) == extract_in_python(both, ["features"] * 2)


@given(tools, st.one_of(json_like, mixed))
@example("Bash", '{"command": "cat > a_b.py <<EOF"}')
@example("x", "a/b.c-d/e.fg h.i_j.k")
def test_a_call_has_the_targets_that_python_gives(tool: str | None, text: str) -> None:
    """Activities, files, values, commands."""
    span = make_span(tool, arguments=text, result=text)
    assert extract_all([span], ["features"]) == extract_in_python([span], ["features"])


FRAMES = (
    "{}", "{} login", "the {} login", "thing, {} login", "for {} Login. fix", "My name is {} Smith",
    '{{"path": "{}"}}', '{{"path": {}, "x": 1}}', "{}{}", "see {} Please {} now", "{} Refund Ada. {}", "ask Dr. {} about",
)  # fmt: skip


@pytest.mark.parametrize("frame", FRAMES)
def test_odd_tokens_in_every_place(frame: str) -> None:
    """Each of them, whatever chance tries: limits of lengths, quotes, ends, neighbours."""
    tokens = (*ODD_TOKENS, *LONG_TOKENS, *JSON_PIECES, *OTHER_TOKENS)
    texts = [frame.format(token, token) for token in tokens]
    found = [make_span("Read", prompt=text, arguments=text, result=text) for text in texts]
    found += [make_span(None, response=text) for text in texts]
    modes = ["features"] * len(found)
    assert extract_all(found, modes) == extract_in_python(found, modes)


def test_captures_of_real_producers() -> None:
    """Every text of the corpus."""
    found = [
        span
        for name in corpus.names()
        for span in corpus.read_requests(corpus.cases()[name].requests())
    ]
    modes = ["features"] * len(found)
    assert extract_all(found, modes) == extract_in_python(found, modes)


def test_the_workload_of_the_bench_is_all_native() -> None:
    """So that its figures are those of the native part: nothing is left to Python."""
    found = read_traces(Workload(1, 512, content=True).request(0, 10**18), tenant="", received_ns=1)
    modes = ["features"] * len(found)
    extract = native_extract()
    assert extract is not None
    features, left = extract(found, modes)
    assert not left
    assert features == extract_in_python(found, modes)


def test_what_is_no_text_is_an_error_and_no_crash() -> None:
    """As in Python, where the same values cannot come from a dialect."""
    span = make_span("Bash", prompt=b"bytes", result=7)
    assert isinstance(outcome(extract_all, [span], ["features"]), type)
    with pytest.raises(AttributeError):
        extract_all([object()], ["features"])  # type: ignore[list-item]


def test_long_runs_take_no_time_of_their_own() -> None:
    """Where a pattern could begin at every sign and fail at the end of the text."""
    for run in (
        "a-" * 100,
        "a." * 100,
        ": " * 100,
        "/" * 200,
        '"' * 200,
        "~" * 199 + "/",
        ":a" * 100,
    ):
        span = make_span("x", arguments=run, prompt=run * 2, response=run)
        assert extract_all([span], ["features"]) == extract_in_python([span], ["features"])


def test_signs_that_are_taken_for_neutral_are_so_in_python() -> None:
    """A text with a sign is left to Python, or the sign means as little as the native part thinks."""
    extract = native_extract()
    assert extract is not None
    span, neutral = make_span(None, response=""), set()
    for code in {*range(0x80, 0x2_0000)} - {*range(0xD800, 0xE000)}:
        assert span.content is not None
        span.content.response = chr(code)
        _, left = extract([span], ["features"])
        if not left:
            neutral.add(chr(code))
    assert {"’", "—", "…", "→"} <= neutral
    assert not {sign for sign in neutral if sign.isalnum() or sign.isspace()}
    assert not {sign for sign in neutral if (sign.lower(), sign.upper()) != (sign, sign)}
    assert not re.search(r"[\w\s]|[^\W]", "".join(neutral))
