"""What commands say when nothing is there, or something is in the way: each says what to do."""

from __future__ import annotations

import socket
import stat
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import grpc
import pytest
from tests.otlp import Row, traces

from whyflame.app.opening import open_store
from whyflame.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CALL = {
    "gen_ai.operation.name": "chat",
    "gen_ai.response.model": "gpt-5",
    "gen_ai.usage.input_tokens": 3,
    "gen_ai.usage.output_tokens": 2,
}
SILENT = {"gen_ai.operation.name": "chat", "gen_ai.response.model": "gpt-5"}


@pytest.fixture
def empty(tmp_path: Path) -> str:
    """A store in which nothing is."""
    store = tmp_path / "store"
    open_store(store, None).close()
    return str(store)


@pytest.fixture
def taken() -> Iterator[str]:
    """An address that somebody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def fill(folder: Path, *rows: Row) -> str:
    capture = folder / "one.traces.binpb"
    capture.write_bytes(traces(*rows))
    store = folder / "made" / "store"
    assert main(["import", "--data-dir", str(store), str(capture)]) == 0
    return str(store)


@pytest.mark.parametrize("command", ["top", "sessions", "doctor"])
def test_an_empty_store_says_how_to_fill_it(
    command: str, empty: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--data-dir", empty]) == 0
    said = capsys.readouterr().out
    assert "Nothing has settled yet. Point an OTLP exporter at `whyflame serve`" in said


@pytest.mark.parametrize("words", [["top"], ["totals"], ["profile", "-o", "-"], ["outbox"]])
def test_a_directory_without_a_store_is_named_and_left_as_it_is(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if words[0] == "profile":
        words = [*words, "--format", "folded"]
    assert main([*words, "--data-dir", str(tmp_path)]) == 3
    assert f"no store in {tmp_path}" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["totals", "top", "sessions", "doctor"])
def test_filters_that_nothing_passes_are_exit_code_3(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = fill(tmp_path, Row("test", "chat", CALL))
    assert main([command, "--data-dir", store, "--where", "agent=nobody"]) == 3
    assert "filters" in capsys.readouterr().err


def test_doctor_does_not_call_complete_what_lacks_a_little(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fewer calls without tokens than is worth mending are named all the same."""
    spoken = {**CALL, "gen_ai.input.messages": "fix it", "gen_ai.conversation.id": "c"}
    rows = [Row("test", "chat", spoken, trace=number) for number in range(1, 40)]
    silent = {**SILENT, "gen_ai.input.messages": "fix it", "gen_ai.conversation.id": "c"}
    store = fill(tmp_path, *rows, Row("test", "chat", silent, trace=40))
    capsys.readouterr()
    assert main(["doctor", "--data-dir", store]) == 0
    said = capsys.readouterr().out
    assert "1 model call reported no tokens" in said
    assert "every call reports its tokens" not in said


def test_doctor_explains_the_further_views_that_totals_mention(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One call seen by a framework and by the SDK below it."""
    outer = Row("openinference.instrumentation.langchain", "chat", CALL, start=0, end=100)
    inner = Row(
        "opentelemetry.instrumentation.openai.v1", "chat", CALL, id=2, parent=1, start=1, end=99
    )
    store = fill(tmp_path, outer, inner)
    capsys.readouterr()
    assert main(["totals", "--data-dir", store]) == 0
    assert "1 second view of what counts once" in capsys.readouterr().out
    assert main(["doctor", "--data-dir", store]) == 0
    said = capsys.readouterr().out
    assert "1 operation in 1 session\n" in said
    assert "1 span came as a further view of what another one reports" in said


def test_a_store_that_import_makes_is_for_its_owner_alone(tmp_path: Path) -> None:
    store = tmp_path / "made" / "store"
    fill(tmp_path, Row("test", "chat", CALL))
    assert stat.S_IMODE(store.stat().st_mode) == 0o700


def test_a_file_in_place_of_the_data_directory_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").write_text("")
    assert main(["serve", "--data-dir", str(tmp_path / "data")]) == 1
    assert f"data directory {tmp_path / 'data'}: a file is in its place" in capsys.readouterr().err


def test_a_data_directory_that_cannot_be_made_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--data-dir", "/proc/none"]) == 1
    assert "data directory /proc/none cannot be made" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "setting"),
    [("--otlp-grpc", "otlp.grpc"), ("--otlp-http", "otlp.http"), ("--http", "http.listen")],
)
@pytest.mark.slow
def test_an_address_in_use_says_which_and_how_to_choose_another(
    option: str, setting: str, taken: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    others = [part for each in OPTIONS if each != option for part in (each, "127.0.0.1:0")]
    assert main(["serve", "--data-dir", str(tmp_path), option, taken, *others]) == 1
    said = capsys.readouterr().err
    assert f"cannot listen on {taken} ({setting})" in said
    assert f"choose another address with {option} or {setting}" in said


OPTIONS = ("--otlp-grpc", "--otlp-http", "--http")


def test_a_file_that_is_not_there_is_named_without_a_number(
    empty: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", "--data-dir", empty, "nowhere.json"]) == 1
    assert capsys.readouterr().err == "whyflame: nowhere.json: No such file or directory\n"


def test_the_otlp_port_is_not_the_api(capsys: pytest.CaptureFixture[str]) -> None:
    """What gRPC says there is no text to print."""
    server = grpc.server(ThreadPoolExecutor(1))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        assert main(["top", "--url", f"http://127.0.0.1:{port}"]) == 1
    finally:
        server.stop(None)
    said = capsys.readouterr().err
    assert "does not speak HTTP; is that the OTLP/gRPC port?" in said
    assert said.rstrip("\n").isprintable()


def test_no_server_says_how_to_start_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", "--url", "http://127.0.0.1:1"]) == 1
    assert "(Connection refused); start `whyflame serve`" in capsys.readouterr().err


class _Page(BaseHTTPRequestHandler):
    """Another program: a page for every path, or none."""

    def do_GET(self) -> None:
        self.send_response(self.server.code)  # type: ignore[attr-defined]
        self.end_headers()
        self.wfile.write(b"<html>Not Found</html>")

    def log_message(self, *_: object) -> None:
        """Silent."""


@pytest.mark.parametrize("code", [200, 404, 501])
def test_another_http_server_is_told_from_whyflame(
    code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """The OTLP/HTTP port says 404 to a question; a web application may answer with its page."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Page) as server, ThreadPoolExecutor(1) as pool:
        server.code = code  # type: ignore[attr-defined]
        pool.submit(server.serve_forever, 0.01)
        try:
            assert main(["top", "--url", f"http://127.0.0.1:{server.server_port}"]) == 1
        finally:
            server.shutdown()
    assert "is not whyflame's API; is that the OTLP/HTTP port?" in capsys.readouterr().err
