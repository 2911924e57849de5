"""Settings of exporters, and how exporters are found."""

from __future__ import annotations

from typing import Any

import pytest

from whyflame.config import parse
from whyflame.errors import ConfigError
from whyflame.export import build_exporter, build_exporters, known_exporters
from whyflame.export.fake import MemoryExporter
from whyflame.export.settings import split_options


def test_defaults() -> None:
    settings, own = split_options("out", {"url": "http://x"})
    assert settings.measures == ["operations", "cost", "duration", "tokens"]
    assert (settings.late, settings.window, settings.in_flight) == ("push", 15.0, 4)
    assert own == {"url": "http://x"}


def test_exporters_may_prefer_other_defaults() -> None:
    """Pyroscope keeps span ids with samples; elsewhere each would make a series."""
    pyroscope = {"url": "http://x"}
    assert build_exporter("out", "pyroscope", pyroscope).settings.span_links == "root"
    chosen = build_exporter("out", "pyroscope", pyroscope | {"span_links": "off"})
    assert chosen.settings.span_links == "off"
    assert build_exporter("out", "parca", pyroscope).settings.span_links == "off"


def test_units_are_understood() -> None:
    settings, _ = split_options("out", {"window": "1m", "max_profile_bytes": "1MiB"})
    assert (settings.window, settings.max_profile_bytes) == (60.0, 1 << 20)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"labels": ["session"]}, "exporters.out: labels: unknown label 'session'"),
        ({"measures": ["tokenz"]}, "did you mean 'tokens'"),
        ({"stack": ["sesion"]}, "did you mean 'session'"),
        ({"stack": ["token_kind"]}, "token_kind cannot be a frame"),
        ({"measures": []}, "measures: needs at least one entry"),
        ({"late": "never"}, "late: unknown value 'never'"),
        ({"in_flight": 0}, "in_flight: must be at least 1"),
        ({"window": "2m", "max_window": "1m"}, "max_window: must not be smaller"),
        ({"shard": 64}, "shard: must be at most 63"),
    ],
)
def test_wrong_values_name_key_and_fix(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        split_options("out", options)
    assert text in str(caught.value)


def test_promoted_fields_can_be_frames() -> None:
    settings, _ = split_options("out", {"stack": ["team", "path"]}, promoted=("team",))
    assert settings.stack == ["team", "path"]


def test_our_exporters_are_installed_as_entry_points() -> None:
    assert "pyroscope" in known_exporters()


def test_unknown_types_list_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="did you mean pyroscope"):
        build_exporter("out", "pyroscop", {})


def test_something_else_than_an_exporter_is_refused() -> None:
    with pytest.raises(ConfigError, match="is no exporter"):
        build_exporter("out", "odd", {}, find=lambda _: lambda _name, _options: object())  # type: ignore[arg-type,return-value]


def test_an_exporters_own_options_reach_it() -> None:
    bound = build_exporter("out", "mem", {"in_flight": 2}, find=lambda _: MemoryExporter)
    assert bound.settings.in_flight == 2
    with pytest.raises(ConfigError, match="no options"):
        build_exporter("out", "mem", {"unheard": 1}, find=lambda _: MemoryExporter)


def test_a_whole_configuration() -> None:
    config = parse({"exporters": {"p": {"type": "pyroscope", "url": "http://localhost:4040"}}})
    (bound,) = build_exporters(config)
    assert bound.name == "p"
    with pytest.raises(ConfigError, match="did you mean url"):
        build_exporters(parse({"exporters": {"p": {"type": "pyroscope", "urll": "x"}}}))
