"""Names: a verb of the table, shared object words, nothing that must not be shown."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.unit.segment.made import call, features, step

from whyflame.config import SegmentConfig
from whyflame.content.activity import CODES
from whyflame.errors import ConfigError
from whyflame.segment import Lane, Mark, load_segmenter, validate
from whyflame.segment.lane import Step
from whyflame.segment.names import Named, Namer, Stretches, evidence, load_tables
from whyflame.segment.names.wording import load_wording
from whyflame.segment.segmenter import InvalidMarks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NAMER = Namer(load_tables())


def named(lane: Lane, verb: str) -> Named:
    """The lane as one interval."""
    return name_all([lane], [verb])[0]


def name_all(
    lanes: list[Lane], verbs: list[str], namer: Namer = NAMER, doings: Sequence[str] = ()
) -> list[Named]:
    """Each lane as one interval; `doings` are the activities of all steps."""
    edges = np.cumsum([0, *(len(lane.steps) for lane in lanes)])
    count = len(lanes)
    stretches = Stretches(
        np.arange(count),
        edges[:-1],
        edges[1:],
        verbs,
        codes=np.arange(count)[:, None],
        odds=np.zeros((count, 1)),
        turned=np.zeros(count, np.bool_),
        activities=np.asarray([CODES[doing] for doing in doings or ["none"] * edges[-1]], np.uint8),
        failed=np.zeros(edges[-1], np.bool_),
    )
    return namer.name(lanes, stretches)


def name_of(*said: str, verb: str = "inspect") -> str:
    lane = Lane(steps=[step(text) for text in said])
    return next(NAMER.candidates(named(lane, verb)))


def test_equal_work_in_other_words_folds() -> None:
    """Aliases and the verb table give one name."""
    names = {
        name_of("Let me look at the repo"),
        name_of("I'll read the repository"),
        name_of("Now examine our codebase"),
    }
    assert names == {"inspect repository"}


def test_requests_win_over_side_words() -> None:
    """What the request is about is preferred."""
    lane = Lane(
        request=features(prompt="Improve the checkout"), steps=[step("see gamma, checkout")]
    )
    assert named(lane, "update").objects[0] == "checkout"


def test_german_verbs_and_compounds() -> None:
    """A clause without English verbs is read by the lexicon."""
    assert name_of("Ich behebe den Anmeldefehler") == "fix login error"
    assert name_of("Jetzt teste ich die Datenbank") == "test database"


@pytest.mark.parametrize(
    "said", ["ping jsmith@corp.example", "ask Mr. Smith about it", "use key sk-abcdefgh12345678"]
)
def test_nothing_private_in_names(said: str) -> None:
    """Names are made of kept words, and those passed the redactor."""
    assert not {"smith", "jsmith", "corp", "abcdefgh"} & set(name_of(said).split())


def test_tools_name_silent_lanes() -> None:
    """With content off, the tool's own name says what is worked on."""
    lane = Lane(steps=[step(None, call("get_reservation_details"))])
    assert next(NAMER.candidates(named(lane, "gather"))) == "gather reservation detail"


def test_other_names_come_after_the_best() -> None:
    """Neighbours that would be called the same take the next; every one is said once."""
    lane = Lane(steps=[step("Let me read the parser of the invoice archive")])
    found = named(lane, "inspect")
    names = [*NAMER.candidates(found)]
    assert len(names) > 2
    assert len(set(names)) == len(names)
    assert all(name.split()[0] == "inspect" and len(name.split()) in (2, 3) for name in names)
    assert [*NAMER.candidates(found, many=True)][-1].startswith("repeat inspect ")


def test_work_is_named_by_what_is_done() -> None:
    """ "Working on" says nothing that the steps do not say better."""
    assert name_of("Working on the session", verb="update") == "update session"


def test_a_verb_is_not_said_twice() -> None:
    """Nor does a lane whose only word is the verb go without a name."""
    silent = Lane(steps=[step("the test", agent="")])
    assert next(NAMER.candidates(named(silent, "test"))) == "test work"


def test_what_steps_do_names_them_where_nobody_says_more() -> None:
    """Failures and activities stand in for words."""
    lane = Lane(steps=[step(None, call("Bash", "pip install x"))])
    names = [mark.path[-1] for mark in load_segmenter(SegmentConfig()).segment(lane)]
    assert "dependency" in names[0]


def test_a_plan_says_it_all() -> None:
    """Where an item of a plan is in progress, no word comes from elsewhere."""
    plan = call("TodoWrite", "{}", plan=(("Train the model", "in_progress"),))
    lane = Lane(steps=[step("look at the parser", plan), step("go on", call("Bash", "ls"))])
    assert named(lane, "inspect").objects == ["model"]


