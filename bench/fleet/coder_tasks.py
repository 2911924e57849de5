"""Coder: five kinds of programming tasks, with the loop that costs the money."""

from __future__ import annotations

import random

from coder_words import (
    AUTH_PROMPTS,
    DEEPER,
    DIAGNOSE,
    EDIT,
    FAILURES,
    FILES,
    FLAKY_PROMPTS,
    LOGIN_PROMPTS,
    MIGRATE_PROMPTS,
    RETRY,
    RUN,
    SNIPPETS,
    THINGS,
    UPGRADE_PROMPTS,
)
from plan import Call, Lane, Script, Session, Turn

MODEL = "gpt-5-mini"
EXPLORER_MODEL = "gpt-4.1-nano"


def read(chance: random.Random, path: str | None = None, *, long: bool = False) -> Call:
    tokens = chance.randint(2600, 7400) if long else chance.randint(900, 4200)
    file = path or chance.choice(FILES)
    return Call(
        "read_file", {"path": file}, chance.choice(SNIPPETS), tokens, chance.uniform(0.05, 0.3)
    )


def search(chance: random.Random, words: str) -> Call:
    found = f"{chance.randint(2, 19)} matches in {chance.choice(FILES)}, {chance.choice(FILES)}"
    return Call(
        "search_code", {"query": words}, found, chance.randint(300, 1800), chance.uniform(0.2, 1.4)
    )


def edit(chance: random.Random, path: str, old: str, new: str) -> Call:
    args = {"path": path, "old": old, "new": new}
    return Call("edit_file", args, f"edited {path}: 1 replacement", 90, chance.uniform(0.05, 0.2))


def run_of_tests(chance: random.Random, target: str, result: str, *, timeout: bool = False) -> Call:
    if timeout:
        error = f"TimeoutError: pytest {target} exceeded 120 s"
        return Call("run_tests", {"target": target}, error, 160, 120.0, error=error)
    return Call(
        "run_tests", {"target": target}, result, chance.randint(300, 1500), chance.uniform(24, 62)
    )


def shell(chance: random.Random, command: str, result: str, *, error: str | None = None) -> Call:
    seconds = chance.uniform(0.4, 9)
    return Call(
        "run_shell", {"command": command}, result, chance.randint(200, 2400), seconds, error=error
    )


def plan_call(items: list[str], done: int) -> Call:
    states = [
        "completed" if i < done else "in_progress" if i == done else "pending"
        for i in range(len(items))
    ]
    todos = [{"content": item, "status": state} for item, state in zip(items, states, strict=True)]
    return Call("write_todos", {"todos": todos}, "Updated todo list", 120, 0.01)


def explorer(session: str, number: int, chance: random.Random, question: str) -> Call:
    """A sub-agent that reads code and answers one question."""
    lane = Lane(f"{session}.explorer{number}", "explorer", EXPLORER_MODEL, 1900)
    script = Script(lane, chance)
    script.say(
        "explore code", "I'll search the code for the answer.", search(chance, "verify token")
    )
    for _ in range(chance.randint(1, 3)):
        script.say(
            "explore code",
            chance.choice(["Reading the caller.", "Let me read the module.", ""]),
            read(chance),
        )
    answer = f"The {chance.choice(THINGS)} is checked in {chance.choice(FILES)}, after the refresh."
    script.say("explore code", answer)
    return Call("ask_explorer", {"question": question}, answer, 240, 0.0, lane=lane)


