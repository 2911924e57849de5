"""Support: refunds, lost access and alerts, in conversations of several turns."""

from __future__ import annotations

import random

from plan import Call, Lane, Script, Session, Turn

MODEL = "gpt-4.1-mini"
REFUND_PROMPTS = [
    "Please refund order {order}, the parcel never arrived.",
    "I want a refund for order {order}. It came broken.",
    "Customer {name} asks to refund order {order}.",
    "Can you refund the customer {name}? The order {order} was charged twice.",
    "Refund {order} please, wrong size.",
]
ACCESS_PROMPTS = [
    "I cannot sign in any more, please restore access to my account.",
    "Restore account access for {name}: the code is never accepted.",
    "My account is locked after the phone change. Please restore access.",
    "Customer {name} lost access to the account, please restore it.",
]
ALERT_PROMPTS = [
    "Triage the alerts of the last hour.",
    "Please triage alerts for the checkout service.",
    "Many alerts fired tonight. Triage them and open incidents where needed.",
    "Triage the open alerts and tell me what to page for.",
]
NAMES = ["Ada", "Bola", "Chen", "Dima", "Elif", "Farid", "Grace", "Hana", "Ivo", "Jun"]


def call(
    tool: str,
    args: dict[str, object],
    result: str,
    tokens: int,
    seconds: float,
    error: str | None = None,
) -> Call:
    return Call(tool, args, error or result, tokens, seconds, error=error)


