"""Researcher: a lead agent that hands reading to sub-agents, several at a time."""

from __future__ import annotations

import random

from plan import Call, Lane, Script, Session, Turn

MODEL = "gpt-5"
READER_MODEL = "gpt-5-mini"
TOPICS = [
    "retrieval augmentation",
    "battery ageing",
    "protein folding",
    "federated learning",
    "soil sensing",
    "code review",
]
VENDORS = ["Northwind", "Contoso", "Initech", "Globex", "Umbrella"]
PAPER_PROMPTS = [
    "Summarise the newest papers on {topic}.",
    "Please summarise papers about {topic} from the last year.",
    "I need a summary of recent papers on {topic}, one page.",
    "Read and summarise three papers on {topic}.",
]
VENDOR_PROMPTS = [
    "Compare vendors for a managed queue: {a} and {b}.",
    "Please compare the vendors {a} and {b} for log storage.",
    "Which vendor fits us better, {a} or {b}? Compare them.",
]


def reader(session: str, number: int, chance: random.Random, subject: str, phase: str) -> Call:
    """A sub-agent that reads one source."""
    lane = Lane(f"{session}.reader{number}", "reader", READER_MODEL, 1500)
    script = Script(lane, chance, reasoning=True)
    url = (
        f"https://library.example.test/{chance.randint(2300, 2611)}.{chance.randint(10000, 99999)}"
    )
    pages = chance.randint(1, 3)
    for page in range(pages):
        error = "ConnectionError: timed out" if chance.random() < 0.08 else None
        text = chance.choice(["I'll read the source.", "Let me read the next part.", ""])
        script.say(
            phase,
            text,
            Call(
                "fetch_page",
                {"url": url, "page": page + 1},
                error or f"Section {page + 1}: method, data, limits of {subject}",
                60 if error else chance.randint(5000, 13000),
                chance.uniform(0.6, 3.5),
                error=error,
            ),
        )
    notes = f"{subject}: gains of {chance.randint(2, 31)} %, small data, code available."
    script.say(phase, notes)
    return Call("ask_reader", {"subject": subject, "url": url}, notes, 280, 0.0, lane=lane)


class ResearchSession:
    """Builds the script of one research session."""

    def __init__(self, number: int, task: str, chance: random.Random, *, fails: bool) -> None:
        self.id = f"research-{7000 + number}"
        self.task, self.chance, self.fails = task, chance, fails
        self.script = Script(Lane(self.id, "researcher", MODEL, 2100), chance, reasoning=True)

    def build(self) -> Session:
        prompts = self._papers() if self.task == "summarise papers" else self._vendors()
        chance = self.chance
        turns = [
            Turn(p, chance.randint(20, 80), chance.uniform(60, 240) if i else 0.0)
            for i, p in enumerate(prompts)
        ]
        return Session(
            self.id,
            "researcher",
            self.task,
            "",
            "0.8.1",
            "production",
            f"analyst-{chance.randint(1, 6)}",
            turns,
            self.script.lane,
            "failure" if self.fails else "success",
        )

    def _search(self, phase: str, text: str, query: str) -> None:
        chance = self.chance
        self.script.say(
            phase,
            text,
            Call(
                "web_search",
                {"query": query},
                f"{chance.randint(5, 40)} results for {query}",
                chance.randint(900, 2600),
                chance.uniform(0.7, 2.4),
            ),
        )

    def _papers(self) -> list[str]:
        chance, say = self.chance, self.script.say
        topic = chance.choice(TOPICS)
        self._search(
            "search papers",
            chance.choice(["I'll search papers on the topic.", "Let me search for papers."]),
            topic,
        )
        if chance.random() < 0.4:
            self._search(
                "search papers", "Search papers with a narrower query.", f"{topic} evaluation"
            )
        number = 0
        for _ in range(chance.randint(1, 2)):
            calls = []
            for _ in range(chance.randint(2, 3)):
                number += 1
                calls.append(
                    reader(self.id, number, chance, f"{topic} study {number}", "read papers")
                )
            say(
                "read papers",
                chance.choice(
                    ["Now read the papers in parallel.", "I'll read papers with my readers."]
                ),
                *calls,
            )
        if self.fails:
            self.script.fail("write summary", 500)
        else:
            say(
                "compare findings",
                "Let me compare the findings.",
                Call("save_note", {"title": topic}, "saved", 40, 0.1),
            )
            say(
                "write summary",
                f"Summary: the papers on {topic} agree on the gain and differ in cost.",
            )
        return [chance.choice(PAPER_PROMPTS).format(topic=topic)]

    def _vendors(self) -> list[str]:
        chance, say = self.chance, self.script.say
        first, second = chance.sample(VENDORS, 2)
        self._search(
            "search vendors",
            chance.choice(["I'll search vendor pages.", "Let me search the vendors."]),
            f"{first} {second} pricing",
        )
        calls = [
            reader(self.id, n + 1, chance, f"{v} offer", "read offers")
            for n, v in enumerate((first, second))
        ]
        say(
            "read offers",
            chance.choice(["Now read both offers.", "I'll read the offers side by side."]),
            *calls,
        )
        if self.fails:
            self.script.fail("compare offers", 500)
            return [chance.choice(VENDOR_PROMPTS).format(a=first, b=second)]
        say(
            "compare offers",
            "Let me compare the offers.",
            Call("save_note", {"title": "comparison"}, "saved", 40, 0.1),
        )
        say("write report", f"{first} is cheaper, {second} has the better retention.")
        prompts = [chance.choice(VENDOR_PROMPTS).format(a=first, b=second)]
        if chance.random() < 0.4:
            prompts.append("And what about support hours?")
            self._search("search vendors", "", f"{first} support hours")
            say("write report", f"{first} answers around the clock, {second} on working days.")
        return prompts


TASKS = {"summarise papers": 22, "compare vendors": 18}


def sessions(seed: str) -> list[Session]:
    """All research sessions."""
    result = []
    for task, count in TASKS.items():
        for _ in range(count):
            number = len(result)
            chance = random.Random(f"{seed}:research:{number}")
            result.append(
                ResearchSession(number, task, chance, fails=chance.random() < 0.1).build()
            )
    return result
