"""Filters: what is accepted, what they mean, and that nothing typed becomes SQL."""

from __future__ import annotations

import duckdb
import pytest

from whyflame.errors import UsageError
from whyflame.fold.where import (
    Condition,
    compile_condition,
    compile_tenant,
    compile_test,
    parse_where,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("agent=planner", Condition("agent", "=", "planner")),
        ("agent!=a=b", Condition("agent", "!=", "a=b")),
        ("path=~^fix", Condition("path", "=~", "^fix")),
        ("model!~gpt", Condition("model", "!~", "gpt")),
        ("error_type!=", Condition("error_type", "!=", "")),
        ("root= fix the login", Condition("root", "=", " fix the login")),
        ("step=12", Condition("step", "=", "12")),
        ("team=core", Condition("team", "=", "core")),
        ("token_kind=cache_read", Condition("token_kind", "=", "cache_read")),
    ],
)
def test_filters_are_field_operator_value(text: str, expected: Condition) -> None:
    assert parse_where(text, promoted=["team"]) == expected


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("agent", "is not field=value"),
        ("=planner", "is not field=value"),
        ("agnt=planner", "did you mean 'agent'?"),
        ("agnt=planner", "Known: service, environment"),
        ("step=three", "step is a whole number"),
        ("token_kind=cached", "did you mean 'cache_read'?"),
        ("path=~(", "not a regular expression"),
        ("path=~(?=x)", "look-around"),
        (r"path=~(a)\1", "look-around and back-references"),
        ("path=~(?P<a>x)(?P=a)", "look-around and back-references"),
        ("path=~a{2000}", "a repeat above 1000"),
        ("path=~a++", "not supported"),
    ],
)
def test_mistakes_are_named_with_the_fix(text: str, part: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_where(text)
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("text", "value", "passes"),
    [
        ("agent=a", "a", True),
        ("agent=", "", True),
        ("agent=", "a", False),
        ("agent!=a", "", True),
        ("agent!=", "", False),
        ("agent=~^$", "", True),
        ("agent=~la", "planner", True),
        ("agent!~la", "planner", False),
    ],
)
def test_an_unknown_value_is_the_empty_string(text: str, value: str, passes: bool) -> None:
    test = compile_test("?", parse_where(text))
    found = duckdb.execute(f"SELECT {test.sql}", [value, *test.params]).fetchone()
    assert found == (passes,)


NASTY = "x' OR 1=1; DROP TABLE settled; --"


@pytest.mark.parametrize("field", ["agent", "path", "task", "team", "root"])
@pytest.mark.parametrize("operator", ["=", "!=", "=~", "!~"])
def test_what_users_type_reaches_sql_as_parameters_only(field: str, operator: str) -> None:
    compiled = compile_condition(Condition(field, operator, NASTY))
    assert NASTY not in compiled.sql
    assert "DROP" not in compiled.sql
    assert NASTY in compiled.params
    assert compiled.sql.count("?") == len(compiled.params)


def test_promoted_names_are_parameters_too() -> None:
    compiled = compile_condition(Condition(NASTY, "=", "v"))
    assert "DROP" not in compiled.sql
    assert compiled.params == (NASTY, "v")


def test_the_tenant_is_a_parameter() -> None:
    assert compile_tenant(NASTY).params == (NASTY,)
    assert compile_tenant("").params == ()
