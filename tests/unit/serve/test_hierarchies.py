"""Profile types: hierarchies of the configuration under names that Grafana takes."""

from __future__ import annotations

import pytest

from whyflame.config import Config, ExporterConfig, ViewConfig
from whyflame.errors import UsageError
from whyflame.serve.pyroscope.hierarchies import MEASURES, hierarchies_of, profile_type


def test_built_in_ones() -> None:
    found = hierarchies_of(Config())
    assert found["by_task"].stack == found["agent"].stack == ("agent", "path", "leaf")
    assert found["errors"].where == ("status=error",)
    assert {"by_model", "by_session", "files", "network"} <= set(found)
    assert list(found) == sorted(found)


def test_names_suit_the_picker() -> None:
    """One word of [a-z0-9_]; `-` would split Grafana's entries, `cpu` would be its first choice."""
    views = {"Team-Cost 2": ViewConfig(stack=["model"])}
    found = hierarchies_of(Config(views=views))
    assert found["team_cost_2"].stack == ("model",)
    for name in found:
        assert name.isidentifier()
        assert name == name.lower()
        assert "cpu" not in name


def test_views_and_exporters_of_the_configuration() -> None:
    config = Config(
        views={"by_task": ViewConfig(stack=["task"], where=["model!="])},
        exporters={
            "one": ExporterConfig("pyroscope", {"profile": "fleet", "stack": ["agent", "task"]})
        },
    )
    found = hierarchies_of(config)
    assert (found["by_task"].stack, found["by_task"].where) == (("task",), ("model!=",))
    assert found["fleet"].stack == ("agent", "task")
    assert found["fleet"].type_id("cost") == "fleet:cost:microusd:fleet:count"


def test_ids_are_read_back() -> None:
    found = hierarchies_of(Config())
    for hierarchy in found.values():
        for measure, unit in MEASURES.items():
            kind = profile_type(hierarchy.type_id(measure), found)
            assert (kind.hierarchy, kind.measure, kind.unit) == (hierarchy, measure, unit)


def test_unknown_types_have_no_hierarchy() -> None:
    found = hierarchies_of(Config())
    for text in ("process_cpu:cpu:nanoseconds:cpu:nanoseconds", "agent:tokens:bytes:agent:count",
                 "agent:nothing:count:agent:count", "off_cpu:off_cpu:nanoseconds::"):  # fmt: skip
        assert profile_type(text, found).hierarchy is None
    for text in ("", "a", "a:b:c:d", "::::", "a:b:c:d:e:f:g"):
        with pytest.raises(UsageError):
            profile_type(text, found)
