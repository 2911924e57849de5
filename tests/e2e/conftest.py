"""A real browser on a real server; skipped where there is no Chromium, required in CI."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium_path() -> str:
    """Debian's browser; the reason to skip when it is not here."""
    path = shutil.which("chromium")
    if path is None:
        reason = "no chromium here: apt-get install chromium"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return path


# One a module, not one a session: Playwright keeps an event loop in this thread, which other
# modules start loops of their own in.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A running browser."""
    path = chromium_path()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield running
        running.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A new page that reports every error of the script and every request elsewhere."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme="light")
    context.set_default_timeout(10_000)
    made, errors, asked = context.new_page(), [], []
    made.on("pageerror", lambda error: errors.append(str(error)))
    made.on("console", lambda message: errors.append(message.text) if is_bad(message) else None)
    made.on("request", lambda request: asked.append(request.url))
    yield made
    context.close()
    assert not errors
    assert all(url.startswith(("http://127.0.0.1:", "blob:", "about:")) for url in asked), asked


def is_bad(message: object) -> bool:
    """Errors of scripts and of the content security policy; a 404 is an answer like another."""
    text = message.text  # type: ignore[attr-defined]
    return message.type == "error" and "Failed to load resource" not in text  # type: ignore[attr-defined]
