"""The SVG as a file of its own: a browser, a keyboard and a screen reader are enough to read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.fold_strategies import profile_of

from whyflame.fold import diff, svg

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

BEFORE = profile_of(
    [
        (("coder", "fix login", "call gpt-5"), (), (3, 4_000, 9, 600)),
        (("coder", "fix login", "run bash"), (), (2, 0, 7, 100)),
        (("coder", "write tests", "call gpt-5"), (), (1, 500, 1, 300)),
    ]
)
AFTER = profile_of(
    [
        (("coder", "fix login", "call gpt-5"), (), (3, 4_000, 9, 200)),
        (("coder", "write tests", "call gpt-5"), (), (1, 500, 1, 800)),
    ]
)


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Opens a file in a browser without network; nothing but the file may be asked for."""
    contexts, errors, asked = [], [], []

    def opened(data: bytes, *, scripts: bool = True) -> Page:
        file = tmp_path / "flame.svg"
        file.write_bytes(data)
        context = browser.new_context(java_script_enabled=scripts, offline=True)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not errors
    assert all(url.startswith("file:") for url in asked), asked


def focused(page: Page) -> str:
    label: str | None = page.evaluate(
        "document.activeElement.getAttribute('aria-label') || document.activeElement.textContent"
    )
    return label or ""


def press(page: Page, *keys: str) -> str:
    """What has the focus after these keys."""
    for key in keys:
        page.keyboard.press(key)
    return focused(page)


def said(page: Page) -> str:
    text: str = page.evaluate("document.querySelector('[role=status], .status').textContent")
    return text


def spoken(page: Page) -> list[tuple[str, str]]:
    """Role and name of everything that a screen reader meets."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    return [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node["ignored"]
    ]


def test_a_keyboard_reaches_everything(show: Callable[..., Page]) -> None:
    page = show(svg.encode(BEFORE, "tokens"))
    assert press(page, "Tab") == "Search frames"
    assert press(page, "Tab") == "all, 1,000 tokens, 100.00%", "one stop for the whole tree"
    assert press(page, "ArrowDown", "ArrowDown") == "fix login, 700 tokens, 70.00%"
    assert press(page, "ArrowRight") == "write tests, 300 tokens, 30.00%"
    assert press(page, "ArrowLeft", "ArrowDown") == "call gpt-5, 600 tokens, 60.00%"
    assert press(page, "ArrowUp", "Enter") == "fix login, 700 tokens, 70.00%"
    assert said(page) == "fix login, 700 tokens, 70.00% (zoomed, Escape to reset)"
    assert press(page, "Escape", "Home") == "all, 1,000 tokens, 100.00%"
    assert said(page) == ""


def test_a_search_finds_sums_and_goes_from_match_to_match(show: Callable[..., Page]) -> None:
    page = show(svg.encode(BEFORE, "tokens"))
    assert press(page, "/") == "Search frames"
    page.keyboard.type("GPT")
    assert said(page) == "2 frames match: 90.00% of tokens"
    assert press(page, "Enter") == "call gpt-5, 600 tokens, 60.00%"
    assert press(page, "n") == "call gpt-5, 300 tokens, 30.00%"
    assert press(page, "N") == "call gpt-5, 600 tokens, 60.00%"
    press(page, "Escape")
    assert said(page) == ""


def test_a_screen_reader_meets_a_tree_with_figures(show: Callable[..., Page]) -> None:
    met = spoken(show(svg.encode(BEFORE, "tokens", "Where the tokens went")))
    assert ("tree", "Where the tokens went") in met
    assert ("searchbox", "Search frames") in met
    assert [name for role, name in met if role == "treeitem"] == [
        "all, 1,000 tokens, 100.00%",
        "coder, 1,000 tokens, 100.00%",
        "fix login, 700 tokens, 70.00%",
        "call gpt-5, 600 tokens, 60.00%",
        "run bash, 100 tokens, 10.00%",
        "write tests, 300 tokens, 30.00%",
        "call gpt-5, 300 tokens, 30.00%",
    ]


def test_a_difference_says_both_sides(show: Callable[..., Page]) -> None:
    page = show(diff.encode_svg(BEFORE, AFTER, "tokens"))
    items = [name for role, name in spoken(page) if role == "treeitem"]
    assert "write tests, 30.00% before, 80.00% after, +50.00 points" in items
    assert "run bash, 10.00% before, 0.00% after, -10.00 points" in items
    fills = page.evaluate(
        "Array.from(document.querySelectorAll('.frame rect'), (rect) => getComputedStyle(rect).fill)"
    )
    assert len(set(fills)) >= 3


def test_without_a_script_the_picture_and_its_tree_are_there(show: Callable[..., Page]) -> None:
    page = show(svg.encode(BEFORE, "tokens"), scripts=False)
    met = spoken(page)
    assert ("treeitem", "fix login, 700 tokens, 70.00%") in met
    assert "searchbox" not in {role for role, _ in met}


@pytest.mark.parametrize("width", [375, 1280])
def test_the_search_never_lies_on_the_title(show: Callable[..., Page], width: int) -> None:
    page = show(svg.encode(BEFORE))
    page.set_viewport_size({"width": width, "height": 600})
    heading, tools = page.locator(".heading"), page.locator(".tools input")
    tools.wait_for()
    assert heading.is_visible() == (width == 1280)
    if width == 1280:
        title, search = heading.bounding_box(), tools.bounding_box()
        assert title is not None
        assert search is not None
        assert title["x"] + title["width"] <= search["x"]
