"""SVG files: valid, self-contained, exact, and deaf to what names try to say."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, strategies as st
from tests.fold_strategies import profile_of, profiles

from whyflame.fold import svg
from whyflame.fold.palette import (
    FAMILIES,
    NARROW,
    TEXT_ON_FRAME,
    family_of,
    fill_names,
    fill_of,
    shade_of,
)
from whyflame.fold.svg_tree import build_svg_tree

if TYPE_CHECKING:
    from whyflame.fold.profile import Profile

NS = {"s": "http://www.w3.org/2000/svg", "h": "http://www.w3.org/1999/xhtml"}
HOSTILE = [
    "</script><script>alert(1)</script>",
    "]]><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onload='alert(1)",
    "<!--",
    "&amp;&lt;",
    "javascript:alert(1)",
    "a\x00\x1b\ufffe\u2028b",
]


def parse(data: bytes) -> ET.Element:
    return ET.fromstring(data)


def data_of(document: ET.Element) -> dict[str, object]:
    script = document.find("s:script[@type='application/json']", NS)
    assert script is not None
    assert script.text is not None
    found: dict[str, object] = json.loads(script.text)
    return found


@given(profiles)
def test_the_data_in_the_file_are_exact(profile: Profile) -> None:
    data = data_of(parse(svg.encode(profile)))
    selfs = [int(value) for value in data["selfs"]]  # type: ignore[attr-defined]
    assert sum(selfs) == profile.total()
    assert int(data["totals"][0][0]) == profile.total()  # type: ignore[index]
    assert svg.encode(profile) == svg.encode(profile)


@pytest.mark.parametrize("name", HOSTILE)
def test_names_stay_text(name: str) -> None:
    document = parse(svg.encode(profile_of([(("a", name), (), (1, 1, 1, 9))]), title=name))
    assert len(document.findall(".//s:script", NS)) == 2
    assert not document.findall(".//h:img", NS) + document.findall(".//s:img", NS)
    allowed = {
        "class", "role", "x", "y", "width", "height", "rx", "fill", "visibility", "xmlns", "type",
        "viewBox", "preserveAspectRatio", "id", "aria-level", "aria-label", "aria-labelledby",
        "aria-live", "text-anchor", "placeholder", "disabled",
    }  # fmt: skip
    assert {key for element in document.iter() for key in element.attrib} <= allowed
    code = document.findall("s:script", NS)[1].text
    assert code is not None
    assert code.strip() == svg._asset("flame.js").strip()


@given(st.text(max_size=20))
def test_any_name_gives_valid_xml_and_html(name: str) -> None:
    data = svg.encode(profile_of([((name or "-",), (), (1, 1, 1, 1))]))
    parse(data)
    scripts = re.findall(rb"<script[ >]", data)
    assert len(scripts) == 2


def test_nothing_outside_the_file_is_used() -> None:
    text = svg.encode(profile_of([(("a",), (), (1, 1, 1, 1))])).decode()
    addresses = set(re.findall(r"https?://[^\"' )]+", text))
    assert addresses <= {NS["s"], NS["h"]}
    assert not re.search(r"\b(href|src|fetch|XMLHttpRequest|import|eval)\b\s*[=(]", text)
    assert "url(" not in text


def test_what_is_seen_at_first_stands_there_without_the_script() -> None:
    profile = profile_of(
        [
            (("coder", "fix login", "call gpt-5"), (), (2, 1_500_000_000, 3, 900)),
            (("w",), (), (1, 0, 0, 100)),
        ]
    )
    document = parse(svg.encode(profile))
    frames = document.findall(".//s:g[@role='treeitem']", NS)
    assert [frame.get("aria-label") for frame in frames] == [
        "all, 1,000 tokens, 100.00%",
        "coder, 900 tokens, 90.00%",
        "fix login, 900 tokens, 90.00%",
        "call gpt-5, 900 tokens, 90.00%",
        "w, 100 tokens, 10.00%",
    ]
    assert [frame.get("aria-level") for frame in frames] == ["1", "2", "3", "4", "2"]
    heading = document.find("s:text[@class='figures']", NS)
    assert heading is not None
    assert heading.text is not None
    assert "1,000 tokens" in heading.text
    assert "$1.50" in heading.text


def test_the_smallest_frames_are_left_out_and_counted() -> None:
    profile = profile_of([((f"f{i:02}",), (), (1, 0, 0, i)) for i in range(1, 21)])
    tree = build_svg_tree(profile, ["tokens"], max_nodes=5)
    assert tree.left_out == 15
    assert len(tree.name) == 6
    assert tree.names[1] == "f20"
    assert tree.totals[0][0] == profile.total()


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (4_558_192, "count", "4,558,192"),
        (34_843_365_569, "nanousd", "$34.843365569"),
        (1_500_000_000, "nanousd", "$1.50"),
        (-2_500_000, "microusd", "-$2.50"),
        (3_723_412_345_678, "nanoseconds", "3,723.412345678 s"),
        (2_000_000_000, "nanoseconds", "2 s"),
        (12, "bytes", "12 B"),
    ],
)
def test_figures_are_exact(value: int, unit: str, text: str) -> None:
    assert svg.amount(value, unit) == text


def test_figures_past_what_javascript_counts_exactly_travel_as_text() -> None:
    data = data_of(parse(svg.encode(profile_of([(("a",), (), (1, 1, 1, 1 << 60))]))))
    assert data["totals"][0] == [str(1 << 60)] * 2  # type: ignore[index]


# --- palette ------------------------------------------------------------------------------------


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_on_frames_can_be_read(theme: str) -> None:
    for name in fill_names():
        assert contrast(TEXT_ON_FRAME[theme], fill_of(name, theme)) >= 4.5, name
    assert NARROW[theme].startswith("#")


@pytest.mark.parametrize(
    ("frame", "family"),
    [
        ("call gpt-5", "model"),
        ("run bash", "run"),
        ("inspect source", "look"),
        ("Fix login", "change"),
        ("test", "test"),
        ("report result", "plan"),
        ("RateLimitError", "fail"),
        ("research agent", "base"),
        ("coder", "base"),
    ],
)
def test_colour_tells_the_kind_of_work(frame: str, family: str) -> None:
    assert family_of(frame) == family
    assert shade_of(frame) == shade_of(frame)


def test_no_word_belongs_to_two_kinds() -> None:
    words = [word for family in FAMILIES for word in family.words]
    assert len(words) == len(set(words))
