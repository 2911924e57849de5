"""The chart renders to objects that Kubernetes takes, and to a configuration that whyflame takes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.built import BUILD_SECONDS

from whyflame.cli import build_parser
from whyflame.config import Config, load

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "helm" / "whyflame"
OTLP_SECRET = "auth.otlp.existingSecret"
MINIMAL = CHART / "ci" / "minimal-values.yaml"
FULL = CHART / "ci" / "full-values.yaml"

Objects = list[dict[str, Any]]

pytestmark = [pytest.mark.peer, pytest.mark.timeout(60 + BUILD_SECONDS)]


def only(objects: Objects, kind: str) -> dict[str, Any]:
    """The first object of a kind, which is the chart's own."""
    return next(each for each in objects if each["kind"] == kind)


def pod_of(objects: Objects) -> dict[str, Any]:
    spec: dict[str, Any] = only(objects, "StatefulSet")["spec"]["template"]["spec"]
    return spec


def container_of(objects: Objects) -> dict[str, Any]:
    return next(each for each in pod_of(objects)["containers"] if each["name"] == "whyflame")


def config_of(objects: Objects, folder: Path) -> Config:
    file = folder / "whyflame.yaml"
    file.write_text(only(objects, "ConfigMap")["data"]["whyflame.yaml"], encoding="utf-8")
    return load(file)


def test_lint_has_nothing_to_say(helm: Any, values: Path) -> None:
    done = helm("lint", "--strict", CHART, "-f", values, "--kube-version", "1.32.0")
    assert done.returncode == 0, done.stdout
    assert "[WARNING]" not in done.stdout
    assert "[ERROR]" not in done.stdout


