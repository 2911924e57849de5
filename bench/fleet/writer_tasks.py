"""Writer: release notes and translations."""

from __future__ import annotations

import random

from plan import Call, Lane, Script, Session, Turn

MODEL = "gpt-4o-mini"
NOTES_PROMPTS = [
    "Write release notes for version {version}.",
    "Please write the release notes of {version}.",
    "We ship {version} tomorrow. Write release notes from the commits.",
    "Draft release notes for {version}, short and friendly.",
]
TRANSLATE_PROMPTS = [
    "Translate the docs page {page} to {language}.",
    "Please translate our documentation page {page} into {language}.",
    "Translate docs: {page}, target {language}.",
    "The page {page} is missing in {language}. Translate it.",
]


class WriterSession:
    """Builds the script of one writer session."""

    def __init__(self, number: int, task: str, chance: random.Random, *, fails: bool) -> None:
        self.id = f"writer-{8000 + number}"
        self.task, self.chance, self.fails = task, chance, fails
        self.script = Script(Lane(self.id, "writer", MODEL, 1300), chance)

    def build(self) -> Session:
        prompts = self._notes() if self.task == "write release notes" else self._translate()
        chance = self.chance
        turns = [Turn(p, chance.randint(20, 60)) for p in prompts]
        return Session(
            self.id,
            "writer",
            self.task,
            "",
            "3.1.0",
            chance.choice(["production", "staging"]),
            f"editor-{chance.randint(1, 4)}",
            turns,
            self.script.lane,
            "failure" if self.fails else "success",
        )

    def _notes(self) -> list[str]:
        chance, say = self.chance, self.script.say
        version = f"{chance.randint(1, 4)}.{chance.randint(0, 12)}.0"
        say(
            "collect commits",
            chance.choice(
                ["I'll collect the commits first.", "Let me collect commits since the last tag."]
            ),
            Call(
                "git_log",
                {"range": f"v{version}..main"},
                f"{chance.randint(12, 90)} commits: feat, fix, docs",
                chance.randint(1500, 6000),
                chance.uniform(0.2, 1.2),
            ),
        )
        say(
            "group changes",
            chance.choice(
                ["Now group the changes by area.", "Group changes into features and fixes."]
            ),
            Call("save_note", {"title": "groups"}, "saved", 40, 0.1),
        )
        say(
            "draft notes",
            chance.choice(["I'll draft the notes.", "Drafting the release notes now."]),
            Call("write_file", {"path": "RELEASE.md"}, "written", 60, 0.1),
        ).output += chance.randint(400, 900)
        for _ in range(3 if self.fails else chance.choice([0, 0, 1])):
            error = f"LinkError: 404 for /issues/{chance.randint(100, 999)}"
            say(
                "check links",
                "Let me check the links.",
                Call(
                    "check_links",
                    {"path": "RELEASE.md"},
                    error,
                    90,
                    chance.uniform(2, 9),
                    error=error,
                ),
            )
        if not self.fails:
            say(
                "check links",
                "Check links again.",
                Call(
                    "check_links",
                    {"path": "RELEASE.md"},
                    "all links answer",
                    50,
                    chance.uniform(2, 6),
                ),
            )
        say(
            "finish notes",
            "The release notes still have dead links."
            if self.fails
            else f"Release notes for {version} are ready.",
        )
        return [chance.choice(NOTES_PROMPTS).format(version=version)]

    def _translate(self) -> list[str]:
        chance, say = self.chance, self.script.say
        page, language = (
            chance.choice(["install", "quickstart", "security", "billing"]),
            chance.choice(["German", "Japanese", "Spanish", "Turkish"]),
        )
        say(
            "load document",
            chance.choice(["I'll load the document.", "Let me load the page."]),
            Call(
                "read_file",
                {"path": f"docs/{page}.md"},
                f"# {page}\nThis page explains {page}.",
                chance.randint(1200, 3200),
                0.1,
            ),
        )
        for number in range(chance.randint(2, 4)):
            say(
                "translate section",
                f"Now translate section {number + 1}.",
                Call(
                    "write_file",
                    {"path": f"docs/{language.lower()}/{page}.md", "section": number + 1},
                    "written",
                    50,
                    0.1,
                ),
            ).output += chance.randint(500, 1300)
        say(
            "review terminology",
            chance.choice(
                ["Let me review the terminology.", "Review terminology against the glossary."]
            ),
            Call(
                "glossary",
                {"language": language},
                f"{chance.randint(0, 6)} terms differ",
                chance.randint(400, 1500),
                chance.uniform(0.2, 0.8),
            ),
        )
        if self.fails:
            self.script.fail("review terminology", 400)
        else:
            say("finish translation", f"The page {page} is translated to {language}.")
        return [chance.choice(TRANSLATE_PROMPTS).format(page=page, language=language)]


TASKS = {"write release notes": 20, "translate docs": 20}


def sessions(seed: str) -> list[Session]:
    """All writer sessions."""
    result = []
    for task, count in TASKS.items():
        for _ in range(count):
            number = len(result)
            chance = random.Random(f"{seed}:writer:{number}")
            result.append(WriterSession(number, task, chance, fails=chance.random() < 0.12).build())
    return result
