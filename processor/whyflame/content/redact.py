"""Secrets and personal data out of text: compiled patterns, each behind a cheap question.

Meant to err on the side of removing: a long token of mixed letters and digits goes, words stay.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["redact"]

_SECRETS = (
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)",
    r"\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?",  # JSON web token
    r"\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,}",
    r"\b(?:ghp|gho|ghu|ghs|ghr|github_pat|glpat|npm|hf|pypi|dop_v1|xox[abposr]|shpat|sq0atp)[_-][\w-]{8,}",
    r"\b(?:sk|pk|rk|whsec)[-_](?:ant-|proj-|live_|test_|or-)?[\w-]{8,}",
    r"\bAIza[\w-]{20,}|\bya29\.[\w-]{10,}",
    r"\bhttps://hooks\.slack\.com/\S+|\bhttps://discord(?:app)?\.com/api/webhooks/\S+",
    r"\b(?:AccountKey|SharedAccessKey|sig)=[\w+/%=-]{10,}",
)
_URL_LOGIN = r"(?<=://)[^\s/:@]+:[^\s/@]+(?=@)"
_ASSIGNED = (
    r"(?i:\b(?:[\w-]*(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|"
    r"private[_-]?key|credential|pwd))[\"']?\s*(?:=|:|\bis\b)\s*[\"']?)(?P<assigned>[^\s\"',;&]{3,})"
)
_BEARER = r"(?i:\b(?:bearer|basic)\s+)(?P<bearer>[\w.~+/=-]{8,})"
_FLAG = r"(?<=\s)(?:--password|--token|--secret)(?:=|\s+)(?P<flag>[^\s-]\S{3,})"
_EMAIL = r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\b[\w.-]+@(?:localhost|[\w-]+)\b"
_CARD = r"\b(?:\d[ -]?){13,19}\b"
_IBAN = r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b"
_PHONE = r"(?<![\w.])\+\d[\d ().-]{7,}\d|\(\d{3}\) ?\d{3}-\d{4}|\b\d{3}-\d{3}-\d{4}\b"
_SSN = r"\b\d{3}-\d{2}-\d{4}\b"
_ADDRESS4 = r"\b(?:\d{1,3}\.){3}\d{1,3}\b"
_ADDRESS6 = r"\b(?:[0-9a-fA-F]{1,4}:){4,7}[0-9a-fA-F]{1,4}\b"
_HOME = r"(?<=/home/)[^\s/\"']+|(?<=/Users/)[^\s/\"']+|(?<=\\Users\\)[^\s\\\"']+"
_HOST = r"\b[\w-]+(?:\.[\w-]+)*\.(?:internal|corp|local|lan|intranet|intra|private)\b"
_HEX = r"\b[0-9a-fA-F]{32,}\b"
_RANDOM = r"\b(?=[\w+/=-]*\d)(?=[\w+/=-]*[a-z])(?=[\w+/=-]*[A-Z])[\w+/=-]{24,}"
_PERSON = (
    r"\b(?:[Mm]y name is|I am|I'm|Mr\.?|Mrs\.?|Ms\.?|Dr\.?|Herrn?|Frau) "
    r"(?P<person>[A-Z][a-zà-ÿ]+(?: [A-Z][a-zà-ÿ]+)*)"
)

_SECRET_SIGNS = ("BEGIN", "eyJ", "AKIA", "ASIA", "AROA", "AIDA", "AIza", "ya29", "hooks", "Key=",
                 "sig=")  # fmt: skip
_SECRET_PREFIX = re.compile(r"[a-z0-9]_[\w-]{8}|\b(?:sk|pk|rk|whsec|glpat|xox[abposr])[-_]|_pat_")
_WORD_SIGNS = ("pass", "secret", "token", "key", "cred", "pwd", "bearer", "basic")
_HOME_SIGNS = ("/home/", "/Users/", "\\Users\\")
_HOST_SIGNS = (".internal", ".corp", ".local", ".lan", ".intra", ".private")
_PERSON_SIGNS = ("ame is", "I am", "I'm", "Mr", "Ms", "Dr", "Herr", "Frau")
_NUMBER = re.compile(r"\d{2}[ .-]?\d")
_LONG = re.compile(r"[\w+/=-]{24}")


def _has(text: str, signs: tuple[str, ...]) -> bool:
    return any(sign in text for sign in signs)


def _may_hold_secret(text: str) -> bool:
    return _has(text, _SECRET_SIGNS) or _SECRET_PREFIX.search(text) is not None


_PASSES: tuple[tuple[Callable[[str], object], re.Pattern[str], str], ...] = (
    (_may_hold_secret, re.compile("|".join(_SECRETS)), "[secret]"),
    (lambda text: "://" in text and "@" in text, re.compile(_URL_LOGIN), "[login]"),
    (
        lambda text: _has(text.lower(), _WORD_SIGNS),
        re.compile(f"{_ASSIGNED}|{_BEARER}|{_FLAG}"),
        "",
    ),
    (lambda text: "@" in text, re.compile(_EMAIL), "[email]"),
    (_NUMBER.search, re.compile(f"(?P<card>{_CARD})|{_SSN}|{_PHONE}|{_IBAN}"), "[number]"),
    (lambda text: text.count(".") > 2, re.compile(_ADDRESS4), "[address]"),  # noqa: PLR2004
    (lambda text: text.count(":") > 3, re.compile(_ADDRESS6), "[address]"),  # noqa: PLR2004
    (lambda text: _has(text, _HOME_SIGNS), re.compile(_HOME), "[user]"),
    (lambda text: _has(text, _HOST_SIGNS), re.compile(_HOST), "[host]"),
    (_LONG.search, re.compile(f"{_HEX}|{_RANDOM}"), "[secret]"),
    (lambda text: _has(text, _PERSON_SIGNS), re.compile(_PERSON), ""),
)
"""A cheap question each, the pattern to run when the answer is yes, and what stands there then."""
_PLACEHOLDERS = frozenset(
    ["true", "false", "none", "null", "required", "missing", "invalid", "not", "the", "a", "wrong",
     "incorrect", "empty", "set", "your", "usage", "count", "counts", "limit", "needed"]
)  # fmt: skip
_CARD_DIGITS = range(13, 20)
_OCTET = 255
_OWN_ADDRESSES = frozenset(["127.0.0.1", "0.0.0.0"])  # noqa: S104 - names nobody


def redact(text: str) -> str:
    """The text with secrets and personal data replaced by short labels."""
    for may_hold, pattern, label in _PASSES:
        if may_hold(text):
            text = pattern.sub(lambda match, label=label: _replace(match, label), text)  # type: ignore[misc]
    return text


def _replace(match: re.Match[str], label: str) -> str:
    """The label, or the match itself when it only looks alike."""
    whole, found = match[0], match.groupdict()
    if value := found.get("assigned") or found.get("bearer") or found.get("flag"):
        if value.lower().strip(".!?)") in _PLACEHOLDERS or value.startswith("["):
            return whole
        return whole[: len(whole) - len(value)] + "[secret]"
    if person := found.get("person"):
        return whole[: len(whole) - len(person)] + "[person]"
    if found.get("card") and not _is_card(whole):
        return whole
    if label == "[address]" and not _is_address(whole):
        return whole
    return label


def _is_card(text: str) -> bool:
    """Luhn check, so that order numbers and timestamps stay."""
    digits = [int(character) for character in text if character.isdigit()]
    if len(digits) not in _CARD_DIGITS:
        return False
    doubled = (d * 2 - 9 if d > 4 else d * 2 for d in digits[-2::-2])  # noqa: PLR2004
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _is_address(text: str) -> bool:
    if ":" in text:
        return True
    return text not in _OWN_ADDRESSES and all(int(part) <= _OCTET for part in text.split("."))
