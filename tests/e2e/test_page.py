"""What people do on the page, in a real browser, against what the API says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect
from tests.e2e.fleet import Fleet, serve_fleet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.slow
REQUESTS = 120


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with serve_fleet(tmp_path_factory.mktemp("fleet"), REQUESTS) as running:
        yield running


def show(page: Page, fleet: Fleet, query: str = "") -> Locator:
    """Open the page and wait until a graph is drawn."""
    page.goto(f"{fleet.url}/{query}")
    graph = page.locator(".flame[data-drawn]").first
    graph.wait_for()
    return graph


def figure(page: Page, name: str) -> str:
    return page.locator(f"[data-figure={name}]").inner_text()


def exact(row: dict[str, Any], measure: str) -> str:
    """A total of the API as the page writes it."""
    value = {
        "tokens": (row["input_tokens"] or 0) + (row["output_tokens"] or 0),
        "cache_read_tokens": row["cache_read_tokens"],
        "operations": row["llm_calls"] + row["tool_calls"] + row["embedding_calls"],
        "errors": row["llm_errors"] + row["tool_errors"],
        "cost": row["cost_usd"],
        "duration": row["duration_seconds"],
    }[measure]
    if measure == "cost":
        return f"${value:,.9f}".rstrip("0")
    return f"{value:,.9f}".rstrip("0") + " s" if measure == "duration" else f"{value:,}"


def wait_for_address(page: Page, text: str) -> None:
    page.wait_for_url(re.compile(re.escape(text)))


def click_row(page: Page, graph: Locator, row: int) -> None:
    """The leftmost frame of a row."""
    graph.click(position={"x": 12, "y": (row + 0.5) * int(str(graph.get_attribute("data-row")))})


def test_the_figures_are_those_of_totals(page: Page, fleet: Fleet) -> None:
    graph, row = show(page, fleet), fleet.totals()
    page.locator("[data-figure=tokens]").wait_for()
    assert figure(page, "tokens") == exact(row, "tokens")
    assert figure(page, "cached") == exact(row, "cache_read_tokens")
    assert figure(page, "llm_calls") == f"{row['llm_calls']:,}"
    assert figure(page, "tool_calls") == f"{row['tool_calls']:,}"
    assert f"{exact(row, 'tokens')}. Arrow keys" in str(graph.get_attribute("aria-label"))
    assert page.title() == "Flame graph · whyflame"


@pytest.mark.parametrize(
    ("button", "measure"),
    [("Cost", "cost"), ("Time", "duration"), ("Operations", "operations"), ("Errors", "errors")],
)
def test_every_width_adds_up_to_totals(page: Page, fleet: Fleet, button: str, measure: str) -> None:
    show(page, fleet)
    page.get_by_role("button", name=button, exact=True).click()
    wait_for_address(page, f"measure={measure}")
    wanted = f"{exact(fleet.totals(), measure)}. Arrow keys"
    page.locator(f'.flame[aria-label*="{wanted}"]').wait_for()
    assert (
        page.get_by_role("button", name=button, exact=True).get_attribute("aria-pressed") == "true"
    )


def test_a_part_of_the_tokens_can_be_the_width(page: Page, fleet: Fleet) -> None:
    show(page, fleet)
    page.get_by_label("Part of the tokens").select_option("cache_read_tokens")
    wanted = exact(fleet.totals(), "cache_read_tokens")
    page.locator(f'.flame[aria-label*=" {wanted}."]').wait_for()


def test_waiting_for_the_user_can_be_shown_with_time(page: Page, fleet: Fleet) -> None:
    show(page, fleet)
    button = page.get_by_role("button", name="Waiting", exact=True)
    expect(button).to_be_hidden()
    page.get_by_role("button", name="Time", exact=True).click()
    expect(button).to_have_attribute("aria-pressed", "false")
    button.click()
    wait_for_address(page, "waits=true")
    expect(button).to_have_attribute("aria-pressed", "true")
    profile = fleet.get("profile", view="tokens", measure="duration", waits="true")
    row = {**fleet.totals(), "duration_seconds": profile["totals"]["duration"] / 1e9}
    page.locator(f'.flame[aria-label*="{exact(row, "duration")}. Arrow keys"]').wait_for()
    button.click()
    expect(button).to_have_attribute("aria-pressed", "false")


def test_a_search_says_the_share_of_its_matches(page: Page, fleet: Fleet) -> None:
    show(page, fleet)
    profile = fleet.get("profile", view="tokens")
    column = [item["name"] for item in profile["sample_types"]].index("tokens")
    matched = sum(
        stack["values"][column]
        for stack in profile["stacks"]
        if any("test" in frame for frame in stack["frames"])
    )
    page.get_by_label("Search frames").fill("TEST")
    found = page.locator(".found:not(:empty)")
    found.wait_for()
    assert f"{matched / profile['totals']['tokens'] * 100:.1f} %" in found.inner_text()
    wait_for_address(page, "q=TEST")
    names = page.locator(".table-panel tbody tr .named").all_inner_texts()
    assert names
    assert all("test" in name for name in names)


def test_zoom_has_breadcrumbs_and_a_way_back(page: Page, fleet: Fleet) -> None:
    graph = show(page, fleet)
    click_row(page, graph, 2)
    wait_for_address(page, "frame=")
    crumbs = page.get_by_role("navigation", name="Zoom")
    expect(crumbs.locator("li")).to_have_count(3)
    crumbs.get_by_role("link").nth(1).click()
    expect(crumbs.locator("li")).to_have_count(2)
    page.go_back()
    expect(crumbs.locator("li")).to_have_count(3)
    crumbs.get_by_role("link", name="all").click()
    expect(crumbs.locator("li")).to_have_count(1)


def test_a_tooltip_tells_exact_figures_and_shares(page: Page, fleet: Fleet) -> None:
    graph = show(page, fleet)
    graph.hover(position={"x": 12, "y": 13})
    tip = page.locator(".flame .tip:not([hidden])")
    tip.wait_for()
    row = fleet.totals()
    for text in (exact(row, "tokens"), exact(row, "cost"), "100 %", "in itself"):
        assert text in tip.inner_text()


def test_the_stack_is_edited_with_presets_chips_and_keys(page: Page, fleet: Fleet) -> None:
    show(page, fleet)
    page.get_by_label("Stack presets").select_option("model,agent,path")
    wait_for_address(page, "stack=model,agent,path")
    page.get_by_role("button", name=re.compile("Level 1: model")).press("ArrowRight")
    wait_for_address(page, "stack=agent,model,path")
    assert "Level 2: model" in str(page.evaluate("document.activeElement.ariaLabel"))
    page.get_by_role("button", name="Remove level path").click()
    wait_for_address(page, "stack=agent,model")
    page.get_by_label("Add a level to the stack").select_option("token_kind")
    wait_for_address(page, "stack=agent,model,token_kind")
    page.locator(".table-panel").get_by_text("cache_read", exact=True).wait_for()


def test_levels_are_dragged(page: Page, fleet: Fleet) -> None:
    show(page, fleet)
    page.locator(".level").nth(2).drag_to(page.locator(".level").nth(0))
    wait_for_address(page, "stack=leaf,agent,path")


def test_filters_are_completed_from_what_is_there(page: Page, fleet: Fleet) -> None:
    show(page, fleet)
    box = page.get_by_role("combobox", name="Filters")
    box.fill("outco")
    offered = page.get_by_role("listbox", name="Filters: suggestions").get_by_role("option")
    offered.filter(has_text=re.compile("^outcome")).click()
    offered.filter(has_text=re.compile("^outcome= ?is$")).wait_for()
    box.press("ArrowDown")
    box.press("Enter")
    offered.filter(has_text=re.compile("^failure")).click()
    wait_for_address(page, "where=outcome=failure")
    wanted = exact(fleet.totals(where="outcome=failure"), "tokens")
    page.locator("[data-figure=tokens]", has_text=wanted).wait_for()
    page.get_by_role("button", name="Remove filter outcome=failure").click()
    page.locator("[data-figure=tokens]", has_text=exact(fleet.totals(), "tokens")).wait_for()


def test_a_wrong_filter_is_explained(page: Page, fleet: Fleet) -> None:
    show(page, fleet)
    box = page.get_by_role("combobox", name="Filters")
    box.fill("agnet=coder")
    box.press("Enter")
    page.get_by_role("alert").get_by_text("did you mean 'agent'").wait_for()


def test_an_empty_answer_says_what_to_do_next(page: Page, fleet: Fleet) -> None:
    page.goto(f"{fleet.url}/?where=agent=nobody")
    page.get_by_role("heading", name="Nothing matches").wait_for()
    page.get_by_role("link", name="Remove all filters").click()
    page.locator(".flame[data-drawn]").wait_for()


def test_the_table_sorts_and_opens_callers_and_callees(page: Page, fleet: Fleet) -> None:
    show(page, fleet)
    page.get_by_role("button", name="Self").click()
    wait_for_address(page, "sort=-self")
    first = page.locator(".table-panel tbody tr .named").first
    name = first.inner_text()
    first.click()
    wait_for_address(page, "sandwich=")
    callers = page.get_by_role("application", name="Callers")
    callers.wait_for()
    profile = fleet.get("profile", view="tokens")
    column = [item["name"] for item in profile["sample_types"]].index("tokens")
    through = sum(item["values"][column] for item in profile["stacks"] if name in item["frames"])
    assert f"{through:,}" in page.locator(".chosen").inner_text()


def test_a_difference_marks_what_may_be_noise(page: Page, fleet: Fleet) -> None:
    page.goto(f"{fleet.url}/?page=compare")
    page.get_by_role("link", name="outcome: success against failure").click()
    page.locator(".flame[data-drawn]").wait_for()
    found = fleet.get("diff", view="tokens", base="outcome=success", target="outcome=failure")
    noisy = [row for row in found["frames"] if row["may_be_noise"]]
    assert f"{len(found['frames']) - len(noisy)} frame" in page.locator(".side p").inner_text()
    shown = page.locator(".table-panel tbody tr")
    rows = {row["frame"]: row for row in found["frames"]}
    for text in shown.all_inner_texts()[:20]:
        assert ("may be noise" in text) == rows[text.split("\n")[0].strip()]["may_be_noise"]


def test_what_surely_changed_comes_first(page: Page, fleet: Fleet) -> None:
    """Within it, and within what may be noise, the larger change."""
    page.goto(f"{fleet.url}/?page=compare&base=outcome=success&target=outcome=failure")
    page.locator(".table-panel tbody tr").first.wait_for()
    found = fleet.get("diff", view="tokens", base="outcome=success", target="outcome=failure")
    ranked = sorted(found["frames"], key=lambda row: (row["may_be_noise"], -abs(row["change"])))
    shown = page.locator(".table-panel tbody tr .named").all_inner_texts()[:100]
    sizes = {row["frame"]: (row["may_be_noise"], -abs(row["change"])) for row in ranked}
    assert [sizes[name] for name in shown] == [sizes[row["frame"]] for row in ranked[:100]]


def test_failing_runs_are_priced_and_lead_to_what_they_do_differently(
    page: Page, fleet: Fleet
) -> None:
    show(page, fleet)
    failed = fleet.totals(where="outcome=failure")
    expect(page.locator("[data-figure=failing]")).to_have_text(f"${failed['cost_usd']:,.2f}")
    page.get_by_role("link", name="what do they do differently?").click()
    page.locator(".flame[data-drawn]").wait_for()
    assert page.get_by_role("group", name="Target").get_by_text("outcome=failure").count()
    page.goto(f"{fleet.url}/?where=outcome=failure")
    page.locator("[data-figure=tokens]").wait_for()
    assert page.locator("[data-figure=failing]").count() == 0, "asked for already"


def test_a_session_counts_its_failures_as_the_list_does(page: Page, fleet: Fleet) -> None:
    """An agent that ends with the error of a call has not failed once more."""
    for session in fleet.get("sessions", where="outcome=failure")["sessions"][:3]:
        page.goto(f"{fleet.url}/?page=session&session={session['session']}")
        facts = page.locator(".run-head dl").first
        facts.wait_for()
        assert f"failed\n{session['errors']}" in facts.inner_text()


def test_two_time_ranges_are_compared(page: Page, fleet: Fleet) -> None:
    status = fleet.get("status")
    middle = (status["oldest_ns"] + status["newest_ns"]) // 2
    page.goto(f"{fleet.url}/?page=compare&base_until={middle}&target_since={middle}")
    page.locator(".flame[data-drawn]").wait_for()
    before, after = fleet.totals(until=middle), fleet.totals(since=middle)
    page.locator(".flame").hover(position={"x": 12, "y": 13})
    told = page.locator(".flame .tip:not([hidden])").inner_text()
    assert exact(before, "tokens") in told
    assert exact(after, "tokens") in told


def test_one_click_leads_from_a_frame_to_its_sessions(page: Page, fleet: Fleet) -> None:
    graph = show(page, fleet)
    click_row(page, graph, 2)
    link = page.locator(".behind li a").first
    link.wait_for()
    session = link.inner_text()
    frames = page.evaluate("new URLSearchParams(location.search).getAll('frame')")
    link.click()
    page.get_by_role("heading", name=session).wait_for()
    found = fleet.get("behind", view="tokens", frame=frames, session=session, limit=1000)
    assert f"{found['total']:,} in" in page.locator(".behind-note").inner_text()
    assert page.locator(".step.behind").count() >= len(found["rows"])
    links = page.locator(".step.behind .step-links").first.get_by_role("link")
    assert re.search("/trace/[0-9a-f]{32}$", str(links.first.get_attribute("href")))
    assert links.count() == 1  # no script by way of a template


def test_a_session_shows_lanes_and_steps_in_order(page: Page, fleet: Fleet) -> None:
    page.goto(f"{fleet.url}/?page=sessions")
    table = page.get_by_role("region", name="Sessions")
    table.wait_for()
    assert f"{len(fleet.get('sessions', limit=1000)['sessions'])} sessions" in (
        page.locator(".page-head").inner_text()
    )
    table.get_by_role("link").first.click()
    page.locator(".steps .step").first.wait_for()
    steps = [
        int(text)
        for text in page.locator(".lane:first-of-type .step-number").all_inner_texts()
        if text
    ]
    assert steps
    assert steps == sorted(steps)


def test_an_address_is_the_whole_state(page: Page, fleet: Fleet) -> None:
    graph = show(
        page, fleet, "?measure=cost&stack=service,path,leaf&where=outcome!=failure&q=call&sort=name"
    )
    click_row(page, graph, 1)
    wait_for_address(page, "frame=")
    state = (
        "[document.querySelector('.flame').ariaLabel, document.querySelector('.crumbs').innerText,"
        " document.querySelector('.found').innerText, document.querySelector('.table-panel').innerText,"
        " document.querySelector('.question').innerText]"
    )
    page.locator(".behind li").first.wait_for()
    before, address = page.evaluate(state), page.url
    page.goto("about:blank")
    page.goto(address)
    page.locator(".behind li").first.wait_for()
    assert page.evaluate(state) == before


def test_everything_is_reached_with_the_keyboard(page: Page, fleet: Fleet) -> None:
    show(page, fleet)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.className") == "flame":
            break
    else:
        pytest.fail("the graph is not reached with Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    said = page.locator("#announcer").inner_text()
    assert re.search(r", [\d,]+ tokens, [\d.]+ %", said)
    page.keyboard.press("Enter")
    wait_for_address(page, "frame=")
    assert said.split(", ")[0] in page.locator(".crumbs").inner_text()
    page.keyboard.press("Backspace")
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: "frame=" not in url)
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"
    page.keyboard.type("call")
    page.locator(".found:not(:empty)").wait_for()
    page.keyboard.press("Enter")
    page.keyboard.press("n")
    assert page.locator("#announcer").inner_text().startswith("call")


@pytest.mark.parametrize(
    ("name", "start"), [("pprof", b"\x1f\x8b"), ("SVG", b"<svg"), ("Folded stacks", b"")]
)
def test_files_are_downloaded(page: Page, fleet: Fleet, name: str, start: bytes) -> None:
    show(page, fleet)
    page.locator("summary", has_text="Download").click()
    with page.expect_download() as waiting:
        page.locator(".menu-items button", has_text=name).click()
    with open(waiting.value.path(), "rb") as file:  # noqa: PTH123 - Playwright names the file
        content = file.read()
    assert content.startswith(start)
    if not start:
        values = [int(line.rsplit(" ", 1)[1]) for line in content.decode().splitlines()]
        assert f"{sum(values):,}" == exact(fleet.totals(), "tokens")


def test_a_graph_of_the_server_runs_its_own_script_alone(page: Page, fleet: Fleet) -> None:
    """Its names come from telemetry, and its origin is the API's."""
    answer = page.goto(f"{fleet.url}/api/v1/profile?format=svg")
    assert answer is not None
    scripts = re.findall(r"script-src ([^;]+);", answer.headers["content-security-policy"])
    assert [text.startswith("'sha256-") for text in scripts] == [True]
    page.locator("input").wait_for()  # shown by the script


def test_the_theme_is_chosen_and_kept(page: Page, fleet: Fleet) -> None:
    show(page, fleet)
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_role("button", name="Switch to the dark theme").click()
    dark = page.evaluate(ground)
    assert dark != light
    page.reload()
    page.locator(".flame[data-drawn]").wait_for()
    assert page.evaluate(ground) == dark
