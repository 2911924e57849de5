"""The native part gives the features that Python gives, byte for byte."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest
from bench.ingest.workload import Workload
from hypothesis import example, given, strategies as st
from tests import corpus
from tests.native import require_native

from whyflame.content import extract_all
from whyflame.content.features import extract_in_python
from whyflame.content.native import native_extract
from whyflame.content.vocabulary import (
    CLAUSE_OPENERS,
    CUE_WORDS,
    GIVEN_NAMES,
    LEAD_WORDS,
    PRODUCTS,
    STOP_WORDS,
)
from whyflame.content.words import BEFORE_PEOPLE, EDGES, HONORIFICS
from whyflame.dialects import read_traces
from whyflame.model import Content, Kind, Span

if TYPE_CHECKING:
    from collections.abc import Sequence


@pytest.fixture(autouse=True)
def _native() -> None:
    require_native()


KNOWN_WORDS = sorted(
    {*STOP_WORDS, *GIVEN_NAMES, *PRODUCTS, *CLAUSE_OPENERS, *BEFORE_PEOPLE, *HONORIFICS}
    | set(
        chain.from_iterable(words.split() for words in (*CUE_WORDS.values(), *LEAD_WORDS.values()))
    )
)
# Anything else than plain ASCII is left to Python: few texts have it here.
OTHER_TOKENS = "i’m NAÏVE Straße naïve — … “quoted” 登录 é \u2028x\u00a0y K İ".split()
ODD_TOKENS = (
    "you you? (you) can Could please Please, please. bitte. I'm I am My name is ich bin 'x' \"Sesamo\" "
    "`a.b`, 'it's DirFileSystem dirFileSystem DirFile ref_01ab 3fa9c0 v2.1 --- co-op well-known's 's-s -'s "
    "src/app.py ./a_b-c.rs /etc/passwd ~/x//y/ a/ / // .// a.b.c.tar.gz x.abcdefg x.Abc _x.py a-b.c-d.ef .env "
    "file.txt, http://a.b/c?d=e user@example.com #12 a=1 Hana. Hana, Dima Maria Schmidt for ref 0x1f 12 "
    ". ! ? : :a :: {} [] ,"
).split()
LONG_TOKENS = ("(" * 39 + "fix" + ")" * 3, "fix" + ")" * 38, "x" * 20, "x" * 21, "a-" * 11 + "b")
JSON_PIECES = (
    '{"command": "', '{"action":"', '{ "command" : "view"', '{"cmd": "cd /app && pytest -q tests"}',
    '{"path": "/srv/a_file.py", "id": "ref_01ab99"}', '{"x":', '"key" : ', '"' + "k" * 40 + '":',
    '"' + "k" * 41 + '":', '"a b":', '"":', ': "ab', ':#abc', ":  \n abc.d@e-f", '["', '"]', "{", "}", "[",
    '{"todos": [{"content": "Fix the login", "status": "in_progress"}]}', "\\n", '\\"',
)  # fmt: skip
SPACES = (" ", " ", " ", "  ", "\n", "\t", "\r\n", "\x0b", "\x0c", "\x00", "", ", ", ". ")
OTHER_SPACES = (" ", "\x1c", "\x1f", "\u2003", "\x85")


def spelled(word: str) -> st.SearchStrategy[str]:
    return st.sampled_from((word, word, word.capitalize(), word.upper()))


words = st.sampled_from(KNOWN_WORDS).flatmap(spelled)
edged = st.builds(
    lambda before, word, behind: before + word + behind,
    st.text(EDGES, max_size=2), words, st.text(EDGES, max_size=2),
)  # fmt: skip
plain_tokens = st.text("abcXYZ019_-./~'\"`:,{}[]#@()<>=", min_size=1, max_size=30)
tokens = st.one_of(
    words, words, edged, st.sampled_from((*ODD_TOKENS, *LONG_TOKENS)), st.sampled_from(JSON_PIECES), plain_tokens
)  # fmt: skip


def joined(tokens: st.SearchStrategy[str], spaces: tuple[str, ...]) -> st.SearchStrategy[str]:
    pairs = st.lists(st.tuples(tokens, st.sampled_from(spaces)), max_size=70)
    return pairs.map(lambda found: "".join(chain.from_iterable(found)))


mixed = joined(tokens, SPACES)
foreign = joined(st.one_of(tokens, st.sampled_from(OTHER_TOKENS)), SPACES + OTHER_SPACES)
json_like = st.lists(st.one_of(st.sampled_from(JSON_PIECES), tokens), max_size=12).map(
    lambda pieces: '{"' + "".join(pieces)
)
usual = st.one_of(st.none(), mixed, mixed, json_like, st.text("/.a \n", max_size=60))
texts = st.one_of(usual, usual, usual, foreign, st.text(max_size=80))
sizes = st.one_of(st.none(), st.integers(0, 1 << 40), st.integers(-3, 1 << 70))
tools = st.one_of(
    st.sampled_from(
        (
            None,
            "",
            "Bash",
            "bash",
            "Read",
            "str_replace_editor",
            "get_user_details",
            "läs",
            "x" * 300,
        )
    ),
    st.text(max_size=12),
)


def make_span(tool: str | None, **content: Any) -> Span:
    kind = Kind.TOOL if tool else Kind.LLM
    return Span("", "span", b"t", b"s", None, 0, 1, "x", kind, "test", tool=tool,
                content=Content(**content))  # fmt: skip


spans = st.builds(
    make_span, tools, prompt=texts, response=texts, arguments=texts, result=texts, prompt_bytes=sizes,
    result_bytes=sizes, user_messages=st.one_of(st.none(), st.integers(0, 999)),
    plan=st.sampled_from(((), (), (), (("Fix the login", "in_progress"), ("Read", "done")))),
)  # fmt: skip


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
    span = make_span(None, prompt=text, response=text)
    assert extract_all([span], ["features"]) == extract_in_python([span], ["features"])


@given(tools, st.one_of(json_like, mixed))
@example("Bash", '{"command": "cat > a_b.py <<EOF"}')
@example("x", "a/b.c-d/e.fg h.i_j.k")
def test_a_call_has_the_targets_that_python_gives(tool: str | None, text: str) -> None:
    """Activities, files, values, commands."""
    span = make_span(tool, arguments=text, result=text)
    assert extract_all([span], ["features"]) == extract_in_python([span], ["features"])


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