class SupportSession:
    """Builds the script of one support session."""

    def __init__(
        self, number: int, task: str, chance: random.Random, *, fails: bool, version: str
    ) -> None:
        self.id = f"support-{5000 + number}"
        self.task, self.chance, self.fails, self.version = task, chance, fails, version
        self.script = Script(Lane(self.id, "support", MODEL, 2600), chance)
        self.name = chance.choice(NAMES)
        self.order = f"A-{chance.randint(10000, 99999)}"

    def build(self) -> Session:
        prompts = {
            "refund customer": self._refund,
            "restore access": self._access,
            "triage alerts": self._alerts,
        }[self.task]()
        chance = self.chance
        turns = [
            Turn(p, chance.randint(15, 90), chance.uniform(20, 150) if i else 0.0)
            for i, p in enumerate(prompts)
        ]
        return Session(
            self.id,
            "support",
            self.task,
            "",
            self.version,
            "production",
            f"desk-{chance.randint(1, 9)}",
            turns,
            self.script.lane,
            "failure" if self.fails else "success",
        )

    def _refund(self) -> list[str]:
        chance, say, order = self.chance, self.script.say, self.order
        say(
            "look up order",
            chance.choice(["I'll look up the order.", "Let me look up order details."]),
            call(
                "get_order",
                {"order_id": order},
                f"{order}: delivered, 59.90 EUR, card",
                chance.randint(200, 700),
                chance.uniform(0.2, 0.8),
            ),
        )
        say(
            "check policy",
            chance.choice(
                [
                    "Let me check the refund policy.",
                    "Checking the policy for this case.",
                    "I'll check the policy.",
                ]
            ),
            call(
                "search_policy",
                {"query": "refund window"},
                "Refund within 30 days, proof of damage needed",
                chance.randint(600, 1800),
                chance.uniform(0.3, 1.1),
            ),
        )
        tries = chance.randint(3, 5) if self.fails else chance.choice([0, 0, 0, 1])
        for number in range(tries):
            error = "PaymentError: 502 from the payment provider"
            text = (
                chance.choice(["Now I'll issue the refund.", "Issuing the refund."])
                if not number
                else "Issue the refund again."
            )
            say(
                "issue refund",
                text,
                call(
                    "issue_refund",
                    {"order_id": order, "amount": 59.9},
                    "",
                    120,
                    chance.uniform(6, 15),
                    error,
                ),
            )
        if self.fails:
            say(
                "write reply",
                "I could not issue the refund; the payment provider answers with errors. A colleague will follow up.",
            )
        else:
            say(
                "issue refund",
                "I'll issue the refund now.",
                call(
                    "issue_refund",
                    {"order_id": order, "amount": 59.9},
                    "refund accepted",
                    90,
                    chance.uniform(0.8, 2.5),
                ),
            )
            say("write reply", f"The refund of order {order} is on its way, {self.name}.")
        prompts = [chance.choice(REFUND_PROMPTS).format(order=order, name=self.name)]
        if chance.random() < 0.35:
            prompts.append(
                chance.choice(["When will the money arrive?", "How long does that take?"])
            )
            say(
                "check policy",
                "",
                call(
                    "search_policy",
                    {"query": "payout time"},
                    "3 to 5 working days",
                    300,
                    chance.uniform(0.3, 1.0),
                ),
            )
            say("write reply", "It takes three to five working days.")
        return prompts

    def _access(self) -> list[str]:
        chance, say = self.chance, self.script.say
        user = f"u-{chance.randint(1000, 9999)}"
        say(
            "look up customer",
            chance.choice(["I'll look up the customer.", "Let me look up the account."]),
            call(
                "get_customer",
                {"name": self.name},
                f"{user}: active, factor=app",
                chance.randint(200, 600),
                chance.uniform(0.2, 0.7),
            ),
        )
        for number in range(chance.randint(2, 5)):
            text = (
                chance.choice(
                    [
                        "Let me diagnose the authentication failure of this account.",
                        "I'll diagnose authentication for the customer.",
                        "Diagnosing why authentication is refused.",
                    ]
                )
                if not number
                else ""
            )
            say(
                "diagnose authentication",
                text,
                call(
                    "auth_events",
                    {"user": user, "page": number + 1},
                    f"{chance.randint(2, 30)} x code refused: device clock is {chance.randint(2, 9)} min late",
                    chance.randint(900, 3200),
                    chance.uniform(0.4, 1.6),
                ),
            )
        if chance.random() < 0.3:
            error = "ConflictError: factor reset already pending"
            say(
                "reset access",
                "I'll reset access with a new factor.",
                call("reset_factor", {"user": user}, "", 80, 0.6, error),
            )
        if self.fails:
            say(
                "write reply",
                "I could not restore access; please visit the branch with an identity card.",
            )
        else:
            say(
                "reset access",
                "Reset access for the customer.",
                call(
                    "reset_factor", {"user": user}, "new factor sent", 80, chance.uniform(0.5, 1.5)
                ),
            )
            say(
                "write reply",
                "Access is restored. Please set the clock of your phone to automatic.",
            )
        return [chance.choice(ACCESS_PROMPTS).format(name=self.name)]

    def _alerts(self) -> list[str]:
        chance, say = self.chance, self.script.say
        say(
            "list alerts",
            chance.choice(["I'll list the alerts first.", "Let me list open alerts."]),
            call(
                "list_alerts",
                {"since": "1h"},
                f"{chance.randint(8, 60)} alerts: latency checkout, disk db-2, 5xx gateway",
                chance.randint(1800, 5200),
                chance.uniform(0.5, 2),
            ),
        )
        for _ in range(chance.randint(1, 3)):
            say(
                "group alerts",
                chance.choice(
                    ["Now group the alerts by cause.", "Grouping alerts that share a service."]
                ),
                call(
                    "query_metrics",
                    {"query": "rate(http_errors[5m])"},
                    f"{chance.uniform(0.1, 9):.2f}/s, rising since 02:1{chance.randint(0, 9)}",
                    chance.randint(700, 2600),
                    chance.uniform(0.6, 3),
                ),
            )
        if chance.random() < 0.6:
            say(
                "open incident",
                "I'll open an incident for the checkout errors.",
                call(
                    "open_incident",
                    {"title": "checkout errors", "severity": 2},
                    f"INC-{chance.randint(100, 999)}",
                    60,
                    chance.uniform(0.4, 1.2),
                ),
            )
        if self.fails:
            self.script.fail("write reply", 429)
        else:
            say(
                "write reply",
                "Two causes: a full disk on db-2 and slow checkout. One incident is open.",
            )
        return [chance.choice(ALERT_PROMPTS)]


TASKS = {"refund customer": 45, "restore access": 30, "triage alerts": 25}


def sessions(seed: str) -> list[Session]:
    """All support sessions."""
    result = []
    for task, count in TASKS.items():
        for _ in range(count):
            number = len(result)
            chance = random.Random(f"{seed}:support:{number}")
            version = chance.choice(["1.9.2", "1.9.3"])
            fails = chance.random() < 0.12
            result.append(
                SupportSession(number, task, chance, fails=fails, version=version).build()
            )
    return result
