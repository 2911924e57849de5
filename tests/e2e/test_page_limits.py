"""The page where it is hard: accessibility, a hundred thousand frames, nothing there, a token."""

from __future__ import annotations

import hashlib
from array import array
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect
from tests.e2e.fleet import no_actions, serve_fleet
from tests.made import write_settled
from tests.query_server import fill, made, open_filled, run_app

from whyflame.app.build import now_ns
from whyflame.config import AuthConfig, Config, HttpConfig
from whyflame.fold.profile import Profile, SampleType
from whyflame.serve.api import build_api
from whyflame.serve.runner import Runner
from whyflame.serve.store_questions import StoreQuestions
from whyflame.store.settled import SettledWriter
from whyflame.store.unsettled import Group

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page
    from tests.e2e.fleet import Fleet

    from whyflame.model import Operation
    from whyflame.serve.questions import ProfileRequest
    from whyflame.store.duck import Store

pytestmark = pytest.mark.slow
OUTER, INNER = 1000, 50
# A hundred rows of a table are built alike.
FIRST_ROWS = {"exclude": [["tbody tr:nth-child(n+5)"], [".step:nth-child(n+9)"]]}
HOSTILE = "<img src=x onerror=document.title='stolen'>"
PAGES = [
    "",
    "?sandwich=coder",
    "?frame=coder&q=test",
    "?page=compare",
    "?page=compare&base=outcome=success&target=outcome=failure",
    "?page=sessions",
    "?page=coverage",
    "?where=agent=nobody",
]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with serve_fleet(tmp_path_factory.mktemp("fleet"), 60) as running:
        yield running


class Wide(StoreQuestions):
    """A store whose every profile has a hundred thousand frames."""

    def fold(self, request: ProfileRequest) -> Profile:  # noqa: ARG002
        """Agent, then tasks, then calls: all of different width."""
        frames = sorted(
            {
                "agent",
                *(f"task {n:04}" for n in range(OUTER)),
                *(f"call {n:03}" for n in range(INNER)),
                "run tool",
            }
        )
        number = {frame: position for position, frame in enumerate(frames)}
        ids, offsets, values = array("i"), array("q", [0]), array("q")
        for inner in range(INNER):
            for outer in range(OUTER):
                ids.extend(
                    [
                        number["agent"],
                        number[f"task {outer:04}"],
                        number[f"call {inner:03}"],
                        number["run tool"],
                    ]
                )
                offsets.append(len(ids))
                values.append(1 + (outer * 7 + inner * 13) % 1000)
        return replace(
            Profile(
                (SampleType("tokens", "count"),), tuple(frames), offsets, ids, (values,), "tokens"
            ),
            label_ids=array("i", [0] * len(values)),
        )


class Receiving(StoreQuestions):
    """As in a running server that receives elsewhere than usual, with TLS and tokens."""

    def status(self, tenant: str = "") -> dict[str, Any]:
        """What the store says, and the receiver."""
        otlp = {"grpc": "0.0.0.0:5317", "http": "0.0.0.0:5318", "tls": True, "token": True}
        return {**super().status(tenant), "otlp": otlp}


@dataclass(frozen=True)
class Opened:
    """A server and the store that it answers from."""

    url: str
    store: Store


@contextmanager
def serving(
    folder: Path,
    operations: list[Operation],
    kind: type[StoreQuestions] = StoreQuestions,
    http: HttpConfig | None = None,
) -> Iterator[Opened]:
    store = open_filled(folder / "store.duckdb", operations)
    try:
        config = Config()
        questions, runner = kind(store, config, now_ns), Runner(store, config.query)
        app = build_api(questions, runner, no_actions(), None, http or HttpConfig())
        with run_app(app) as url:
            yield Opened(url, store)
    finally:
        store.close()


@pytest.mark.timeout(180)  # axe-core walks every element of nine pages
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_rule_of_accessibility_is_broken(browser: Browser, fleet: Fleet, theme: str) -> None:
    """WCAG and best practice, as axe-core checks them, on every page of the page."""
    from axe_playwright_python.sync_playwright import Axe

    context = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme=theme)  # type: ignore[arg-type]
    page, broken = context.new_page(), {}
    session = fleet.get("sessions")["sessions"][0]["session"]
    # Only colours differ between the themes.
    only = {} if theme == "light" else {"runOnly": ["color-contrast"]}
    for query in [*PAGES, f"?page=session&session={session}"]:
        page.goto(f"{fleet.url}/{query}")
        page.locator(".flame[data-drawn], .empty, td, .step").first.wait_for()
        page.locator("main:not([aria-busy])").wait_for()
        for found in Axe().run(page, context=FIRST_ROWS, options=only).response["violations"]:
            broken[query, found["id"]] = [node["html"][:160] for node in found["nodes"][:3]]
    context.close()
    assert not broken


