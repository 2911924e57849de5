"""The real `go tool pprof` reads what we write. Go is optional for users, required in CI."""

from __future__ import annotations

import os
import re
import subprocess
import urllib.request
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.built import go_pprof
from tests.collector import free_port
from tests.fold_strategies import profile_of
from tests.serving import wait_until

from whyflame.fold import diff, pprof

if TYPE_CHECKING:
    from pathlib import Path

    from whyflame.fold.profile import Profile

# The first use on a machine compiles the tool into Go's own cache.
pytestmark = pytest.mark.timeout(600)


PROFILE = replace(
    profile_of(
        [
            (
                ("coder", "fix login", "call gpt-5"),
                (("agent", "coder"),),
                (3, 41_234_567, 9_000, 900),
            ),
            (("coder", "fix login", "run: bash<x>(y)"), (("agent", "coder"),), (2, 0, 7_000, 0)),
            (
                ("writer", "report a::b", "call gpt-5"),
                (("agent", "writer"),),
                (1, 2_500, 1_000, 100),
            ),
        ]
    ),
    time_ns=1_795_000_000_000_000_000,
    duration_ns=60_000_000_000,
    comments=("whyflame 0", "view tokens"),
)
BASE = profile_of(
    [(("coder", "fix login", "call gpt-5"), (("agent", "coder"),), (1, 1_000_000, 1_000, 400))]
)


@pytest.fixture
def run(tmp_path: Path):  # type: ignore[no-untyped-def]
    def run_pprof(data: bytes, *options: str) -> str:
        file = tmp_path / "profile.pb.gz"
        file.write_bytes(data)
        environment = {**os.environ, "PPROF_TMPDIR": str(tmp_path)}
        done = subprocess.run(
            [go_pprof(), *options, str(file)],
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
            env=environment,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run_pprof


def flat_of(top: str) -> dict[str, int]:
    rows = re.findall(
        r"^\s*(-?\d+)\S*\s+\S+%\s+\S+%\s+(-?\d+)\S*\s+\S+%\s+(.+)$", top, re.MULTILINE
    )
    return {name: int(cumulative) for _, cumulative, name in rows}


def test_top_agrees_with_the_totals(run) -> None:  # type: ignore[no-untyped-def]
    top = run(pprof.encode(PROFILE), "-top", "-nodefraction=0")
    assert "Type: tokens" in top
    assert "of 1000 total" in top
    assert "File: whyflame" in top
    assert flat_of(top) == {
        "call gpt-5": 1000,
        "coder": 900,
        "fix login": 900,
        "writer": 100,
        "report a::b": 100,
    }


@pytest.mark.parametrize(
    ("index", "total"),
    [("operations", "6"), ("cost", "41237microusd"), ("duration", "17us"), ("tokens", "1000")],
)
def test_every_sample_type_can_be_chosen(run, index: str, total: str) -> None:  # type: ignore[no-untyped-def]
    assert f"of {total} total" in run(pprof.encode(PROFILE), "-top", f"-sample_index={index}")


def test_raw_shows_types_labels_and_comments(run) -> None:  # type: ignore[no-untyped-def]
    raw = run(pprof.encode(PROFILE), "-raw")
    assert "PeriodType: agent count" in raw
    assert "Period: 1" in raw
    assert "operations/count cost/microusd duration/nanoseconds tokens/count[dflt]" in raw
    assert "agent:[writer]" in raw
    assert "whyflame 0" in run(pprof.encode(PROFILE), "-comments")


@pytest.mark.slow
def test_its_web_page_shows_the_frames(tmp_path: Path) -> None:
    file = tmp_path / "profile.pb.gz"
    file.write_bytes(pprof.encode(PROFILE))
    address = f"127.0.0.1:{free_port()}"

    def page(path: str) -> str:
        with suppress(OSError), urllib.request.urlopen(f"http://{address}{path}") as answer:
            return answer.read().decode()
        return ""

    with subprocess.Popen(
        [go_pprof(), f"-http={address}", "-no_browser", str(file)],
        env={**os.environ, "PPROF_TMPDIR": str(tmp_path)},
        stderr=subprocess.DEVNULL,
    ) as server:
        try:
            wait_until(lambda: "report a::b" in page("/ui/top"))
            assert "fix login" in page("/ui/flamegraph")
        finally:
            server.terminate()


def test_traces_keep_every_name_whole(run) -> None:  # type: ignore[no-untyped-def]
    traces = run(pprof.encode(PROFILE), "-traces", "-sample_index=duration")
    assert "run: bash<x>(y)" in traces
    assert "report a::b" in traces


def test_tree_and_tags_work(run) -> None:  # type: ignore[no-untyped-def]
    assert "fix login" in run(pprof.encode(PROFILE), "-tree")
    assert "agent: Total 1000" in run(pprof.encode(PROFILE), "-tags")
    focused = run(pprof.encode(PROFILE), "-top", "-tagfocus=agent=writer")
    assert "100, 10.00% of 1000 total" in focused


def test_a_label_can_be_the_root(run) -> None:  # type: ignore[no-untyped-def]
    rooted = run(pprof.encode(PROFILE), "-traces", "-tagroot=agent")
    assert rooted.count("coder") >= 2
    assert "writer" in rooted


def test_two_files_can_be_subtracted(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    base = tmp_path / "base.pb.gz"
    base.write_bytes(pprof.encode(BASE))
    top = run(pprof.encode(PROFILE), "-top", f"-diff_base={base}", "-nodefraction=0")
    assert flat_of(top)["coder"] == 500
    assert "of 400 total" in top


def test_one_file_can_hold_a_difference(run) -> None:  # type: ignore[no-untyped-def]
    top = run(diff.encode_pprof(BASE, PROFILE), "-top", "-nodefraction=0")
    assert flat_of(top)["coder"] == 500
    assert "of 400 total" in top, "percentages are of the base"


@pytest.mark.slow
def test_a_large_file_is_read_to_the_end(run) -> None:  # type: ignore[no-untyped-def]
    rows = [
        ((f"agent {i % 7}", f"task {i % 911}", f"call {i}"), (), (1, i * 1000, i, i))
        for i in range(60_000)
    ]
    profile: Profile = profile_of(rows)
    assert len(pprof.encode_message(profile)) > 1 << 20, "large enough to be packed in chunks"
    top = run(pprof.encode(profile), "-top")
    assert f"of {profile.total()} total" in top
