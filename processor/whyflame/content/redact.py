"""Secrets and personal data out of text: one pass of compiled patterns behind cheap checks.

Meant to err on the side of removing: a long token of mixed letters and digits goes, words stay.
"""

from __future__ import annotations

import re

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

_GROUPS = (
    ("secret", "|".join(_SECRETS)),
    ("login", _URL_LOGIN),
    ("word", f"{_ASSIGNED}|{_BEARER}|{_FLAG}"),
    ("email", _EMAIL),
    ("card", _CARD),
    ("iban", _IBAN),
    ("ssn", _SSN),
    ("phone", _PHONE),
    ("address", f"{_ADDRESS4}|{_ADDRESS6}"),
    ("home", _HOME),
    ("host", _HOST),
    ("hex", _HEX),
    ("random", _RANDOM),
    ("name", _PERSON),
)
_PATTERN = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _GROUPS))
_SUSPECT = re.compile(
    r"\d{3}|@|://|BEGIN|(?i:pass|secret|token|key|credential|pwd|bearer|basic )|[\w+/=-]{20}"
    r"|/home/|Users|\.(?:internal|corp|local|lan|intra|private)|eyJ|[sp]k[-_]|[a-z]{2,4}_\w{8}"
    r"|name is|\bI am|\bI'm|\bMr|\bMs|\bDr|\bHerr|\bFrau|\d\.\d|:[0-9a-f]{1,4}:"
)
_LABELS = {
    "secret": "[secret]",
    "login": "[login]",
    "email": "[email]",
    "card": "[number]",
    "iban": "[number]",
    "ssn": "[number]",
    "phone": "[phone]",
    "address": "[address]",
    "home": "[user]",
    "host": "[host]",
    "hex": "[hex]",
    "random": "[secret]",
}
_PLACEHOLDERS = frozenset(
    ["true", "false", "none", "null", "required", "missing", "invalid", "not", "the", "a", "wrong",
     "incorrect", "empty", "set", "your", "usage", "count", "counts", "limit", "needed"]
)  # fmt: skip
_CARD_DIGITS = range(13, 20)
_OCTET = 255
_OWN_ADDRESSES = frozenset(["127.0.0.1", "0.0.0.0"])  # noqa: S104 - names nobody


def redact(text: str) -> str:
    """The text with secrets and personal data replaced by short labels."""
    if _SUSPECT.search(text) is None:
        return text
    return _PATTERN.sub(_replace, text)


def _replace(match: re.Match[str]) -> str:
    whole, kind = match[0], _kind(match)
    if kind == "word":
        value = match["assigned"] or match["bearer"] or match["flag"]
        if value.lower().strip(".!?)") in _PLACEHOLDERS or value.startswith("["):
            return whole
        return whole[: len(whole) - len(value)] + "[secret]"
    if kind == "name":
        return whole[: len(whole) - len(match["person"])] + "[person]"
    if kind == "card" and not _is_card(whole):
        return whole
    if kind == "address" and not _is_address(whole):
        return whole
    return _LABELS[kind]


def _kind(match: re.Match[str]) -> str:
    for name, _ in _GROUPS:
        if match[name] is not None:
            return name
    raise AssertionError("a match without a group")  # pragma: no cover - every branch is named


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
