"""Evidence fields: what a call touched, bounded and without people, hosts and private paths."""

from __future__ import annotations

import pytest

from whyflame.content import evidence
from whyflame.content.evidence import path_group
from whyflame.model import Content, Kind, Span


def touched(tool: str, arguments: str) -> tuple[str | None, str | None, str | None]:
    content = Content(arguments=arguments)
    span = Span("", "span", b"", b"", None, 0, 1, "x", Kind.TOOL, "t", tool=tool, content=content)
    evidence(span)
    return span.effect, span.path_group, span.domain


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("Read", '{"file_path": "/workspace/src/auth/login.py"}', ("read", "src/auth", None)),
        ("Write", '{"file_path": "src/app.py"}', ("write", "src", None)),
        ("Edit", '{"file_path": "README.md"}', ("write", ".", None)),
        ("Bash", '{"command": "pytest tests/unit/test_a.py"}', ("test", "tests/unit", None)),
        ("Bash", '{"command": "git push"}', ("repository", None, None)),
        ("Bash", '{"command": "curl https://api.github.com/x"}', ("network", None, "api.github.com")),
        ("Bash", '{"command": "curl http://db01.corp/x"}', ("network", None, "private")),
        ("Bash", '{"command": "wget http://10.0.0.8/x"}', ("network", None, "private")),
        ("Bash", '{"command": "curl localhost:8080"}', ("network", None, None)),
        ("Bash", '{"command": "cat /home/jsmith/notes.txt"}', ("read", "external/home", None)),
        ("Bash", '{"command": "cat /etc/passwd"}', ("read", "external/system", None)),
        ("WebFetch", '{"url": "https://user:pw@docs.python.org/3/"}', ("network", None, "docs.python.org")),
        ("lookup_order", '{"order": "1"}', ("read", None, None)),
    ],
)  # fmt: skip
def test_evidence(
    tool: str, arguments: str, expected: tuple[str | None, str | None, str | None]
) -> None:
    """Decided by tool and arguments."""
    assert touched(tool, arguments) == expected


def test_skill_name() -> None:
    """A skill call names the skill."""
    content = Content(arguments='{"skill": "pdf-forms"}')
    span = Span(
        "", "span", b"", b"", None, 0, 1, "x", Kind.TOOL, "t", tool="Skill", content=content
    )
    evidence(span)
    assert span.skill == "pdf-forms"


def test_what_the_dialect_found_stays() -> None:
    """Evidence fills gaps, it does not overrule."""
    span = Span("", "span", b"", b"", None, 0, 1, "x", Kind.TOOL, "t", tool="Read", effect="write")
    evidence(span)
    assert span.effect == "write"


@pytest.mark.parametrize(
    ("path", "group"),
    [
        ("/workspace/pkg/core/x.py", "pkg/core"),
        ("a/b/c/d.py", "a/b"),
        ("src/anna/x.py", "src/*"),
        ("/home/bob/x", "external/home"),
        ("~/x", "external/home"),
        ("/", None),
        ("logs/20261130123456/x.log", "logs/*"),
    ],
)
def test_path_groups_are_bounded(path: str, group: str | None) -> None:
    """At most two components; names of people, dates and hashes are starred."""
    assert path_group(path) == group
