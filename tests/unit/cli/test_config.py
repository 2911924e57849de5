"""`whyflame config`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

from whyflame.cli import build_parser
from whyflame.config import Config, parse
from whyflame.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


def call(*arguments: str) -> int:
    args = build_parser().parse_args(["config", *arguments])
    return int(args.run(args))


def test_default_prints_a_file_that_says_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("default") == 0
    printed = capsys.readouterr().out
    assert parse(yaml.safe_load(printed)) == Config()


def test_check_says_ok_and_notes_what_is_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "f.yaml"
    file.write_text("otlp: {grpc: '0.0.0.0:4317'}\nprices: {file: gone.yaml}\n")
    assert call("check", str(file)) == 0
    out, err = capsys.readouterr()
    assert out == f"{file}: ok\n"
    assert [line.split()[1] for line in err.splitlines()] == ["otlp.grpc", "prices.file:"]


def test_check_fails_on_a_wrong_file(tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.write_text("otpl: {}\n")
    with pytest.raises(ConfigError, match=r"f.yaml:1: otpl: unknown key; did you mean otlp"):
        call("check", str(file))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("exporters: {main: {type: pyroscop, url: x}}", "pyroscop"),
        ("exporters: {main: {type: pyroscope, url: 'http://a', tenantid: x}}", "tenant_id"),
        ("exporters: {main: {type: pyroscope, url: 'http://a', measures: [token]}}", "tokens"),
        ("views: {mine: {stack: [agnet]}}", "views.mine: .*agent"),
        ("views: {mine: {measure: token}}", "views.mine: .*tokens"),
        ("views: {mine: {where: [agent]}}", "views.mine: "),
        ("fields: {team: team}", "fields.team"),
        ("segment: {segmenter: atuo}", "segment.segmenter: .*auto"),
    ],
)
def test_check_asks_the_stages_too(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "f.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=said):
        call("check", str(file))


def test_a_command_is_needed() -> None:
    with pytest.raises(SystemExit):
        call()
