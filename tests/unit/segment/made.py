"""Lanes for segmenter tests."""

from __future__ import annotations

from whyflame.content import extract
from whyflame.model import Content, Kind, Span
from whyflame.segment import Call, Lane, Step


def features(kind: Kind = Kind.LLM, tool: str | None = None, **texts: object) -> bytes | None:
    content = Content(**texts)  # type: ignore[arg-type]
    return extract(
        Span("", "span", b"", b"", None, 0, 1, "x", kind, "t", tool=tool, content=content),
        "features",
    )


def call(tool: str, arguments: str | None = None, *, failed: bool = False, **texts: object) -> Call:
    if arguments is None and not texts:
        return Call(tool, failed)
    return Call(tool, failed, features(Kind.TOOL, tool, arguments=arguments, **texts))


def step(said: str | None, *calls: Call, turn: int = 0, agent: str = "coder") -> Step:
    made = features(response=said) if said else None
    return Step(made, agent, turn, calls=list(calls))


def coding_lane() -> Lane:
    """A short session: look, change, test, repair, test."""
    return Lane(
        request=features(Kind.AGENT, prompt="Please fix the login page of the shop"),
        steps=[
            step("Let me look at the login code.", call("Grep", '{"pattern": "login"}')),
            step(
                "Let me read the session module.", call("Read", '{"file_path": "/app/session.py"}')
            ),
            step("Now I'll fix the login handler.", call("Edit", '{"file_path": "/app/login.py"}')),
            step(None, call("Edit", '{"file_path": "/app/login.py"}')),
            step("Let me run the tests.", call("Bash", '{"command": "pytest -q"}', failed=True)),
            step("The import is wrong, fix it.", call("Edit", '{"file_path": "/app/login.py"}')),
            step("Run the tests again.", call("Bash", '{"command": "pytest -q"}')),
            step("All tests pass: the login page works.", turn=0),
        ],
    )


LANES: dict[str, Lane] = {
    "empty": Lane(),
    "one step": Lane(steps=[step("hello", call("Read"))]),
    "no text": Lane(steps=[Step(None, "", 0, calls=[Call("Bash")]) for _ in range(40)]),
    "nothing": Lane(steps=[Step() for _ in range(7)]),
    "all alike": Lane(steps=[step("again", call("Bash", "ls")) for _ in range(200)]),
    "coding": coding_lane(),
    "turns": Lane(
        steps=[
            Step(features(prompt=f"Cancel order {n}", response="Done."), "desk", n) for n in range(30)
        ]
    ),
    "gestures": Lane(
        steps=[step(None, call(("click", "type", "press")[n % 3], f"field {n}")) for n in range(30)]
    ),
    "strange": Lane(
        steps=[
            Step(b"\xff\x00garbage", "\ud800", -5, calls=[Call("\x00"), Call("ツール")]),
            Step(b"", "x" * 5000, 2**30, True),
        ]
    ),
    "foreign": Lane(
        request=features(Kind.AGENT, prompt="请修复登录页面的错误"),
        steps=[step("让我检查数据库", call("Bash", "cat a.sql")), step("现在运行测试")],
    ),
}  # fmt: skip


def long_lane(steps: int) -> Lane:
    base = coding_lane().steps
    return Lane(steps=(base * (steps // len(base) + 1))[:steps])
