"""Two tenants with equal ids in one server: neither ever sees the other."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from tests import otlp
from tests.routes import api_routes
from tests.serving import EXPORT, Serving, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

SESSION = "session-7"
NAMES = {"red": "crimson", "blue": "azure"}


def request_of(tenant: str, calls: int) -> bytes:
    """One agent run; ids are equal for every tenant, names and figures are not."""
    name = NAMES[tenant]
    common = {"gen_ai.conversation.id": SESSION, "session.id": SESSION, "user.id": f"user-{name}"}
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": f"agent-{name}"}
    rows = [otlp.Row("genai", f"invoke_agent {name}", common | agent, service=f"svc-{name}")]
    for number in range(calls):
        call = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": f"model-{name}",
            "gen_ai.usage.input_tokens": 7,
            "gen_ai.usage.output_tokens": 3,
        }
        rows.append(
            otlp.Row(
                "genai", f"chat {name}", common | call, id=2 + number, parent=1,
                start=10 * number, end=10 * number + 5, service=f"svc-{name}",
            )
        )  # fmt: skip
    return otlp.traces(*rows)


@dataclass
class Caller:
    """One tenant's way to the server."""

    serving: Serving
    headers: dict[str, str]

    def send(self, body: bytes) -> None:
        """Export over gRPC."""
        metadata = [(name.lower(), value) for name, value in self.headers.items()]
        with grpc.insecure_channel(self.serving.grpc) as channel:
            call = channel.unary_unary(EXPORT.format("trace", "Trace"))
            assert call(body, timeout=20, metadata=metadata) == b""

    def ask(self, path: str, body: bytes | None = None, kind: str = "") -> tuple[int, str]:
        """(status, text) of any answer."""
        headers = self.headers | ({"Content-Type": kind} if kind else {})
        request = urllib.request.Request(
            f"http://{self.serving.api}{path}", data=body, headers=headers
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.read().decode("utf-8", "replace")
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode("utf-8", "replace")

    def get(self, path: str) -> Any:
        """JSON that must be there."""
        status, text = self.ask(path)
        assert status == 200, text
        return json.loads(text)


@pytest.fixture(scope="module", params=["tokens", "header"])
def callers(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Caller]]:
    """Both tenants, told apart by token or by header, each with data of its own."""
    folder = tmp_path_factory.mktemp("tenants")
    if request.param == "tokens":
        (folder / "tokens").write_text("".join(f"key-{name} {name}\n" for name in NAMES))
        auth: dict[str, str] = {"bearer_tokens_file": str(folder / "tokens")}
        headers = {name: {"Authorization": f"Bearer key-{name}"} for name in NAMES}
    else:
        auth = {"tenant_header": "X-Scope-OrgID"}
        headers = {name: {"X-Scope-OrgID": name} for name in NAMES}
    # Nobody listens there: what both export waits in the outbox.
    away = {"away": {"type": "pyroscope", "url": "http://127.0.0.1:9"}}
    settings = {"otlp": {"auth": auth}, "http": {"auth": auth}, "exporters": away}
    with Serving(folder / "d", settings) as serving:
        found = {name: Caller(serving, headers[name]) for name in NAMES}
        for calls, (name, caller) in enumerate(found.items(), start=2):
            caller.send(request_of(name, calls))
        wait_until(lambda: serving.pending() == 0)
        status, text = found["red"].ask("/api/v1/segment", b"{}", "application/json")
        assert status == 200, text
        yield found


ASKED = {
    "/api/v1/totals": ["?by=session,agent,model,service", "?by=user_hash"],
    "/api/v1/profile": [f"?format={name}" for name in ("pprof", "folded", "svg", "json")],
    "/api/v1/diff": [
        "?format=json&base=agent%3D~.*&target=agent%3D~.*",
        "?format=table&base=agent%3D~.*&target=agent%3D~.*",
    ],
    "/api/v1/sessions": [""],
    "/api/v1/sessions/{session:anything}": [f"/{SESSION}"],
    "/api/v1/status": [""],
    "/api/v1/options": [""],
    "/api/v1/values": [f"?field={name}" for name in ("session", "agent", "model", "service")],
    "/api/v1/behind": ["?frame=agent-crimson", "?frame=agent-azure", "?frame=call&anywhere=true"],
    "/api/v1/coverage": [""],
    "/api/v1/outbox": [""],
    "/api/v1/openapi.json": [""],
    "/api/v1/import": [""],
    "/api/v1/segment": [f"?session={SESSION}"],
}


