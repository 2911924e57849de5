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
from tests.serving import EXPORT, Serving, wait_until

from whyflame.config import HttpConfig
from whyflame.serve.api import Actions, build_api

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.timeout(120)

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
    settings = {"otlp": {"auth": auth}, "http": {"auth": auth}}
    with Serving(folder / "d", settings) as serving:
        found = {name: Caller(serving, headers[name]) for name in NAMES}
        for calls, (name, caller) in enumerate(found.items(), start=2):
            caller.send(request_of(name, calls))
        wait_until(lambda: serving.pending() == 0)
        status, text = found["red"].ask("/api/v1/segment", b"{}", "application/json")
        assert status == 200, text
        yield found


def routes() -> list[str]:
    """Paths of every route of the API."""
    app = build_api(None, Actions(lambda: True, lambda *_: None, lambda *_: {}), None, HttpConfig())  # type: ignore[arg-type]
    return [route.path for route in app.routes if hasattr(route, "path")]  # type: ignore[attr-defined]


ASKED = {
    "/api/v1/totals": ["?by=session,agent,model,service", "?by=user_hash"],
    "/api/v1/profile": [f"?format={name}" for name in ("pprof", "folded", "svg", "json")],
    "/api/v1/diff": [
        "?format=json&base=agent%3D~.*&target=agent%3D~.*",
        "?format=table&base=agent%3D~.*&target=agent%3D~.*",
    ],
    "/api/v1/sessions": [""],
    "/api/v1/sessions/{session:path}": [f"/{SESSION}"],
    "/api/v1/status": [""],
    "/api/v1/options": [""],
    "/api/v1/values": [f"?field={name}" for name in ("session", "agent", "model", "service")],
    "/api/v1/behind": ["?frame=agent-crimson", "?frame=agent-azure", "?frame=call&anywhere=true"],
    "/api/v1/coverage": [""],
    "/api/v1/import": [""],
    "/api/v1/segment": [f"?session={SESSION}"],
}


def test_no_route_shows_another_tenant(callers: dict[str, Caller]) -> None:
    """Every route is asked by both tenants; no answer holds a name of the other."""
    asked = 0
    for path in routes():
        if not path.startswith("/api/"):
            continue
        assert path in ASKED or path.startswith("/api/v1/forget"), f"a new route: {path}"
        for query in ASKED.get(path, []):
            for name, caller in callers.items():
                other = next(word for tenant, word in NAMES.items() if tenant != name)
                base = path.replace("/{session:path}", "")
                body = b"{}" if path.endswith(("import", "segment")) else None
                status, text = caller.ask(base + query, body, "application/json" if body else "")
                if other in query:
                    assert status == 404, (path, text)  # the answer repeats the question
                else:
                    assert other not in text, (path, text)
                asked += 1
    assert asked > 30


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