def test_a_hundred_thousand_frames_stay_fast(page: Page, tmp_path: Path) -> None:
    with serving(tmp_path, [made(1, 1)], Wide) as server:
        page.goto(server.url)
        graph = page.locator(".flame[data-drawn]")
        graph.wait_for(timeout=20_000)
        assert int(str(graph.get_attribute("data-frames"))) >= 100_000
        times = [int(str(graph.get_attribute("data-milliseconds")))]
        for row in (2, 1, 0):
            graph.click(position={"x": 6, "y": row * 30 + 15})
            page.wait_for_timeout(150)
            times.append(int(str(graph.get_attribute("data-milliseconds"))))
        page.get_by_label("Search frames").fill("call 04")
        page.locator(".found:not(:empty)").wait_for()
        times.append(int(str(graph.get_attribute("data-milliseconds"))))
    # Measured here: 20 to 60 ms a drawing; a busy machine gets room.
    assert max(times) < 500, times


def test_a_store_without_runs_says_how_to_send_some(page: Page, tmp_path: Path) -> None:
    with serving(tmp_path, [], Receiving) as server:
        page.goto(server.url)
        page.get_by_role("heading", name="Waiting for the first agent run").wait_for()
        assert page.locator("pre").inner_text().splitlines() == [
            "OTEL_EXPORTER_OTLP_ENDPOINT=https://127.0.0.1:5317",
            "OTEL_EXPORTER_OTLP_PROTOCOL=grpc",
            'OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer TOKEN"',
        ]


def test_a_refused_question_says_why_and_shows_no_frames(page: Page, fleet: Fleet) -> None:
    """Not an empty graph, which would look like an answer; a good question shows one again."""
    page.goto(f"{fleet.url}/?where=agnt=coder")
    page.get_by_text("did you mean 'agent'?").wait_for()
    page.get_by_role("heading", name="No answer").wait_for()
    assert not page.locator(".flame").count()
    page.get_by_role("button", name="Remove filter agnt=coder").click()
    page.locator(".flame[data-drawn]").first.wait_for()
    expect(page.locator(".problem")).to_be_hidden()


def test_live_shows_what_settled_since(page: Page, tmp_path: Path) -> None:
    page.clock.install()
    with serving(tmp_path, [made(1, 1, tokens=100)]) as server:
        page.goto(f"{server.url}/?live=1")
        tokens = page.locator("[data-figure=tokens]")
        expect(tokens).to_have_text("100")
        fill(server.store, [made(2, 2, tokens=11)])
        page.clock.fast_forward(6_000)
        expect(tokens).to_have_text("111")


def test_live_shows_what_was_only_named_anew(page: Page, tmp_path: Path) -> None:
    """A later look at a run finds other tasks in it; there is no operation more."""
    page.clock.install()
    with serving(tmp_path, [made(1, 1, "fix tests"), made(1, 2, "fix tests")]) as server:
        page.goto(f"{server.url}/?live=1")
        frames = page.locator(".table-panel tbody")
        frames.get_by_text("fix tests").wait_for()
        page.clock.fast_forward(6_000)
        again = [made(1, 1, "read code"), made(1, 2, "read code")]
        group = Group(spans=[op.span for op in again], trace_keys=[again[0].span.trace_key])
        for number, op in enumerate(again):
            op.span.span_key, op.span.trace_key = number, 0
        group.trace_keys[:] = [0]
        write_settled(SettledWriter(server.store), group, again, [], 0)
        page.clock.fast_forward(6_000)
        frames.get_by_text("read code").wait_for()
        assert frames.get_by_text("fix tests").count() == 0


def test_names_are_text_whatever_they_hold(page: Page, tmp_path: Path) -> None:
    operations = [made(1, 1, path=HOSTILE, session=HOSTILE, agent=HOSTILE)]
    with serving(tmp_path, operations) as server:
        page.goto(server.url)
        page.locator(".flame[data-drawn]").wait_for()
        page.locator(".table-panel").get_by_text(HOSTILE).first.click()
        page.locator(".behind li a").get_by_text(HOSTILE).click()
        page.get_by_role("heading", name=HOSTILE).first.wait_for()
        assert page.locator("img[src=x]").count() == 0
        assert "whyflame" in page.title()


