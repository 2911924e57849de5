"""`llm` against a scripted endpoint on 127.0.0.1: protocol, repair, budget, cache, fall-back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.doubles.http import Handler, HttpServer

from whyflame.config import SegmentConfig
from whyflame.content import extract
from whyflame.errors import ConfigError
from whyflame.model import Content, Kind, Span
from whyflame.segment import Call, Lane, Mark, Step, load_segmenter
from whyflame.segment.llm import LlmSegmenter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GOOD = {"marks": [
    {"turn": 0, "path": ["Fix Login", "look code"]},
    {"turn": 2, "path": ["Fix Login", "verify repos"]},
]}  # fmt: skip
MARKS = [Mark(0, ("fix login", "inspect code")), Mark(2, ("fix login", "test repository"))]


class Endpoint:
    """Answers chat completions from a list, the last one for ever."""

    def __init__(self, answers: list[str]) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[str | None] = []
        self.refuses: set[str] = set()
        self.refused: list[str] = []
        self._answers = answers
        self._server = HttpServer(_Completions, self)
        self.url = f"{self._server.url}/v1"
        self._server.start()
        self.close = self._server.close

    def complete(self, body: dict[str, Any], authorization: str | None) -> dict[str, Any] | None:
        """The answer; None where the form that was asked for is refused."""
        kind = body.get("response_format", {}).get("type", "none")
        if kind in self.refuses:
            self.refused.append(kind)
            return None
        self.requests.append(body)
        self.headers.append(authorization)
        text = self._answers[min(len(self.requests), len(self._answers)) - 1]
        return {"model": "tiny", "choices": [{"message": {"content": text}}],
                "usage": {"prompt_tokens": 321, "completion_tokens": 45}}  # fmt: skip


class _Completions(Handler):
    def respond(self) -> None:
        found = self.double.complete(json.loads(self.read_body()), self.headers["Authorization"])
        self.answer(200 if found else 500, json.dumps(found).encode())


@pytest.fixture
def endpoint(request: pytest.FixtureRequest) -> Iterator[Endpoint]:
    made = Endpoint(getattr(request, "param", [json.dumps(GOOD)]))
    yield made
    made.close()


def features(mode: str, kind: Kind = Kind.LLM, **texts: str) -> bytes | None:
    content = Content(**texts)  # type: ignore[arg-type]
    return extract(Span("", "span", b"", b"", None, 0, 1, "x", kind, "t", content=content), mode)


def lane(mode: str = "excerpt") -> Lane:
    said = ["look at the login", "read password=hunter22", "run the tests", "all passed"]
    return Lane(
        request=features(mode, Kind.AGENT, prompt="fix the login"),
        steps=[
            Step(features(mode, response=text), turn=0,
                 calls=[Call("Bash", features=features(mode, Kind.TOOL, result="ok passed"))])
            for text in said
        ],
    )  # fmt: skip


def segmenter(url: str, **options: object) -> LlmSegmenter:
    config = SegmentConfig(segmenter="llm", options={"endpoint": url, **options})
    made = load_segmenter(config)
    assert isinstance(made, LlmSegmenter)
    return made


def test_marks_are_canonical(endpoint: Endpoint) -> None:
    """The answer's words become the table's; no id is sent, no secret, a schema is asked for."""
    made = segmenter(endpoint.url)
    assert made.segment(lane()) == MARKS
    body = endpoint.requests[0]
    assert body["response_format"]["type"] == "json_schema"
    assert "hunter22" not in json.dumps(body)
    assert made.outcomes == {"model": 1}
    (call,) = made.account.take_calls()
    assert (call.input_tokens, call.output_tokens, call.failed) == (321, 45, False)
    assert made.account.take_calls() == []


@pytest.mark.parametrize("endpoint", [["no json", json.dumps(GOOD)]], indirect=True)
def test_one_repair(endpoint: Endpoint) -> None:
    """The second request names the fault."""
    assert segmenter(endpoint.url).segment(lane()) == MARKS
    assert "not valid" in endpoint.requests[1]["messages"][-1]["content"]


@pytest.mark.parametrize(
    "endpoint",
    [["no"], ['{"marks": [{"turn": 3, "path": ["fix"]}]}'], ['{"marks": [{"turn": 0, "path": ["login"]}]}']],
    indirect=True,
)  # fmt: skip
def test_two_bad_answers_fall_back(endpoint: Endpoint) -> None:
    """Then `auto` does it."""
    made = segmenter(endpoint.url)
    assert made.segment(lane()) == load_segmenter(SegmentConfig()).segment(lane())
    assert made.outcomes == {"invalid": 1}
    assert len(endpoint.requests) == 2


@pytest.mark.parametrize("refuses", [{"json_schema"}, {"json_schema", "json_object"}])
def test_forms_of_structured_output(endpoint: Endpoint, refuses: set[str]) -> None:
    """What an endpoint refuses is not tried again (llama-cpp-python knows json_object only)."""
    endpoint.refuses = refuses
    made = segmenter(endpoint.url)
    assert made.segment(lane()) == MARKS
    other = lane()
    other.steps.pop()
    made.segment(other)
    assert sorted(endpoint.refused) == sorted(refuses)
    assert made.outcomes == {"model": 2}


def test_an_endpoint_that_refuses_everything(endpoint: Endpoint) -> None:
    """Falls back like one that is down."""
    endpoint.refuses = {"json_schema", "json_object", "none"}
    made = segmenter(endpoint.url)
    assert made.segment(lane())
    assert made.outcomes == {"endpoint": 1}


def test_nobody_there_falls_back(endpoint: Endpoint) -> None:
    """An endpoint that is down costs nothing but the attempt, which is in the books."""
    made = segmenter("http://127.0.0.1:1/v1")
    assert made.segment(lane())
    assert made.outcomes == {"endpoint": 1}
    assert made.account.take_calls()[0].failed


def test_budget(endpoint: Endpoint) -> None:
    """When the hour's tokens are spent nothing is sent."""
    made = segmenter(endpoint.url, tokens_per_hour=10)
    assert made.segment(lane())
    assert made.outcomes == {"budget": 1}
    assert not endpoint.requests


