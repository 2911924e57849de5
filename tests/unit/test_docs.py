"""What the pages say can be done: links lead somewhere, commands parse, make targets exist."""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path

import pytest

from whyflame.cli import build_parser

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    page
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "examples/*/README.md",
        "helm/*/README.md",
        "bench/*/*.md",
    )
    for page in ROOT.glob(pattern)
)
SOURCES = (
    "processor",
    "exporters",
    "native",
    "tests",
    "bench",
    "examples",
    "docs",
    "helm",
    "deploy",
)
PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def commands_of(text: str) -> list[str]:
    """Every `whyflame ...` in a block of code, without what follows it on its line."""
    fences = re.split(r"^```.*$", text.replace("\\\n", " "), flags=re.MULTILINE)
    lines = [line for fenced in fences[1::2] for line in fenced.splitlines()]
    lines += [
        line for outside in fences[::2] for line in re.findall(r"^ {4}.+", outside, re.MULTILINE)
    ]
    stripped = [line.strip().removeprefix("$ ").removeprefix(".venv/bin/") for line in lines]
    shown = [line for line in stripped if re.match(r"whyflame [a-z-]", line)]
    return [re.split(r"&&|\||  +#| > ", line)[0].strip() for line in shown]


@PAGE
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
        assert target.startswith(("http://", "https://")) or (page.parent / target).exists(), target


@cache
def sources() -> frozenset[str]:
    """Every file of the sources, `/` before its path."""
    files = (file for folder in SOURCES for file in (ROOT / folder).rglob("*.*"))
    return frozenset(f"/{file.relative_to(ROOT)}" for file in files)


@PAGE
def test_files_that_are_named_are_there(page: Path) -> None:
    for name in re.findall(r"`([\w./-]+\.(?:py|rs|js|toml))`", page.read_text(encoding="utf-8")):
        assert any(file.endswith(f"/{name}") for file in sources()) or (ROOT / name).exists(), name


def test_the_architecture_names_every_module() -> None:
    """Folders of the data path and what stands beside them."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    package = ROOT / "processor" / "whyflame"
    names = [f"`{file.name}`" for file in package.glob("[a-z]*.py")]
    names += [f"`{folder.parent.name}/`" for folder in package.glob("*/__init__.py")]
    assert [name for name in names if name not in text] == []


@PAGE
def test_commands_parse(page: Path) -> None:
    for command in commands_of(page.read_text(encoding="utf-8")):
        arguments = build_parser().parse_args(shlex.split(command, comments=True)[1:])
        assert arguments.command, command


@PAGE
def test_make_targets_exist(page: Path) -> None:
    targets = set(
        re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )
    mentioned = re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(mentioned) <= targets