def test_a_token_is_asked_for_and_sent(page: Page, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("sha256:" + hashlib.sha256(b"open sesame").hexdigest() + "\n")
    http = HttpConfig(auth=AuthConfig(bearer_tokens_file=str(tokens)))
    with serving(tmp_path, [made(1, 1)], http=http) as server:
        page.goto(server.url)
        page.get_by_label("This server asks for a bearer token").fill("open sesame")
        page.get_by_role("button", name="Continue").click()
        page.locator(".flame[data-drawn]").wait_for()


@pytest.mark.parametrize("width", [320, 390])
def test_no_page_is_wider_than_a_phone(browser: Browser, fleet: Fleet, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800})
    page = context.new_page()
    for query in PAGES:
        page.goto(f"{fleet.url}/{query}")
        page.locator(".flame[data-drawn], .empty, td:not(.minor)").first.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, query
    context.close()


def test_a_phone_shows_the_widest_tasks_without_scrolling(browser: Browser, fleet: Fleet) -> None:
    """Controls and totals leave room for what the page is opened for."""
    context = browser.new_context(viewport={"width": 375, "height": 740})
    page = context.new_page()
    page.goto(fleet.url)
    page.locator(".flame[data-drawn]").wait_for()
    page.locator("[data-figure=failing]").wait_for()
    box = page.locator(".flame").first.bounding_box()
    assert box is not None
    assert box["y"] + 120 <= 740  # all, agents, tasks, calls: 30 pixels each
    context.close()


def test_a_phone_says_what_is_compared(browser: Browser, fleet: Fleet) -> None:
    context = browser.new_context(viewport={"width": 375, "height": 740})
    page = context.new_page()
    page.goto(f"{fleet.url}/?page=compare&base=outcome=success&target=outcome=failure")
    page.locator(".flame[data-drawn]").wait_for()
    chips = page.locator(".compared .chip > span")
    assert chips.all_inner_texts() == ["outcome=success", "outcome=failure"]
    assert not chips.evaluate_all(
        "found => found.filter(e => e.scrollWidth > e.clientWidth).length"
    )
    context.close()


@pytest.mark.parametrize("query", ["", "?page=compare&base=outcome=success&target=outcome=failure"])
def test_names_in_a_table_are_whole(page: Page, fleet: Fleet, query: str) -> None:
    """Names differ in their last word: cut off, `diagnose token ...` and its like are the same."""
    page.goto(f"{fleet.url}/{query}")
    names = page.locator(".table-panel td.text a, .table-panel td.text .named span")
    names.first.wait_for()
    cut = "found => found.filter(e => e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight + 1).map(e => e.textContent)"
    assert names.evaluate_all(cut) == []


def test_coverage_lists_the_further_views_that_doctor_explains(page: Page, fleet: Fleet) -> None:
    views = fleet.get("coverage")["coverage"]["merged_views"]
    assert views
    page.goto(f"{fleet.url}/?page=coverage")
    said = page.locator("section", has_text="Further views of what counts once").last.inner_text()
    for reason, number in views.items():
        assert f"{reason.replace('_', ' ')}\n{number:,}" in said


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("?page=sessions", ["Session", "Goal", "Outcome", "Tokens", "Cost"]),
        ("?page=sessions&frame=coder&measure=duration", ["Session", "Self time", "Tokens", "Cost"]),
        ("?page=coverage", ["Scope", "Model calls", "Without tokens", "Without session", "Without text"]),
        ("", ["Frame", "Self", "Total", "%"]),
    ],
)  # fmt: skip
def test_what_a_table_is_for_shows_on_a_phone(
    browser: Browser, fleet: Fleet, query: str, columns: list[str]
) -> None:
    """Nothing that matters lies behind a sideways scroll; what has no room is left out."""
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto(f"{fleet.url}/{query}")
    page.locator("td:not(.minor)").first.wait_for()
    heads = page.locator(".table-frame th:visible")
    assert heads.all_inner_texts() == columns
    for head in heads.all():
        box = head.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= 390
    context.close()


def test_long_names_and_unknown_prices_fit_a_phone(browser: Browser, tmp_path: Path) -> None:
    """A name without a space to break at; a cost that nobody knows is not shown as $0."""
    long = "y" * 200
    operations = [made(1, 1, path=long, session=long, agent=long)]
    context = browser.new_context(viewport={"width": 390, "height": 800})
    page = context.new_page()
    with serving(tmp_path, operations) as server:
        for query in ("", f"?page=session&session={long}", "?page=sessions", f"?sandwich={long}"):
            page.goto(f"{server.url}/{query}")
            page.locator(".flame[data-drawn], td:not(.minor), .step").first.wait_for()
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, query[:20]
        assert "cost\nnone known" in page.locator("dl.facts").first.inner_text()
    context.close()
