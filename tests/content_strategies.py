"""Spans with texts as features meet them: words of the tables, names, files, JSON, commands, odd signs."""

from __future__ import annotations

from itertools import chain
from typing import Any

from hypothesis import strategies as st

from whyflame.content.vocabulary import (
    CLAUSE_OPENERS,
    CUE_WORDS,
    GIVEN_NAMES,
    LEAD_WORDS,
    PRODUCTS,
    STOP_WORDS,
)
from whyflame.content.words import BEFORE_PEOPLE, EDGES, HONORIFICS
from whyflame.model import Content, Kind, Span

__all__ = [
    "JSON_PIECES",
    "LONG_TOKENS",
    "ODD_TOKENS",
    "OTHER_TOKENS",
    "json_like",
    "make_span",
    "mixed",
    "spans",
    "tools",
]

KNOWN_WORDS = sorted(
    {*STOP_WORDS, *GIVEN_NAMES, *PRODUCTS, *CLAUSE_OPENERS, *BEFORE_PEOPLE, *HONORIFICS}
    | set(
        chain.from_iterable(words.split() for words in (*CUE_WORDS.values(), *LEAD_WORDS.values()))
    )
)
# Texts with letters and spaces beyond ASCII are left to Python: few have them here.
OTHER_TOKENS = "NAÏVE Straße naïve 登录 é \u2028x\u00a0y K İ".split()
ODD_TOKENS = (
    "you you? (you) can Could please Please, please. bitte. I'm I am My name is ich bin 'x' \"Sesamo\" "
    "`a.b`, 'it's DirFileSystem dirFileSystem DirFile ref_01ab 3fa9c0 v2.1 --- co-op well-known's 's-s -'s "
    "src/app.py ./a_b-c.rs /etc/passwd ~/x//y/ a/ / // .// a.b.c.tar.gz x.abcdefg x.Abc _x.py a-b.c-d.ef .env "
    "i’m I’m i’ll Let’s — … “quoted” ‘so’ → (→) —fix— ’s 🎉 ✓, well—known it’s 'a—b' a/b—c.py "
    "file.txt, http://a.b/c?d=e user@example.com #12 a=1 Hana. Hana, Dima Maria Schmidt for ref 0x1f 12 "
    "''. \"\"! '' 'a' ''a' "
    ". ! ? : :a :: {} [] ,"
).split()
LONG_TOKENS = (
    "(" * 39 + "fix" + ")" * 3,
    "fix" + ")" * 38,
    "x" * 20,
    "x" * 21,
    "a-" * 11 + "b",
    "—" * 38 + "fix",
    "—" * 37 + "fix",
)
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
