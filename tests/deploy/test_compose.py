"""What is in `deploy/` fits together: image, compose file, Grafana and Pyroscope."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from whyflame.config import load, parse_duration

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
PYROSCOPE_DATA_SOURCE = "grafana-pyroscope-datasource"
PUSHED = {
    "agent:operations:count:agent:count",
    "agent:cost:microusd:agent:count",
    "agent:duration:nanoseconds:agent:count",
    "agent:tokens:count:agent:count",
}
LABELS = {"service_name", "environment", "version", "agent", "model", "provider", "outcome"}


def read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8"))
    return content


@pytest.fixture
def services() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = read("compose.yaml")["services"]
    return found


@pytest.fixture
def dashboard() -> dict[str, Any]:
    text = (DEPLOY / "grafana" / "dashboards" / "agent-spend.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def test_the_containerfile_is_clean() -> None:
    linter = Path(sys.executable).parent / "hadolint"
    done = subprocess.run(
        [linter, DEPLOY / "Containerfile"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_compose_takes_the_file() -> None:
    if shutil.which("docker-compose") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("docker-compose is not installed; .ci/run installs it")
        pytest.skip("docker-compose is not installed")
    done = subprocess.run(
        ["docker-compose", "-f", DEPLOY / "compose.yaml", "config", "-q"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_every_mounted_file_is_there_and_every_image_is_pinned(
    services: dict[str, dict[str, Any]],
) -> None:
    for service in services.values():
        assert re.search(r":\d+\.\d+\.\d+$", service["image"])
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            assert not source.startswith(".") or (DEPLOY / source).exists()


def test_ports_are_published_on_loopback_only(services: dict[str, dict[str, Any]]) -> None:
    published = [port for service in services.values() for port in service["ports"]]
    assert len(published) == 5
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_whyflame_listens_on_the_published_ports_and_pushes_to_pyroscope(
    services: dict[str, dict[str, Any]],
) -> None:
    environment = services["whyflame"]["environment"]
    config = load(DEPLOY / "whyflame.yaml", environment)
    listening = {address.rsplit(":", 1)[1] for address in (config.otlp.grpc, config.otlp.http)}
    listening.add(config.http.listen.rsplit(":", 1)[1])
    assert {port.rsplit(":", 1)[1] for port in services["whyflame"]["ports"]} == listening
    assert config.exporters["pyroscope"].options["url"] == "http://pyroscope:4040"
    assert f":{config.data_dir}" in services["whyflame"]["volumes"][0]


def test_the_image_holds_the_configuration_it_starts_with() -> None:
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    assert '"--config", "/etc/whyflame/whyflame.yaml"' in text
    assert "deploy/whyflame.yaml /etc/whyflame/whyflame.yaml" in text
    for line in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE):
        assert all((ROOT / name).exists() for name in line.split())


def test_pyroscope_answers_over_weeks() -> None:
    limits = read("pyroscope/config.yaml")["limits"]
    weeks = 6 * parse_duration("7d")
    assert parse_duration(limits["max_query_length"]) >= weeks
    assert parse_duration(limits["max_query_lookback"]) >= weeks


def test_grafana_finds_pyroscope_and_the_dashboard(
    services: dict[str, dict[str, Any]], dashboard: dict[str, Any]
) -> None:
    (source,) = read("grafana/provisioning/datasources/pyroscope.yaml")["datasources"]
    assert source["type"] == PYROSCOPE_DATA_SOURCE
    assert source["url"] == "http://pyroscope:4040"
    chosen = dashboard["templating"]["list"][0]
    assert (chosen["query"], chosen["current"]["value"]) == (source["type"], source["uid"])
    (provider,) = read("grafana/provisioning/dashboards/whyflame.yaml")["providers"]
    mounts = [volume.split(":")[1] for volume in services["grafana"]["volumes"]]
    assert provider["options"]["path"] in mounts


def test_panels_ask_for_what_is_pushed(dashboard: dict[str, Any]) -> None:
    panels = dashboard["panels"]
    assert {panel["type"] for panel in panels} == {"flamegraph", "timeseries"}
    for panel in panels:
        for target in panel["targets"]:
            assert target["profileTypeId"] in PUSHED
            assert target["datasource"] == {"type": PYROSCOPE_DATA_SOURCE, "uid": "${source}"}
            assert set(target["groupBy"]) <= LABELS
            assert set(re.findall(r"(\w+)=~", target["labelSelector"])) <= LABELS
            kind = {"flamegraph": "profile", "timeseries": "metrics"}[panel["type"]]
            assert target["queryType"] == kind
    for variable in dashboard["templating"]["list"][1:]:
        assert variable["query"]["labelName"] in LABELS


def test_panels_do_not_lie_over_each_other(dashboard: dict[str, Any]) -> None:
    cells: set[tuple[int, int]] = set()
    for panel in dashboard["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        own = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & own
        cells |= own
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
