"""Secrets and personal data out of text: compiled patterns, each behind a cheap question.

Meant to err on the side of removing, but not blindly: what is removed from a text or name is missing
in it, so commit hashes, versions, ids and code are told apart (`lookalikes`). Every pattern is
bounded, so that no text costs more than its length.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from whyflame.content.lookalikes import (
    is_address4,
    is_address6,
    is_card,
    is_harmless_value,
    is_iban,
    is_key_like,
    is_labelled_hash,
    is_phone,
    is_random,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MASK", "redact", "redact_assigned", "redact_service"]

MASK = "\x1a"
"""Stands for an assigned value until words were looked for: the label holds a word itself."""
_SECRET = "[secret]"  # noqa: S105 - a label

_KEYS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|$)"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"  # JSON web token
    r"|\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,}"
    r"|(?<![A-Za-z0-9])(?:gh[opusr]_|github_pat_|gl(?:pat|rt|dt|ptt)-|xox[abeposr]-|xapp-|sk-(?:proj|ant|or|svcacct"
    r"|admin)-|[sr]k_(?:live|test)_|whsec_|gsk_|dop_v1_|shp(?:at|ss|ca|pa)_|sq0(?:atp|csp)-|GOCSPX-"
    r"|glsa_|sntrys_|pscale_|hvs\.|dp\.pt\.|pypi-AgE|AGE-SECRET-KEY-|SG\.)[\w.-]{8,}"
    r"|\bdapi[0-9a-f]{32}|\bpat-[a-z]{2}\d-[0-9a-f-]{36}"
    r"|\bAIza[\w-]{20,}|\bya29\.[\w-]{10,}|\b\d{8,10}:AA[\w-]{33}\b"
    r"|\bhttps://hooks\.slack\.com/[^\s\"']+|\bhttps://discord(?:app)?\.com/api/webhooks/[^\s\"']+"
    r"|\b(?:AccountKey|SharedAccessKey|sig)=[\w+/%=-]{10,}"
    r"|(?<![A-Za-z0-9])(?:sk|pk|rk|npm|hf|pypi|r8|fw|secret|ntn|sbp|key|tvly|pplx|xai|lin_api|figd|glc|nvapi)[-_](?P<key>[\w-]{12,})"
)
_KEY_SIGNS = tuple(
    """-----BEGIN eyJ AKIA ASIA AROA AIDA AIza ya29 hooks api/webhooks Key= sig= gh github_pat glpat- glrt-
    gldt- glptt- xox xapp- sk- sk_ rk_ rk- pk_ pk- whsec gsk_ dop_v1_ shp sq0 GOCSPX tvly pplx xai- lin_api
    figd_ gls glc_ sntrys pscale nvapi hvs. dp.pt pypi AGE-SECRET SG. dapi pat- npm hf r8_ fw_ secret ntn_ sbp_
    key- key_ :AA""".split()
)
_LOGIN = re.compile(r"(?<=://)[^\s/:@\"'\\]{0,100}:[^\s/\"'\\]{1,200}(?=@)")
_NAMED = (
    r"(?:pass(?:word|wd|wort|phrase|code)|pwd|kennwort|contrase[ñn]a|mot de passe|senha|wachtwoord"
    r"|hasło|пароль|密[码碼]|パスワード|비밀번호|secret|token|credentials?"
    r"|(?:api|access|private|secret|signing|encryption|master|account|auth)[_ -]?key)"
)
_ASSIGNED = re.compile(
    rf"(?i:(?P<word>{_NAMED})(?:\\*[\"'`\]])*\s{{0,3}}(?:=>|[:=：＝]{{1,2}}|\s(?:is|ist|lautet|est|es)\s)"  # noqa: RUF001
    r"\s{0,3})(?:\\*(?P<quote>[\"'`])(?P<quoted>[^\"'`\\\n]{2,200})|(?P<assigned>[^\s\"'`,;&\\]{3,200}))"
    r"|(?i:\bpass(?:word|wort|code|phrase)|\bkennwort) (?:\\*[\"'`](?P<called>[^\"'`\\\n]{2,200})|(?P<named>(?=\S{0,40}\d)(?=\S{0,40}[A-Za-z])\S{6,200}))"
    r"|(?<=\s)--(?:password|token|secret)(?:=|\s{1,3})(?P<flag>[^\s\[-]\S{3,200})"
    r"|(?i:\b(?:PIN|PUK|CVV2?|CVC)\b[\s:=]{1,3})(?P<pin>\d{3,8})\b"
)
_ASSIGNED_SIGNS = ("pass", "secret", "token", "key", "cred", "pwd", "kennwort", "contrase", "senha", "mot de",
                   "wachtwoord", "hasło", "пароль", "密", "パスワ", "비밀", "pin", "puk", "cvv", "cvc")  # fmt: skip
_SENT = re.compile(
    r"(?i:\bauthorization\\*[\"']?\s{0,3}[:=]\s{0,3}\\*[\"']?(?:(?:bearer|basic|token|apikey|digest)\s{1,3})?)"
    r"(?P<header>[^\s\"'\\,<\[${]{6,2000})"
    r"|(?i:\b(?:set-)?cookie\\*[\"']?:\s{0,3}\\*[\"']?)(?P<cookie>[^\s\"'\\\[][^\n\"'\\]{3,2000})"
    r"|(?i:\b(?:bearer|basic)\s{1,3})(?P<bearer>[\w.~+/=-]{8,2000})"
    r"|\b(?:curl\b[^\n|;]{0,200}?\s(?:-u|--user)[ =]?|sshpass\s+-p\s*)[\"']?(?P<login>[^\s\"'\[]{3,200})"
)
_SENT_SIGNS = ("bearer", "basic", "authorization", "cookie", "curl", "sshpass")
_EMAIL = re.compile(
    r"(?<![\w.+-])(?P<box>[\w.+-]{1,64})@(?:(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}\b|(?:localhost|(?!v\d|sha\d)[a-z][\w-]{0,40}\d)\b(?!\.))"
)
_NUMBERS = re.compile(
    r"(?=[\d+(A-Z])(?:(?P<card>\b\d(?:[ -]?\d){12,18}\b)|\b(?!000|666|9)\d{3}-\d{2}-\d{4}\b"
    r"|(?P<iban>\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b)"
    r"|(?P<phone>(?<![\w.+])\+\d[\d ().-]{6,20}\d)|\([2-9]\d\d\) ?\d{3}-\d{4}"
    r"|\b[2-9]\d\d-[2-9]\d\d-\d{4}\b|\b0[1-9](?:[ .]\d\d){4}\b)"
)
_CALLED = re.compile(
    r"(?i:\b(?:tel|telefon|telephone|phone|mobile|mobil|handy|fax|téléphone|teléfono)(?:nummer| number|number| no)?\b"
    r"|电话|手机|電話)[.:：]{0,2}\s{0,3}(?P<called>[\d+(][\d ()/.-]{5,20}\d)"  # noqa: RUF001
)
_CALLED_SIGNS = ("tel", "tél", "phone", "mobil", "handy", "fax", "电话", "手机", "電話")
_ADDRESS4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?!\w|\.\d)")
_ADDRESS6 = re.compile(r"(?<![\w:.])(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4}(?![\w:])")
_DEVICE = re.compile(r"(?<![\w:-])(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}(?![\w:-])")
_HOME = re.compile(
    r"(?<=/home/)[^\s/\"'\\\[]+|(?<=/Users/)[^\s/\"'\\\[]+|(?<=\\Users\\)[^\s\\\"'\[]+"
)
_HOST = re.compile(
    r"(?<![\w.-])(?<!\w/)(?:[\w-]{1,63}\.){1,6}(?:internal|corp|local|lan|intranet|intra|private)(?![\w(-]|\.\w)"
)
_HEX = re.compile(r"(?<![0-9A-Za-z])[0-9a-fA-F]{32,}(?![0-9A-Za-z])")
_TOKEN = re.compile(r"(?<![\w+/=~-])[\w+/=~-]{20,}")
_CAPITAL = r"[A-ZÀ-ÖØ-ÞĀĆČĐĞİŁŃŐŘŚŞŠŻŽ]"
_PERSON = re.compile(
    r"(?:\b(?:[Mm]y name is|I am|I'm|Mr\.?|Mrs\.?|Ms\.?|Dr\.?|Herrn?|Frau|[Mm]ein Name ist|[Ii]ch hei(?:ß|ss)e"
    r"|[Jj]e m'appelle|[Mm]onsieur|[Mm]adame|[Mm]e llamo|[Mm]i nombre es|[Ss]eñora?|[Mm]eu nome é) "
    rf"(?P<person>{_CAPITAL}[^\W\d_]+(?:[ -]{_CAPITAL}[^\W\d_]+){{0,4}})|我叫(?P<called>[\u4e00-\u9fff]{{2,3}}))"
)

_HOME_SIGNS = ("/home/", "/Users/", "\\Users\\")
_HOST_SIGNS = (".internal", ".corp", ".local", ".lan", ".intra", ".private")
_PERSON_SIGNS = ("ame is", "I am", "I'm", "Mr", "Ms", "Dr", "Herr", "Frau", "ame ist", "ch hei", "m'app", "onsieur",
                 "adame", "e llamo", "nombre", "eñor", "nome", "我叫")  # fmt: skip
_DIGITS = re.compile(r"\d{2}[ .-]?\d|0\d[ .]\d\d")
_LONG = re.compile(r"[\w+/=~-]{20}")
_ANYBODY = frozenset(
    "user users username ubuntu runner node vscode app root admin dev work you me circleci".split()
)
_PUBLIC_HOSTS = frozenset(["host.docker.internal", "host.containers.internal"])
_MAILERS = frozenset(["git"])  # git@github.com names nobody


def _replace_key(match: re.Match[str]) -> str:
    key = match["key"]
    return match[0] if key is not None and not is_key_like(key) else _SECRET


def _replace_assigned(match: re.Match[str]) -> str:
    value = match["quoted"] or match["assigned"]
    if value is not None:
        if is_harmless_value(match["word"], value):
            return match[0]
    else:
        value = match["called"] or match["named"] or match["flag"] or match["pin"]
    return f"{match[0][: len(match[0]) - len(value)]}{_SECRET}"


def _replace_sent(match: re.Match[str]) -> str:
    value = next(group for group in match.groups() if group is not None)
    bearer = match["bearer"]
    if bearer is not None and not (re.search(r"\d|=$|[a-z][A-Z]", bearer)):
        return match[0]  # "basic functionality"
    if is_harmless_value("", value):
        return match[0]
    return f"{match[0][: len(match[0]) - len(value)]}{_SECRET}"


def _replace_email(match: re.Match[str]) -> str:
    return match[0] if match["box"].lower() in _MAILERS else "[email]"


def _replace_number(match: re.Match[str]) -> str:
    number = match[0]
    looks_alike = (
        (match["card"] and not is_card(number))
        or (match["iban"] and not is_iban(number))
        or (match["phone"] and not is_phone(number))
    )
    return number if looks_alike else "[number]"


def _replace_called(match: re.Match[str]) -> str:
    whole, called = match[0], match["called"]
    return f"{whole[: len(whole) - len(called)]}[number]" if is_phone(called) else whole


def _replace_address4(match: re.Match[str]) -> str:
    return "[address]" if is_address4(match.string, match[0], match.start()) else match[0]


def _replace_address6(match: re.Match[str]) -> str:
    return "[address]" if is_address6(match[0]) else match[0]


def _replace_home(match: re.Match[str]) -> str:
    return match[0] if match[0].lower() in _ANYBODY else "[user]"


def _replace_host(match: re.Match[str]) -> str:
    return match[0] if match[0].lower() in _PUBLIC_HOSTS else "[host]"


def _replace_hex(match: re.Match[str]) -> str:
    return match[0] if is_labelled_hash(match.string, match.start()) else _SECRET


def _replace_token(match: re.Match[str]) -> str:
    is_hex = _HEX.fullmatch(match[0]) is not None  # decided already
    return match[0] if is_hex or not is_random(match[0]) else _SECRET


def _replace_person(match: re.Match[str]) -> str:
    name = match["person"] or match["called"]
    return f"{match[0][: len(match[0]) - len(name)]}[person]"


class _Rule(NamedTuple):
    """A cheap question, the pattern to run when the answer is yes, and what stands there then.

    Attributes:
        of_places: Finds hosts and addresses, by which services are called.
    """

    may_hold: Callable[[str], object]
    pattern: re.Pattern[str]
    replace: Callable[[re.Match[str]], str] | str
    of_places: bool = False


def _has(signs: tuple[str, ...], text: str) -> bool:
    return any(sign in text for sign in signs)


def _has_lower(signs: tuple[str, ...], text: str) -> bool:
    return _has(signs, text.lower())


def _counts(sign: str, least: int, text: str) -> bool:
    return text.count(sign) >= least


_RULES = (
    _Rule(partial(_has, _KEY_SIGNS), _KEYS, _replace_key),
    _Rule(partial(_has, ("://",)), _LOGIN, "[login]"),
    _Rule(partial(_has_lower, _SENT_SIGNS), _SENT, _replace_sent),
    _Rule(partial(_has_lower, _ASSIGNED_SIGNS), _ASSIGNED, _replace_assigned),
    _Rule(partial(_has, ("@",)), _EMAIL, _replace_email),
    _Rule(_DIGITS.search, _NUMBERS, _replace_number),
    _Rule(partial(_has_lower, _CALLED_SIGNS), _CALLED, _replace_called),
    _Rule(partial(_counts, ".", 3), _ADDRESS4, _replace_address4, of_places=True),
    _Rule(partial(_counts, ":", 3), _ADDRESS6, _replace_address6, of_places=True),
    _Rule(lambda text: text.count(":") + text.count("-") > 4, _DEVICE, "[address]"),  # noqa: PLR2004
    _Rule(partial(_has, _HOME_SIGNS), _HOME, _replace_home),
    _Rule(partial(_has, _HOST_SIGNS), _HOST, _replace_host, of_places=True),
    _Rule(_LONG.search, _HEX, _replace_hex),
    _Rule(_LONG.search, _TOKEN, _replace_token),
    _Rule(partial(_has, _PERSON_SIGNS), _PERSON, _replace_person),
)
_SERVICE_RULES = tuple(rule for rule in _RULES if not rule.of_places)


def redact(text: str) -> str:
    """The text with secrets and personal data replaced by short labels."""
    return _apply(_RULES, text)


def redact_assigned(text: str) -> str:
    """The text with `MASK` for what it assigns to a password, token or key; nothing else is looked for."""
    return _ASSIGNED.sub(_mask, text)


def _mask(match: re.Match[str]) -> str:
    label = _replace_assigned(match)
    return label.removesuffix(_SECRET) + MASK if label != match[0] else label


def redact_service(text: str) -> str:
    """The same for what operators name: hosts and versions stay, since they tell services apart."""
    return _apply(_SERVICE_RULES, text)


def _apply(rules: tuple[_Rule, ...], text: str) -> str:
    for rule in rules:
        if rule.may_hold(text):
            text = rule.pattern.sub(rule.replace, text)
    return text