class CoderSession:
    """Builds the script of one coder session."""

    def __init__(
        self, number: int, task: str, chance: random.Random, *, fails: bool, version: str
    ) -> None:
        self.id = f"coder-{2000 + number}"
        self.task = task
        self.chance = chance
        self.fails = fails
        self.version = version
        self.planned = chance.random() < 0.4
        self.script = Script(Lane(self.id, "coder", MODEL, 6200), chance, reasoning=True)
        self.thing = chance.choice(THINGS)
        self.explorers = 0
        self.budget = 60

    def build(self) -> Session:
        prompts = getattr(self, f"_{self.task.split()[0]}")()
        turns = [
            Turn(p, self.chance.randint(30, 220), self.chance.uniform(40, 200) if i else 0.0)
            for i, p in enumerate(prompts)
        ]
        return Session(
            id=self.id,
            agent="coder",
            task=self.task,
            instance="",
            version=self.version,
            environment="production",
            user=f"dev-{self.chance.randint(1, 24):02d}",
            turns=turns,
            main=self.script.lane,
            outcome="failure" if self.fails else "success",
            step_budget=self.budget,
        )

    # phases ----------------------------------------------------------------------------------
    def _todo(self, items: list[str], done: int) -> list[Call]:
        return [plan_call(items, done)] if self.planned else []

    def diagnose(self, steps: int, calls: list[Call]) -> None:
        chance, say = self.chance, self.script.say
        text = chance.choice(DIAGNOSE).format(thing=self.thing)
        say("diagnose authentication", text, *calls, search(chance, f"{self.thing} verify"))
        for number in range(steps):
            text = chance.choice(DEEPER).format(thing=chance.choice(THINGS))
            if number == steps // 2 and chance.random() < 0.45:
                self.explorers += 1
                question = f"Where is the {self.thing} checked?"
                say(
                    "diagnose authentication",
                    text,
                    explorer(self.id, self.explorers, chance, question),
                )
            elif chance.random() < 0.25:
                say(
                    "diagnose authentication",
                    text,
                    read(chance, long=True),
                    read(chance, long=True),
                )
            elif chance.random() < 0.3:
                log = (
                    f"{chance.randint(3, 90)} x 401 audience mismatch, kid={chance.randint(10, 99)}"
                )
                say(
                    "diagnose authentication", text, shell(chance, "grep -c 401 logs/auth.log", log)
                )
            else:
                say("diagnose authentication", text, read(chance, long=True))

    def edit_and_test(self, target: str, calls: list[Call], path: str = "auth/session.py") -> None:
        chance, say = self.chance, self.script.say
        text = chance.choice(EDIT).format(thing=self.thing)
        say("edit session", text, *calls, edit(chance, path, "now()", "clock.now()"))
        if self.fails:
            self.retry_tests(target)
            return
        if chance.random() < 0.35:
            say(
                "run tests",
                chance.choice(RUN),
                run_of_tests(chance, target, chance.choice(FAILURES)),
            )
            say(
                "edit session",
                "One assertion is left. Editing the session expiry.",
                edit(chance, path, "ttl", "ttl + skew"),
            )
        say("run tests", chance.choice(RUN), run_of_tests(chance, target, "42 passed in 35.1s"))

    def retry_tests(self, target: str) -> None:
        """The loop of a failing run: the same command again and again, then the budget ends."""
        chance, say = self.chance, self.script.say
        rounds = chance.randint(5, 9) if self.version == "2.4.0" else chance.randint(3, 5)
        for number in range(rounds):
            slow = chance.random() < 0.6
            call = run_of_tests(chance, target, chance.choice(FAILURES), timeout=slow)
            say("run tests", chance.choice(RETRY if number else RUN), call)
            if number % 3 == 2:
                say(
                    "edit session",
                    "I'll edit the session check again.",
                    edit(chance, "auth/session.py", "aud", "audience"),
                )
        if chance.random() < 0.5:
            self.budget = 2 * len(self.script.lane.replies) - 1
            say(
                "run tests",
                chance.choice(RETRY),
                run_of_tests(chance, target, FAILURES[0], timeout=True),
            )
        elif chance.random() < 0.3:
            self.script.fail("run tests", 400)
        else:
            say(
                "summarise change",
                "I could not make the tests pass; the test command keeps timing out.",
            )

    def finish(self, text: str) -> None:
        if not self.fails:
            self.script.say("summarise change", text)

    # tasks -----------------------------------------------------------------------------------
    def _fix(self) -> list[str]:
        chance, say = self.chance, self.script.say
        items = ["Inspect test", "Diagnose authentication", "Edit session", "Run tests"]
        target = "tests/test_login.py"
        say(
            "inspect test",
            chance.choice(
                [
                    "Let me inspect the failing test first.",
                    "I'll inspect the login test.",
                    "First inspect the test.",
                ]
            ),
            *self._todo(items, 0),
            read(chance, target),
        )
        say("inspect test", "", run_of_tests(chance, target, chance.choice(FAILURES)))
        self.diagnose(chance.randint(6, 13), self._todo(items, 1))
        self.edit_and_test(target, self._todo(items, 2))
        self.finish("The login test passes: the session check used the wrong clock.")
        prompts = [chance.choice(LOGIN_PROMPTS)]
        if not self.fails and chance.random() < 0.3:
            prompts.append(
                chance.choice(
                    [
                        "Thanks. Please add a changelog entry too.",
                        "Good. Can you write the changelog entry as well?",
                    ]
                )
            )
            say(
                "update changelog",
                "I'll update the changelog.",
                edit(chance, "CHANGELOG.md", "## Unreleased", "## Unreleased\n- login fixed"),
            )
            say("summarise change", "The changelog has the entry.")
        return prompts

    def _diagnose(self) -> list[str]:
        chance, say = self.chance, self.script.say
        items = ["Collect logs", "Diagnose authentication", "Edit session", "Run tests"]
        say(
            "collect logs",
            chance.choice(
                [
                    "I'll collect the logs of the gateway.",
                    "Let me collect logs first.",
                    "Collecting the logs around the 401 responses.",
                ]
            ),
            *self._todo(items, 0),
            shell(
                chance,
                "kubectl logs deploy/gateway --since=1h",
                f"{chance.randint(20, 400)} lines with 401 token refused",
            ),
        )
        if chance.random() < 0.4:
            say(
                "collect logs",
                "Collecting logs of the token service too.",
                shell(
                    chance,
                    "kubectl logs deploy/tokens --since=1h",
                    "key rotated 00:00, cache kept the old key",
                ),
            )
        self.diagnose(chance.randint(11, 19), self._todo(items, 1))
        self.edit_and_test("tests/test_auth.py", self._todo(items, 2))
        self.finish("Authentication works again: the gateway kept a rotated signing key.")
        return [chance.choice(AUTH_PROMPTS)]

    def _upgrade(self) -> list[str]:
        chance, say = self.chance, self.script.say
        lib = chance.choice(["requests", "sqlalchemy", "pydantic", "django", "urllib3", "celery"])
        items = ["Read changelog", "Upgrade dependency", "Run tests"]
        say(
            "read changelog",
            chance.choice(
                [
                    f"Let me read the changelog of {lib}.",
                    "I'll read the changelog for breaking changes.",
                ]
            ),
            *self._todo(items, 0),
            Call(
                "fetch_page",
                {"url": f"https://docs.example.test/{lib}/changelog"},
                f"{lib}: removed deprecated keyword, new defaults",
                chance.randint(1500, 5200),
                chance.uniform(0.6, 2.5),
            ),
        )
        say(
            "upgrade dependency",
            chance.choice(
                [
                    f"Now I'll upgrade the dependency {lib}.",
                    "Upgrading the dependency in the requirements.",
                    "Let me upgrade the dependency.",
                ]
            ),
            *self._todo(items, 1),
            edit(chance, "requirements.txt", f"{lib}<2", f"{lib}>=2"),
        )
        conflict = chance.random() < 0.5
        if conflict:
            error = f"ResolutionImpossible: {lib}>=2 conflicts with httpkit 1.4"
            say(
                "upgrade dependency",
                "",
                shell(chance, "pip install -r requirements.txt", error, error=error),
            )
            say(
                "resolve conflict",
                "I'll resolve the version conflict.",
                edit(chance, "requirements.txt", "httpkit==1.4", "httpkit>=1.5"),
            )
        say(
            "upgrade dependency",
            "",
            shell(chance, "pip install -r requirements.txt", f"Successfully installed {lib}"),
        )
        if self.fails:
            self.retry_tests("tests")
        else:
            say(
                "run tests",
                chance.choice(RUN),
                *self._todo(items, 2),
                run_of_tests(chance, "tests", "312 passed in 58.8s"),
            )
        self.finish(f"{lib} is upgraded and the tests pass.")
        return [chance.choice(UPGRADE_PROMPTS).format(lib=lib)]

    def _migrate(self) -> list[str]:
        chance, say = self.chance, self.script.say
        table, column = (
            chance.choice(["orders", "customers", "invoices"]),
            chance.choice(["region", "locale", "tier"]),
        )
        items = ["Inspect schema", "Write migration", "Apply migration", "Verify data"]
        say(
            "inspect schema",
            chance.choice(
                ["Let me inspect the schema.", "I'll inspect the database schema first."]
            ),
            *self._todo(items, 0),
            shell(
                chance,
                f"psql -c '\\d {table}'",
                f"{table}: id bigint, name text, created timestamptz",
            ),
        )
        say(
            "write migration",
            chance.choice(["Now I'll write the migration.", "Writing the migration script."]),
            *self._todo(items, 1),
            edit(
                chance,
                f"migrations/0042_{column}.sql",
                "",
                f"ALTER TABLE {table} ADD COLUMN {column} text;",
            ),
        )
        locked = chance.random() < 0.4
        if locked:
            error = f"OperationalError: lock timeout on table {table}"
            say(
                "apply migration",
                "Applying the migration to staging.",
                *self._todo(items, 2),
                shell(chance, "alembic upgrade head", error, error=error),
            )
        say(
            "apply migration",
            "Apply the migration again with a longer lock timeout."
            if locked
            else "Let me apply the migration.",
            shell(chance, "alembic upgrade head", "Running upgrade 0041 -> 0042"),
        )
        if self.fails:
            self.retry_tests("tests/test_models.py")
        else:
            say(
                "verify data",
                chance.choice(
                    ["I'll verify the data after the migration.", "Verifying the migrated data."]
                ),
                *self._todo(items, 3),
                shell(
                    chance,
                    f"psql -c 'select count(*) from {table}'",
                    str(chance.randint(10000, 90000)),
                ),
            )
        self.finish(f"The migration of {table} is applied and the data verified.")
        return [chance.choice(MIGRATE_PROMPTS).format(table=table, column=column)]

    def _reproduce(self) -> list[str]:
        chance, say = self.chance, self.script.say
        test = chance.choice(["test_queue_drain", "test_cache_expiry", "test_upload_resume"])
        items = ["Reproduce failure", "Patch timing", "Run tests"]
        target = f"tests/test_jobs.py::{test}"
        say(
            "reproduce failure",
            chance.choice(
                [
                    "Let me reproduce the failure in a loop.",
                    "I'll reproduce the flaky failure first.",
                ]
            ),
            *self._todo(items, 0),
            run_of_tests(chance, target, "1 passed in 24.0s"),
        )
        for _ in range(chance.randint(1, 3)):
            say(
                "reproduce failure",
                chance.choice(["Reproduce the failure with another seed.", ""]),
                run_of_tests(
                    chance,
                    target,
                    chance.choice(["1 passed in 25.1s", "1 failed in 25.9s: deadline exceeded"]),
                ),
            )
        say(
            "patch timing",
            chance.choice(
                [
                    "I'll patch the timing: wait for the event instead of sleeping.",
                    "Now patch the timing of the worker.",
                ]
            ),
            *self._todo(items, 1),
            read(chance, "jobs/worker.py"),
        )
        say("patch timing", "", edit(chance, "jobs/worker.py", "sleep(0.1)", "done.wait(5)"))
        if self.fails:
            self.retry_tests(target)
        else:
            say(
                "run tests",
                chance.choice(RUN),
                *self._todo(items, 2),
                run_of_tests(chance, target, "50 passed in 61.2s"),
            )
        self.finish(f"{test} waits for the event now and passed 50 times.")
        return [chance.choice(FLAKY_PROMPTS).format(test=test)]


TASKS = {
    "fix login test": 40,
    "diagnose authentication": 26,
    "upgrade dependency": 24,
    "migrate database": 18,
    "reproduce flaky test": 22,
}


def sessions(seed: str) -> list[Session]:
    """All coder sessions; version 2.4.0 fails more often and loops longer."""
    result = []
    for task, count in TASKS.items():
        for _ in range(count):
            number = len(result)
            chance = random.Random(f"{seed}:coder:{number}")
            version = "2.4.0" if chance.random() < 0.5 else "2.3.0"
            fails = chance.random() < (0.3 if version == "2.4.0" else 0.1)
            result.append(CoderSession(number, task, chance, fails=fails, version=version).build())
    return result