def test_work_is_about_what_it_does_and_a_mere_talk_is_not() -> None:
    """Words that doings stand for are offered where something is done, each only for its doing."""
    lanes = [Lane(steps=[step(None)]) for _ in range(3)]
    found = name_all(lanes, ["inspect"] * 3, doings=["test", "think", "none"])
    tested, thought, told = ({*one.objects} for one in found)
    assert tested == {"test", "data", "detail", "result"}
    assert thought == {"data", "detail", "result"}
    assert told == {"work"}


def test_shared_names_are_preferred() -> None:
    """Of equally likely words those are put together that other runs have together."""
    lane = Lane(steps=[step("Let me read alpha, beta, gamma")])
    shared = replace(load_wording(), names={"inspect alpha gamma": 1000})
    whole = Namer(load_tables(), shared)
    assert "gamma" in next(name_all([lane], ["inspect"], whole)[0].names())
    alone = replace(shared, names={"inspect gamma": 10**9}, fold=5.0)
    assert next(name_all([lane], ["inspect"], Namer(load_tables(), alone))[0].names()) == (
        "inspect gamma"
    )


def test_team_tables(tmp_path: Path) -> None:
    """A team adds verbs, aliases and stop words."""
    path = tmp_path / "names.yaml"
    path.write_text(
        "verbs: {triage: [triage, sift]}\nobjects: {shard: [shards, slice]}\nstop: [foo]\n"
    )
    tables = load_tables(str(path))
    assert tables.verbs["sift"] == "triage"
    assert tables.objects["slice"] == "shard"
    assert tables.verbs["fix"] == "fix"
    lane = Lane(request=features(prompt="Please sift the slices"), steps=[step("go")])
    segmenter = load_segmenter(SegmentConfig(names_file=str(path)))
    assert segmenter.segment(lane)[0].path[0].startswith("triage")


@pytest.mark.parametrize(
    "text", ["- a list", "colours: {}", "verbs: {a b: [c]}", "verbs: {fix: x}", "{"]
)
def test_wrong_team_tables(tmp_path: Path, text: str) -> None:
    """Another shape is an error of the configuration."""
    path = tmp_path / "names.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError):
        load_tables(str(path))
    gone = str(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="names_file"):
        load_tables(gone)
    with pytest.raises(ConfigError, match=r"names_file.*none\.yaml.*No such file"):
        load_segmenter(SegmentConfig(segmenter="recurrence", names_file=gone))


@pytest.mark.parametrize(
    ("marks", "reason"),
    [
        ([], "first mark"),
        ([Mark(1, ("fix a",))], "first mark"),
        ([Mark(0, ("fix a",)), Mark(1, ("fix a",))], "same path"),
        ([Mark(0, ("fix a",)), Mark(9, ("fix a", "test b"))], "outside"),
        ([Mark(0, ("fix a",)), Mark(1, ("fix b",))], "root"),
        ([Mark(0, ("fix a b c",))], "one to 3 words"),
        ([Mark(0, ("fix  a",))], "one to 3 words"),
        ([Mark(0, ("login",))], "verb"),
        ([Mark(0, ())], "root"),
        ([Mark(0, ("fix a",) * 20)], "levels"),
    ],
)
def test_validation_fails_closed(marks: list[Mark], reason: str) -> None:
    """Every rule has its reason."""
    lane = Lane(steps=[step("x"), step("y")])
    with pytest.raises(InvalidMarks, match=reason):
        validate(lane, marks, load_tables().is_verb)
    with pytest.raises(InvalidMarks, match="without steps"):
        validate(Lane(), [Mark(0, ("fix a",))], load_tables().is_verb)


@pytest.mark.parametrize(
    ("prompt", "root"),
    [
        ("The login test fails. Please fix the failing login test.", "fix login test"),
        ("The sign-in test fails since today. Fix the login test please.", "fix login test"),
        ("CI is red: a login test fails. Can you fix it?", "fix login test"),
        (
            "Users are logged out. Diagnose the authentication failure.",
            "diagnose authentication error",
        ),
        ("See the bursts in production, diagnose authentication", "diagnose authentication burst"),
        ("Summarise the newest papers on storage", "summarize paper storage"),
        ("Reproduce the flaky test of the queue", "reproduce flaky test"),
        ('{"args": ["Summarise papers about storage"], "kwargs": {}}', "summarize paper storage"),
        ("Restore account access for Dima: the code is never accepted", "restore account access"),
        ("Customer Elif asks to refund order A-1", "refund order customer"),
        ("Please update the requirements, then restart", "update dependency"),
    ],
)
def test_roots_read_as_people_would_write_them(prompt: str, root: str) -> None:
    """What was asked for, without wrappers, adverbs, names of people."""
    assert NAMER.root(Lane(request=features(prompt=prompt))) == root