@pytest.mark.parametrize("kubernetes", ["1.25", "1.32", "1.37"])
def test_objects_have_the_shape_kubernetes_asks_for(
    helm: Any, values: Path, kubernetes: str, tmp_path: Path
) -> None:
    objects = helm.template(values)
    file = tmp_path / "objects.yaml"
    known = [each for each in objects if each["kind"] not in {"ServiceMonitor", "HTTPRoute"}]
    file.write_text(yaml.safe_dump_all(known), encoding="utf-8")
    validate = Path(sys.executable).parent / "kubernetes-validate"
    done = subprocess.run(
        [validate, "--strict", "-k", kubernetes, file], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARN" not in done.stdout + done.stderr


def test_no_object_stands_twice_and_selectors_find_the_pod(helm: Any, values: Path) -> None:
    objects = helm.template(values)
    names = [(each["kind"], each["metadata"]["name"]) for each in objects]
    assert len(names) == len(set(names))
    labels = only(objects, "StatefulSet")["spec"]["template"]["metadata"]["labels"]
    selectors = [each["spec"]["selector"] for each in objects if each["kind"] == "Service"]
    selectors.append(only(objects, "StatefulSet")["spec"]["selector"]["matchLabels"])
    for selector in selectors:
        assert selector.items() <= labels.items()
        assert "app.kubernetes.io/version" not in selector


def test_every_mount_has_its_volume_and_every_port_its_name(helm: Any, values: Path) -> None:
    objects = helm.template(values)
    claims = only(objects, "StatefulSet")["spec"].get("volumeClaimTemplates", [])
    volumes = [each["name"] for each in pod_of(objects)["volumes"]]
    volumes += [each["metadata"]["name"] for each in claims]
    container = container_of(objects)
    mounts = [each["name"] for each in container["volumeMounts"]]
    assert sorted(mounts) == sorted(volumes)
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["port"] in ports
    for service in (each for each in objects if each["kind"] == "Service"):
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports.keys()


def test_the_pod_meets_the_restricted_standard(helm: Any, values: Path) -> None:
    pod, container = pod_of(helm.template(values)), container_of(helm.template(values))
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == 10001
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_the_command_line_takes_the_arguments(helm: Any, values: Path) -> None:
    arguments = build_parser().parse_args(container_of(helm.template(values))["args"])
    assert arguments.command == "serve"
    assert arguments.config == "/etc/whyflame/whyflame.yaml"


def test_the_configuration_loads_and_listens_where_the_ports_are(
    helm: Any, values: Path, tmp_path: Path
) -> None:
    objects = helm.template(values)
    if not any("whyflame.yaml" in each.get("data", {}) for each in objects):
        assert "existingConfigMap" in values.read_text(encoding="utf-8")
        return
    config = config_of(objects, tmp_path)
    ports = {each["name"]: each["containerPort"] for each in container_of(objects)["ports"]}
    assert config.otlp.grpc == f"0.0.0.0:{ports['otlp-grpc']}"
    assert config.otlp.http == f"0.0.0.0:{ports['otlp-http']}"
    assert config.http.listen == f"0.0.0.0:{ports['api']}"
    mounts = [each["mountPath"] for each in container_of(objects)["volumeMounts"]]
    assert config.data_dir in mounts
    for file in (config.otlp.auth.bearer_tokens_file, config.otlp.tls.key_file):
        assert not file or str(Path(file).parent) in mounts


def test_a_full_configuration_arrives(helm: Any, tmp_path: Path) -> None:
    config = config_of(helm.template(FULL), tmp_path)
    assert config.store.max_bytes == 1_000_000
    assert config.store.memory_limit == 1 << 30
    assert config.content.services == {"support-bot": "features"}
    assert config.exporters["pyroscope"].options == {"url": "http://pyroscope.monitoring:4040"}
    assert config.http.auth.bearer_tokens_file == "/etc/whyflame/auth/http/tokens"


def test_another_configuration_is_another_pod(helm: Any) -> None:
    def checksum(*arguments: str) -> str:
        template = only(helm.render(MINIMAL, *arguments), "StatefulSet")["spec"]["template"]
        return str(template["metadata"]["annotations"]["checksum/config"])

    assert checksum() == checksum()
    assert checksum() != checksum("--set", "config.settle.idle=1m")


def test_secrets_are_named_and_never_made(helm: Any, values: Path) -> None:
    objects = helm.template(values)
    assert not [each for each in objects if each["kind"] == "Secret"]
    if "existingSecret" in values.read_text(encoding="utf-8"):
        secrets = [each["secret"] for each in pod_of(objects)["volumes"] if "secret" in each]
        assert all(secret["secretName"] and "{{" not in secret["secretName"] for secret in secrets)
        assert any(item.get("path") == "tokens" for each in secrets for item in each["items"][:1])


def test_the_grpc_port_says_so(helm: Any, values: Path) -> None:
    ports = {each["name"]: each for each in only(helm.template(values), "Service")["spec"]["ports"]}
    assert ports["otlp-grpc"]["appProtocol"] == "grpc"
    assert {name: port["port"] for name, port in ports.items()} == {
        "otlp-grpc": 4317,
        "otlp-http": 4318,
        "api": 4319,
    }


def test_one_replica_keeps_its_volume(helm: Any) -> None:
    spec = only(helm.template(MINIMAL), "StatefulSet")["spec"]
    assert spec["replicas"] == 1
    assert spec["persistentVolumeClaimRetentionPolicy"]["whenDeleted"] == "Retain"
    assert spec["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"] == "20Gi"


def test_tls_turns_the_probes_to_https(helm: Any) -> None:
    container = container_of(helm.template(FULL))
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["scheme"] == "HTTPS"
    assert "scheme" not in container_of(helm.template(MINIMAL))["livenessProbe"]["httpGet"]


def test_the_service_monitor_scrapes_the_api_port(helm: Any) -> None:
    objects = helm.template(FULL)
    monitor = only(objects, "ServiceMonitor")
    service = only(objects, "Service")
    wanted = monitor["spec"]["selector"]["matchLabels"]
    assert wanted.items() <= service["metadata"]["labels"].items()
    assert monitor["spec"]["endpoints"][0]["path"] == "/metrics"
    assert monitor["spec"]["endpoints"][0]["port"] in {p["name"] for p in service["spec"]["ports"]}


def test_the_route_leads_to_ports_of_the_service(helm: Any) -> None:
    objects = helm.template(FULL)
    spec, service = only(objects, "HTTPRoute")["spec"], only(objects, "Service")
    assert spec["parentRefs"][0]["name"] == "public"
    assert spec["hostnames"] == ["r.example.com"]
    ports = {port["port"]: port["name"] for port in service["spec"]["ports"]}
    led = {
        rule["matches"][0]["path"]["value"]: ports[rule["backendRefs"][0]["port"]]
        for rule in spec["rules"]
    }
    assert led == {"/v1": "otlp-http", "/": "api"}
    assert {rule["backendRefs"][0]["name"] for rule in spec["rules"]} == {
        service["metadata"]["name"]
    }


def test_the_network_policy_lets_in_what_the_ports_are_for_and_no_more(helm: Any) -> None:
    objects = helm.template(FULL)
    spec = only(objects, "NetworkPolicy")["spec"]
    labels = only(objects, "StatefulSet")["spec"]["template"]["metadata"]["labels"]
    assert spec["podSelector"]["matchLabels"].items() <= labels.items()
    assert spec["policyTypes"] == ["Ingress"]
    names = {port["name"] for port in container_of(objects)["ports"]}
    otlp, api, further = spec["ingress"]
    assert {port["port"] for rule in (otlp, api) for port in rule["ports"]} == names
    assert [port["port"] for port in api["ports"]] == ["api"]
    assert api["from"] == [{"podSelector": {"matchLabels": {"app": "grafana"}}}]
    assert {"ipBlock": {"cidr": "10.0.0.0/8"}} in otlp["from"]
    assert further == {"ports": [{"port": 8080, "protocol": "TCP"}]}


def test_a_policy_without_peers_lets_all_reach_the_three_ports(helm: Any) -> None:
    objects = helm.render(MINIMAL, "--set", "networkPolicy.enabled=true")
    rules = only(objects, "NetworkPolicy")["spec"]["ingress"]
    assert [rule.keys() for rule in rules] == [{"ports"}, {"ports"}]


def test_the_disruption_budget_holds_the_one_pod(helm: Any) -> None:
    objects = helm.template(FULL)
    spec = only(objects, "PodDisruptionBudget")["spec"]
    labels = only(objects, "StatefulSet")["spec"]["template"]["metadata"]["labels"]
    assert spec["selector"]["matchLabels"].items() <= labels.items()
    assert spec["maxUnavailable"] == 0


def test_nothing_more_is_made_unless_it_is_asked_for(helm: Any) -> None:
    kinds = {each["kind"] for each in helm.template(MINIMAL)}
    assert kinds == {"ConfigMap", "Service", "ServiceAccount", "StatefulSet"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), OTLP_SECRET),
        (("--set", "auth.otlp.enabled=false", "--set", "auth.http.enabled=true"), "auth.http"),
        (("-f", str(MINIMAL), "--set", "config.otlp.grpc=0.0.0.0:1"), "config.otlp.grpc"),
        (("-f", str(FULL), "--set", "existingConfigMap=mine"), "exclude each other"),
        (("-f", str(MINIMAL), "--set", "httpRoute.enabled=true"), "httpRoute.parentRefs"),
        (("-f", str(MINIMAL), "--set", "podDisruptionBudget.maxUnavailable=half"), "maxUnav"),
        (("-f", str(MINIMAL), "--set", "image.digets=x"), "digets"),
        (("-f", str(MINIMAL), "--set", "auth.otlp.enabled=maybe"), "enabled"),
        (("-f", str(MINIMAL), "--set", "persistence.size=much"), "size"),
        (("-f", str(MINIMAL), "--set", "service.ports.grpc=70000"), "grpc"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_work_is_refused_by_name(
    helm: Any, arguments: tuple[str, ...], said: str
) -> None:
    done = helm("template", "r", CHART, "--kube-version", "1.32.0", *arguments)
    assert done.returncode != 0
    assert said in done.stderr


def test_the_notes_say_where_to_send(newest_helm: Any) -> None:
    """Helm 3 prints notes only when it reaches a cluster."""
    done = newest_helm("install", "r", CHART, "-f", MINIMAL, "--dry-run=client", "-n", "agents")
    assert done.returncode == 0, done.stderr
    assert "OTEL_EXPORTER_OTLP_ENDPOINT=http://r-whyflame.agents:4317" in done.stdout


def test_schema_defaults_and_readme_name_the_same_values() -> None:
    """Every value is in the schema and in the README; the README has no others."""
    defaults = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    assert defaults.keys() == schema["properties"].keys()
    readme = (CHART / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([A-Za-z.]+)` \|", readme, re.MULTILINE)
    documented = documented_values((CHART / "values.yaml").read_text(encoding="utf-8"))
    assert listed == [name for name, _ in documented]
    for name, text in documented:
        assert f"| `{name}` |" in readme
        assert text in readme


def documented_values(text: str) -> list[tuple[str, str]]:
    """Path and documentation of every key below a `# --` line."""
    found: list[tuple[str, str]] = []
    path: list[str] = []
    note = ""
    for line in text.splitlines():
        stripped = line.strip()
        depth = (len(line) - len(line.lstrip())) // 2
        if stripped.startswith("# -- "):
            note = stripped[5:]
        elif match := re.match(r"([A-Za-z]+):", stripped):
            path = [*path[:depth], match[1]]
            if note:
                found.append((".".join(path), note))
                note = ""
    return found