QUERY = "/querier.v1.QuerierService/"
GRAFANA = {"start": otlp.T0 // 10**6 - 10**6, "end": otlp.T0 // 10**6 + 10**6}
SELECTED = GRAFANA | {"profileTypeID": "agent:tokens:count:agent:count", "labelSelector": "{}"}
MESSAGES: dict[str, dict[str, Any]] = {
    "ProfileTypes": GRAFANA,
    "LabelNames": GRAFANA,
    "LabelValues": {"name": "agent"} | GRAFANA,
    "Series": GRAFANA,
    "SelectMergeSpanProfile": SELECTED | {"spanSelector": ["0000000000000001"]},
    "SelectSeries": SELECTED | {"step": 15, "groupBy": ["agent"]},
    "Diff": {"left": SELECTED, "right": SELECTED},
}
PYROSCOPE = (
    "?query=agent%3Atokens%3Acount%3Aagent%3Acount%7B%7D&label=agent"
    f"&from={GRAFANA['start']}&until={GRAFANA['end']}"
    + "".join(f"&{side}Query=agent%3Atokens%3Acount%3Aagent%3Acount%7B%7D&{side}From={GRAFANA['start']}"
              f"&{side}Until={GRAFANA['end']}" for side in ("left", "right"))
)  # fmt: skip


def questions(path: str) -> list[tuple[str, bytes | None]]:
    """(address, body) of everything that is asked of a route."""
    if path.startswith(QUERY):
        message = MESSAGES.get(path.removeprefix(QUERY), SELECTED)
        return [(path, json.dumps(message).encode())]
    if path.startswith("/pyroscope/"):
        return [(path + PYROSCOPE, None)]
    base = path.replace("/{session:anything}", "")
    body = b"{}" if path.endswith(("import", "segment")) else None
    assert path in ASKED or not path.startswith("/api/v1/") or "forget" in path, f"new: {path}"
    return [(base + query, body) for query in ASKED.get(path, [])]


def test_no_route_shows_another_tenant(callers: dict[str, Caller], tmp_path: Path) -> None:
    """Every route is asked by both tenants; no answer holds a name of the other."""
    answered: dict[str, int] = {}
    for path, _ in api_routes(tmp_path):
        for address, body in questions(path):
            for name, caller in callers.items():
                other = next(word for tenant, word in NAMES.items() if tenant != name)
                status, text = caller.ask(address, body, "application/json" if body else "")
                if other in address:
                    assert status == 404, (address, text)  # the answer repeats the question
                else:
                    assert other not in text, (address, text)
                answered[path] = answered.get(path, 0) + (NAMES[name] in text)
    # The questions were such that both saw their own names.
    for path in ("totals", "profile", "sessions", "diff", "values"):
        assert answered[f"/api/v1/{path}"] >= 2, path
    for path in ("SelectMergeStacktraces", "LabelValues", "Series", "SelectMergeProfile"):
        assert answered[QUERY + path] == 2, path
    assert answered["/pyroscope/render"] == answered["/pyroscope/label-values"] == 2


def test_each_tenant_sees_its_own(callers: dict[str, Caller]) -> None:
    """Figures, sessions and status count one tenant's operations alone."""
    for calls, (name, caller) in enumerate(callers.items(), start=2):
        word = NAMES[name]
        (row,) = caller.get("/api/v1/totals?by=agent")["rows"]
        assert (row["agent"], row["llm_calls"]) == (f"agent-{word}", calls)
        (session,) = caller.get("/api/v1/sessions")["sessions"]
        assert session["session"] == SESSION
        assert session["agents"] == [f"agent-{word}"]
        assert f"agent-{word}" in caller.ask(f"/api/v1/sessions/{SESSION}")[1]
        assert caller.get("/api/v1/status")["operations"] == calls + 1
        assert f"agent-{word}" in caller.ask("/api/v1/profile?format=folded")[1]


def test_nobody_reads_or_writes_without_a_tenant(callers: dict[str, Caller]) -> None:
    """Neither no header nor a wrong one passes."""
    serving = callers["red"].serving
    for headers in (
        {}, {"Authorization": "Bearer wrong"}, {"X-Scope-OrgID": "a/b"}, {"X-Scope-OrgID": ".."},
    ):  # fmt: skip
        stranger = Caller(serving, headers)
        assert stranger.ask("/api/v1/totals")[0] == 401
        with pytest.raises(grpc.RpcError) as caught:
            stranger.send(request_of("red", 1))
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED  # type: ignore[attr-defined]
