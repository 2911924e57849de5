"""Label selectors as clients write them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from whyflame.errors import UsageError
from whyflame.serve.pyroscope.labels import read_selectors
from whyflame.serve.pyroscope.selectors import Matcher, parse_selector

if TYPE_CHECKING:
    from collections.abc import Sequence

TYPE = "agent:tokens:count:agent:count"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("{}", []),
        ("  { } ", []),
        ('{a="b"}', [Matcher("a", "=", "b")]),
        ('{ a = "b" , c!="d",e=~"f|g", h!~"i.*" , }', [
            Matcher("a", "=", "b"), Matcher("c", "!=", "d"),
            Matcher("e", "=~", "f|g"), Matcher("h", "!~", "i.*"),
        ]),
        ('{"my.label"="x", a.b="y"}', [Matcher("my.label", "=", "x"), Matcher("a.b", "=", "y")]),
        ("{a='single', b=`raw\\n`}", [Matcher("a", "=", "single"), Matcher("b", "=", "raw\\n")]),
        ('{a="q\\"uo\\\\te\\n\\u00e9\\x41"}', [Matcher("a", "=", 'q"uo\\te\n\u00e9A')]),
        (TYPE, [Matcher("__profile_type__", "=", TYPE)]),
        (TYPE + "{}", [Matcher("__profile_type__", "=", TYPE)]),
        (TYPE + ':delta{a="b"}', [
            Matcher("__profile_type__", "=", TYPE), Matcher("a", "=", "b"),
        ]),
        ('{a="\\ud800"}', [Matcher("a", "=", "\ufffd")]),
        (f'{{__name__="{TYPE}"}}', [Matcher("__profile_type__", "=", TYPE)]),
        ('{__name__="agent"}', [Matcher("__name__", "=", "agent")]),
        ("agent{}", [Matcher("__name__", "=", "agent")]),
        ('{a="}"}', [Matcher("a", "=", "}")]),
    ],
)  # fmt: skip
def test_what_is_read(text: str, expected: list[Matcher]) -> None:
    assert parse_selector(text) == expected


@pytest.mark.parametrize(
    "text",
    ["{", "}", "{a}", "{a=}", "{a=b}", '{a="b"', '{a="b" c="d"}', '{,}', '{="b"}', '{a=="b"}',
     '{a="b"}x', 'a b{}', "{a='b\"}"],
)  # fmt: skip
def test_what_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_selector(text)


@given(st.text())
def test_anything_is_read_or_refused(text: str) -> None:
    """No input ends in another error."""
    for selector in (text, f"{{{text}}}", f'{{a="{text}"}}', f'{{a=~"{text}"}}'):
        try:
            read_selectors([selector], lambda *_: set())
        except UsageError:
            continue


@given(st.text(st.characters(exclude_characters='"\\\n', exclude_categories=["Cs"])))
def test_values_come_back_as_written(value: str) -> None:
    assert parse_selector(f'{{a="{value}"}}') == [Matcher("a", "=", value)]


def full_match(pattern: str, values: Sequence[str]) -> set[str]:
    """For expressions that Python reads as RE2 does."""
    return {value for value in values if re.fullmatch(pattern, value)}


def test_conditions_pass_values() -> None:
    selection = read_selectors([], full_match)

    def passing(operator: str, value: str) -> set[str]:
        return selection.passing(Matcher("a", operator, value), ["", "b", "abc"])

    assert passing("=", "b") == {"b"}
    assert passing("!=", "b") == {"", "abc"}
    assert passing("=~", "b|") == {"b", ""}
    assert passing("!~", ".*b.*") == {""}


def test_a_type_is_taken_by_its_parts() -> None:
    def takes(selector: str) -> bool:
        return read_selectors([selector], full_match).taken([TYPE]) == {TYPE}

    assert takes("{}")
    assert takes(TYPE + "{}")
    assert takes(TYPE + ":delta{}")
    assert takes('{__name__="agent", __type__=~"tok.*", __unit__="count"}')
    assert not takes('{__period_unit__="seconds"}')
    assert not takes('{__profile_type__!~".*tokens.*"}')


def test_the_last_stack_wins_and_other_operators_choose_nothing() -> None:
    assert read_selectors(['{stack_by=" agent , path"}'], full_match).stack == ("agent", "path")
    assert read_selectors(['{stack_by=~"agent"}', '{stack_by!=""}'], full_match).stack == ()