@pytest.mark.parametrize(
    ("said", "verb", "name"),
    [
        ("Let me diagnose the authentication failure", "inspect", "diagnose authentication error"),
        ("Now I translate the next section", "create", "translate section"),
        ("The order was placed twice", "inspect", "inspect order"),
        ("Let me debug the parser", "inspect", "inspect parser"),
        ('Let me try "swordfish" as the password', "test", "test password"),
    ],
)
def test_said_verbs_that_mean_one_thing(said: str, verb: str, name: str) -> None:
    """Verbs that the model hardly knows are believed; nouns, loose verbs and quotes are not."""
    assert name_of(said, verb=verb) == name


@pytest.mark.parametrize(
    ("word", "verb"),
    [("running", "run"), ("verified", "test"), ("summarise", "summarize"), ("analyses", "inspect"),
     ("editing", "update"), ("maze", None)],
)  # fmt: skip
def test_forms_of_verbs(word: str, verb: str | None) -> None:
    """Inflected and British forms are the verb of the table."""
    assert load_tables().verb_of(word) == verb


def test_the_model_names_what_a_request_without_verb_is_about() -> None:
    """A sub-agent that is asked with a noun."""
    assert NAMER.root(Lane(request=features(prompt="the session cookie")), "inspect") == (
        "inspect session cookie"
    )


def test_a_part_gives_way_to_the_whole_that_is_said() -> None:
    """Diagnosing authentication is one row, whichever token or password it looks at."""
    said = "Let me diagnose the authentication failure", "the token, the password"
    assert name_of(*said) == "diagnose authentication error"
    assert "token" in name_of("Let me diagnose the token cache")


@pytest.mark.parametrize("said", ["the user request: parser", "Updated Ledger: parser"])
def test_what_only_wraps_is_no_object(said: str) -> None:
    """Headings that a framework puts before every plan and report."""
    assert name_of(said) == "inspect parser"


def test_other_work_meets_errors() -> None:
    """A refund that fails is a refund; whoever fixes may fix errors."""
    name = name_of("The provider answers with errors, order", verb="refund")
    assert name == "refund provider order"
    assert name_of("The error comes from somewhere", verb="fix") == "fix error"


def test_a_lane_without_a_request_of_its_own_takes_the_first_prompt() -> None:
    """Chats tell their request on the model call."""
    first = Step(features(response="looking", prompt="Please migrate the warehouse"))
    lane = Lane(steps=[first, step("go on")])
    assert NAMER.root(lane) == "migrate warehouse"


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("read about the cities", "inspect city"),
        ("read about movies", "inspect movie"),
        ("the numerical values", "inspect value"),
        ("host names of machines", "inspect machine"),
        ("the boxes", "inspect box"),
        ("cached caches", "inspect cache"),
        ("pandas frames", "inspect pandas frame"),
        ("a series", "inspect series"),
        ("the indices", "inspect index"),
    ],
)
def test_nouns_only_and_in_the_singular(said: str, name: str) -> None:
    """Plurals and adjectives do not make names of their own."""
    assert name_of(said) == name


def _lanes() -> list[Lane]:
    texts = ["read the config files", "fix the failing login", "run the tests", "Ich teste es"]
    return [
        Lane(
            request=features(prompt=request),
            steps=[step(text, call("Bash")) for text in texts[: 1 + number]],
        )
        for number, request in enumerate(["deploy the hook", "fix authentication", "", "improve"])
    ]


def test_names_do_not_depend_on_the_batch() -> None:
    """Many intervals together get the names that each gets alone."""
    lanes = _lanes()
    verbs = ["inspect", "fix", "run", "test"]
    together = name_all(lanes, verbs)
    alone = [named(lane, verb) for lane, verb in zip(lanes, verbs, strict=True)]
    assert [[*one.names()] for one in together] == [[*one.names()] for one in alone]
    assert "authentication" in together[1].objects  # "login" gave way to what was asked for


def test_a_full_memory_is_emptied_and_changes_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read before is a matter of speed only."""
    lanes = _lanes()
    usual = [[*named(lane, "inspect").names()] for lane in lanes]
    monkeypatch.setattr(evidence, "_MEMO_LIMIT", 1)
    assert [[*named(lane, "inspect").names()] for lane in lanes * 2] == usual * 2
