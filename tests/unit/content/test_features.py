"""Text to bounded features: enough to segment and name, nothing that must be forgotten."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from whyflame.content import decode, extract, extract_all
from whyflame.content.activity import ACTIVITIES
from whyflame.content.features import RECORD_BYTES
from whyflame.model import Content, Kind, Span

SECRET_WORDS = ("hunter", "sekret", "jsmith", "lovelace", "internal")


def make_span(tool: str | None = None, **texts: object) -> Span:
    kind = Kind.TOOL if tool else Kind.LLM
    content = Content(**texts)  # type: ignore[arg-type]
    return Span("", "span", b"t", b"s", None, 0, 1, "x", kind, "test", tool=tool, content=content)


def test_no_content_gives_nothing() -> None:
    """A span without content has no features."""
    span = make_span()
    span.content = None
    assert extract(span, "features") is None


def test_round_trip() -> None:
    """What is encoded can be read again."""
    span = make_span(
        prompt="Please fix the login page", response="Let me look at the session handler next."
    )
    found = decode(extract(span, "features") or b"")
    assert found.asked[:2] == ("fix", "login")
    assert found.said[:3] == ("look", "session", "handler")
    assert found.text_bag
    assert found.flags == 3


@pytest.mark.parametrize(
    ("tool", "arguments", "activity", "did"),
    [
        ("Bash", '{"command": "cd /app && pytest -q tests"}', "test", ("pytest",)),
        ("Bash", "git push origin main", "vcs", ("git", "push")),
        ("Bash", "cat > app.py <<'EOF'\nprint(1)\nEOF", "create", ("cat",)),
        ("Bash", "python -m pip install flask", "install", ("python",)),
        ("Bash", "ls -la src", "inspect", ("ls",)),
        ("Bash", "grep -rn login src", "search", ("grep",)),
        ("Bash", "sudo apt-get install nginx", "install", ("apt-get", "install")),
        ("Bash", "curl -s https://example.com", "net", ("curl",)),
        ("Bash", "sleep 30", "wait", ("sleep",)),
        ("Read", '{"file_path": "/app/a.py"}', "inspect", ()),
        ("Edit", '{"file_path": "/app/a.py"}', "edit", ()),
        ("TodoWrite", "{}", "plan", ()),
        ("Task", '{"prompt": "look"}', "delegate", ()),
        ("get_reservation_details", '{"reservation_id": "ABC123"}', "lookup", ()),
        ("str_replace_editor", '{"command": "view", "path": "/a/b.py"}', "inspect", ()),
        ("mystery", "{}", "tool", ()),
    ],
)
def test_activity_of_calls(tool: str, arguments: str, activity: str, did: tuple[str, ...]) -> None:
    """The tool's name decides, for shells the command."""
    found = decode(extract(make_span(tool, arguments=arguments), "features") or b"")
    assert ACTIVITIES[found.activity] == activity
    assert found.did == did


def test_cues_of_results() -> None:
    """Failure and success leave bits, the result's words do not stay."""
    bad = decode(extract(make_span("Bash", result="Traceback: error in foo"), "features") or b"")
    good = decode(extract(make_span("Bash", result="all tests passed"), "features") or b"")
    assert bad.result_cues & 1
    assert not good.result_cues & 1
    assert b"Traceback" not in (extract(make_span("Bash", result="Traceback"), "features") or b"")


@pytest.mark.parametrize(
    "text",
    [
        "Set the password to hunter2sekret for jsmith@example.com",
        "My name is Ada Lovelace",
        "open /home/jsmith/notes.txt",
        "connect to sekret-db.internal",
        "key sk-hunterhunterhunter1234",
        "ask Mr. Lovelace about it",
    ],
)
def test_kept_words_pass_the_redactor(text: str) -> None:
    """No piece of a secret, address, path or person becomes a word that may be shown."""
    for span in (make_span(prompt=text), make_span(response=text), make_span("t", arguments=text)):
        tail = (extract(span, "features") or b"")[RECORD_BYTES:].decode().lower()
        assert not any(word in tail for word in SECRET_WORDS if word != "internal")


def test_mode_none_keeps_lengths_only() -> None:
    """With content off nothing but sizes and the tool's activity is left."""
    features = extract(make_span("Bash", arguments="git push", result="x" * 100), "none") or b""
    assert len(features) == RECORD_BYTES
    found = decode(features)
    assert (found.sizes[3], found.argument_bag, found.said) == (7, 0, ())


def test_mode_excerpt_adds_redacted_excerpts() -> None:
    """Excerpts are there, without the secret."""
    span = make_span(response="I set password=hunter22 and go on")
    assert (
        decode(extract(span, "excerpt") or b"").excerpts[1] == "I set password=[secret] and go on"
    )


def test_plan_item_in_progress_is_kept() -> None:
    """A plan call says what is being worked on."""
    plan = (("Read the code", "completed"), ("Fix login handler", "in_progress"))
    found = decode(extract(make_span("TodoWrite", plan=plan), "features") or b"")
    assert found.planned == ("fix", "login", "handler")
    assert found.plan_done == 1


def test_chinese_becomes_english_words() -> None:
    """Chinese is split by the lexicon, so it names and folds like English."""
    found = decode(extract(make_span(prompt="请修复登录页面的错误"), "features") or b"")
    assert found.asked[:2] == ("fix", "login")


@given(
    st.text(max_size=600), st.text(max_size=300), st.text(max_size=300),
    st.sampled_from(["features", "excerpt", "none"]),
)  # fmt: skip
def test_total_bounded_and_readable(prompt: str, response: str, result: str, mode: str) -> None:
    """Any text gives bounded features that decode."""
    span = make_span("Bash", prompt=prompt, response=response, arguments=response, result=result)
    features = extract(span, mode) or b""
    assert len(features) < RECORD_BYTES + (800 if mode != "excerpt" else 6000)
    decode(features)


def test_refuses_other_versions() -> None:
    """Bytes of an unknown version are an error, not noise."""
    with pytest.raises(ValueError, match="version"):
        decode(b"\xff" * RECORD_BYTES)
    with pytest.raises(ValueError, match="version"):
        decode(b"")


TEXTS = st.one_of(
    st.none(),
    st.sampled_from(
        (
            "",
            "Please fix the login page for Maria Schmidt",
            '{"command": "cd /app && pytest -q tests"}',
            '{"command": ""}',
            '{"path": "/srv/a_file.py", "id": "ref_01ab99"}',
            "error: 3 failed, retry 0x1f",
            " ",
            "修复 login",
        )
    ),
    st.text(max_size=60),
)
SPANS = st.lists(
    st.builds(
        lambda tool, prompt, response, arguments, result: make_span(
            tool, prompt=prompt, response=response, arguments=arguments, result=result
        ),
        st.sampled_from((None, "Bash", "Read")), TEXTS, TEXTS, TEXTS, TEXTS,
    ),
    max_size=12,
)  # fmt: skip


@given(SPANS, st.data())
def test_spans_together_have_the_features_of_each_alone(
    spans: list[Span], data: st.DataObject
) -> None:
    """Whatever stands beside a span, and whatever was read before."""
    chosen = st.sampled_from(("features", "excerpt", "none"))
    modes = data.draw(st.lists(chosen, min_size=len(spans), max_size=len(spans)))
    together = extract_all(spans, modes)
    assert together == [extract(span, mode) for span, mode in zip(spans, modes, strict=True)]
    assert together[::-1] == extract_all(spans[::-1], modes[::-1])