def test_cache(endpoint: Endpoint, tmp_path: Path) -> None:
    """Equal content is asked once, also after a restart."""
    folder = str(tmp_path / "cache")
    made = segmenter(endpoint.url, cache_dir=folder)
    assert made.segment_many([lane(), Lane()]) == [MARKS, []]
    assert made.segment(lane()) == MARKS
    assert segmenter(endpoint.url, cache_dir=folder).segment(lane()) == MARKS
    assert len(endpoint.requests) == 1


def test_without_excerpts(endpoint: Endpoint) -> None:
    """Content mode `features` has nothing to show a model."""
    made = segmenter(endpoint.url)
    assert made.segment(lane("features"))
    assert made.outcomes == {"no_excerpts": 1}
    assert not endpoint.requests


def test_selective_shows_fewer_results(endpoint: Endpoint, tmp_path: Path) -> None:
    """FULL shows all four results, SELECTIVE the two most telling; a key is sent as bearer."""
    key = tmp_path / "key"
    key.write_text("abc\n")
    segmenter(endpoint.url, evidence="full", key_file=str(key)).segment(lane())
    segmenter(endpoint.url).segment(lane())
    shown = [body["messages"][1]["content"].count('"result"') for body in endpoint.requests]
    assert shown == [4, 2]
    assert endpoint.headers == ["Bearer abc", None]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"endpoint": "https://api.example.com/v1"}, "allow_remote"),
        ({"endpoint": "http://192.168.1.7/v1"}, "allow_remote"),
        ({"endpoint": "file:///etc", "allow_remote": True}, "not an http"),
        ({"modal": "x"}, "unknown 'modal'"),
        ({"evidence": "some"}, "full or selective"),
        ({"timeout_seconds": "soon"}, "soon"),
    ],
)
def test_wrong_options(options: dict[str, object], reason: str) -> None:
    """Content leaves the machine only when that was asked for in so many words."""
    with pytest.raises(ConfigError, match=reason):
        load_segmenter(SegmentConfig(segmenter="llm", options=options))
    remote = {"endpoint": "https://api.example.com/v1", "allow_remote": True}
    assert load_segmenter(SegmentConfig(segmenter="llm", options=remote))
