"""What is worth a second look, and what the machine offers."""

from __future__ import annotations

from pathlib import Path

import pytest

from whyflame.config import (
    MIB,
    Config,
    cautions,
    default_data_dir,
    default_memory_limit,
    missing_files,
    parse,
    read_secret,
    reference_markdown,
)
from whyflame.errors import ConfigError


def test_the_default_needs_no_second_look() -> None:
    assert cautions(Config()) == []
    assert missing_files(Config()) == []


def test_an_open_port_without_tokens_is_said() -> None:
    config = parse({"otlp": {"grpc": "0.0.0.0:4317"}, "http": {"listen": "[::]:4319"}})
    said = cautions(config)
    assert len(said) == 2
    assert said[0].startswith("otlp.grpc listens on 0.0.0.0:4317")
    assert said[1].startswith("http.listen listens on [::]:4319")


def test_kept_content_is_said() -> None:
    config = parse({"content": {"services": {"chat": "excerpt"}}, "journal": {"retention": "1d"}})
    assert [line.split()[0] for line in cautions(config)] == ["journal.retention", "content.mode"]


def test_files_that_cannot_be_seen_are_named(tmp_path: Path) -> None:
    seen = tmp_path / "tokens"
    seen.write_text("t")
    auth = {"bearer_tokens_file": str(seen)}
    config = parse({"otlp": {"auth": auth}, "prices": {"file": "gone.yaml"}})
    assert missing_files(config) == ["prices.file: gone.yaml is not here"]


def test_a_secret_is_its_file_without_the_line_break(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("s3cret\n")
    assert read_secret(file) == "s3cret"
    file.write_text("\n")
    with pytest.raises(ConfigError, match="is empty"):
        read_secret(file)
    with pytest.raises(ConfigError, match="secret file"):
        read_secret(tmp_path / "gone")


def test_the_state_folder_follows_the_environment() -> None:
    assert default_data_dir({"XDG_STATE_HOME": "/s"}, Path("/h")) == Path("/s/whyflame")
    assert default_data_dir({}, Path("/h")) == Path("/h/.local/state/whyflame")


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("max", 512 * MIB),
        (str(8 << 30), 512 * MIB),
        (str(1 << 30), int((1 << 30) * 0.4)),
        (str(1 << 20), 64 * MIB),
    ],
)
def test_memory_follows_the_container(tmp_path: Path, limit: str, expected: int) -> None:
    group = tmp_path / "cgroup"
    group.write_text("0::/unit.slice/whyflame.service\n")
    folder = tmp_path / "fs" / "unit.slice" / "whyflame.service"
    folder.mkdir(parents=True)
    (folder / "memory.max").write_text(f"{limit}\n")
    assert default_memory_limit(tmp_path / "fs", group) == expected


def test_memory_of_an_outer_group_and_of_old_groups_counts(tmp_path: Path) -> None:
    group = tmp_path / "cgroup"
    group.write_text("4:memory:/pod/c\n")
    outer = tmp_path / "fs" / "memory" / "pod"
    outer.mkdir(parents=True)
    (outer / "memory.limit_in_bytes").write_text(str(1 << 30))
    assert default_memory_limit(tmp_path / "fs", group) == int((1 << 30) * 0.4)


def test_memory_without_groups_is_the_default(tmp_path: Path) -> None:
    assert default_memory_limit(tmp_path / "fs", tmp_path / "none") == 512 * MIB


def test_the_reference_page_is_up_to_date(root: Path) -> None:
    """`make docs` writes docs/configuration.md; a new key must be in it."""
    assert (root / "docs" / "configuration.md").read_text(encoding="utf-8") == reference_markdown()
