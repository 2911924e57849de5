"""TLS of the page's port: replaced certificates and client CAs are taken up, wrong files stop the start."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import pytest
import yaml
from tests.serving import Serving

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def make(folder: Path, name: str) -> None:
    """A certificate for this machine that is its own CA."""
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
            "-nodes", "-days", "2", "-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.pem",
            "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1",
        ],
        check=True, capture_output=True, timeout=30,
    )  # fmt: skip


def asked(serving: Serving, folder: Path, server: str, client: str) -> bool:
    """Whether a client with this certificate is heard by a server with that one."""
    context = ssl.create_default_context(cafile=str(folder / f"{server}.pem"))
    context.load_cert_chain(folder / f"{client}.pem", folder / f"{client}.key")
    try:
        with urllib.request.urlopen(
            f"https://{serving.api}/healthz", timeout=10, context=context
        ) as answer:
            return answer.status == 200
    except (urllib.error.URLError, ssl.SSLError, ConnectionError):
        return False


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two servers and two clients, the first ones in use."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    for name in ("one", "two", "ann", "bob"):
        make(tmp_path, name)
    for live, name in (
        ("live.pem", "one.pem"),
        ("live.key", "one.key"),
        ("clients.pem", "ann.pem"),
    ):
        shutil.copy(tmp_path / name, tmp_path / live)
    return tmp_path


def test_files_are_followed(folder: Path) -> None:
    """Nobody restarts a server for a new certificate, or to shut somebody out."""
    tls = {
        "cert_file": f"{folder}/live.pem", "key_file": f"{folder}/live.key",
        "client_ca_file": f"{folder}/clients.pem",
    }  # fmt: skip
    with Serving(folder / "d", {"http": {"tls": tls}}) as serving:
        assert asked(serving, folder, "one", "ann")
        assert not asked(serving, folder, "one", "bob")
        for live, name in (
            ("live.pem", "two.pem"),
            ("live.key", "two.key"),
            ("clients.pem", "bob.pem"),
        ):
            shutil.copy(folder / name, folder / live)
        assert asked(serving, folder, "two", "bob")
        assert not asked(serving, folder, "two", "ann")


@pytest.mark.parametrize("what", ["tls", "auth"])
def test_a_file_that_is_absent_stops_the_start(folder: Path, what: str) -> None:
    """With a sentence that names it, not a server that nobody reaches, started again and again."""
    settings = {
        "tls": {"cert_file": f"{folder}/absent", "key_file": f"{folder}/live.key"},
        "auth": {"bearer_tokens_file": f"{folder}/absent"},
    }
    config = {
        "otlp": {"grpc": "127.0.0.1:0", "http": "127.0.0.1:0"},
        "http": {"listen": "127.0.0.1:0", what: settings[what]},
    }
    (folder / "c.yaml").write_text(yaml.safe_dump(config))
    command = [sys.executable, "-m", "whyflame", "serve", "--config", f"{folder}/c.yaml"]
    done = subprocess.run(
        [*command, "--data-dir", f"{folder}/d"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert f"{folder}/absent" in done.stderr
    assert "Traceback" not in done.stderr
