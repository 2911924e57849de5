"""What tells a secret from what only looks like one: commit hashes, versions, ids, code, paths."""

from __future__ import annotations

import re
from ipaddress import ip_address

__all__ = [
    "is_address4",
    "is_address6",
    "is_card",
    "is_harmless_value",
    "is_iban",
    "is_key_like",
    "is_labelled_hash",
    "is_phone",
    "is_random",
]

_CHUNK = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[A-Z]|\d+")
_PIECE = re.compile(r"[A-Za-z0-9]+")
_CHUNK_CHARS = 2.6  # words are longer on average; random letters and digits change kind sooner
_PIECE_CHARS, _KEY_CHARS, _RANDOM_CHARS = 8, 12, 16
_DIGIT = frozenset("0123456789")
_KNOWN = re.compile(r"[0-9a-fA-F]{32,}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_ID = re.compile(
    r"(?:call|chatcmpl|cmpl|toolu|srvtoolu|msg|resp|req|run|step|thread|asst|file|batch|conv|fc|rs|ws"
    r"|trace|span|session|gen|evt|item)[-_]|01[0-9A-HJKMNP-TV-Z]{24}$"
)
_HASH_LABEL = re.compile(
    r"(?i)(?:commits?|revision|rev|sha-?\d*|digest|checksum|md5(?:sum)?|etag|head|tree|blob|parent|merge"
    r"|resolve|snapshots|objects|pack|checkout|reset|show|diff|revert|cherry-pick|trace|span|uuid|guid|hash)(?:[_-]?id)?"
    r"[\"']?[\s:=/@#(\"'`]{1,4}$"
)
_VERSION_LABEL = re.compile(r"(?i)(?:version|ver\.?|release|[=~<>!]=|[a-z]/|@)[\s:=\"']{0,3}$")
_LABEL_CHARS = 24

_UNSAID = frozenset(
    """true false none null nil undefined required missing invalid not the a an wrong incorrect empty
    set your usage count counts limit needed expired valid correct stored used sent read too short
    long weak strong encrypted hashed optional in on from of to being now already generated checked
    passed returned based only never always still see str string int integer bytes any bool boolean
    text object optional self this hidden masked redacted unknown changed""".split()
)
"""Words behind "token is" and "password:" that are no secret."""
_CODE = re.compile(
    r"[\[<*]|\$\{|\$\(|\{\{|%\(|\.\.\.|\$[A-Z][A-Z0-9_]*$|[A-Za-z_][\w.]*\(\)?|Optional\[|list\[|dict\["
    r"|(?:self|this|os|process|settings|config|conf|env|request|req|args|options|opts|ctx)\."
)
_COUNT = re.compile(r"\d{1,5}[.)\]}]*")
_END = ".!?)]}>`"

_CARD_BEGINS = re.compile(
    r"4\d{15}(?:\d{3})?$|5[1-5]\d{14}$|2(?:2[2-9]|[3-6]\d|7[01])\d{13}$|3[47]\d{13}$|3(?:0[0-5]|[68]\d)\d{11}$"
    r"|(?:6011|65\d\d|64[4-9]\d)\d{12}$|62\d{14,17}$|35(?:2[89]|[3-8]\d)\d{12}$|(?:50|5[6-9]|6\d)\d{14,17}$"
)
_DATE = re.compile(r"\+?\d{4}-\d\d-\d\d")
_PHONE_DIGITS = range(7, 16)
_OWN_ADDRESSES = frozenset(["127.0.0.1", "0.0.0.0", "255.255.255.255"])  # noqa: S104 - name nobody
_OCTET = 255
_GROUPS = 3


def is_random(token: str) -> bool:
    """Whether much of a long token changes between letters and digits as only keys do."""
    if _ID.match(token):
        return False
    # What is left of long hexadecimal numbers was found to be no secret before.
    pieces = _PIECE.findall(_KNOWN.sub(" ", token))
    return sum(len(piece) for piece in pieces if _is_mixed(piece)) >= _RANDOM_CHARS


def is_key_like(value: str) -> bool:
    """The same for what stands behind a prefix of keys: one long piece with a digit is enough."""
    pieces = [piece for piece in _PIECE.findall(value) if len(piece) >= _KEY_CHARS]
    return any(_is_mixed(piece) or not _DIGIT.isdisjoint(piece) for piece in pieces)


def _is_mixed(piece: str) -> bool:
    if len(piece) < _PIECE_CHARS or piece.isdecimal():
        return False
    return len(piece) / len(_CHUNK.findall(piece)) < _CHUNK_CHARS


def is_labelled_hash(text: str, begin: int) -> bool:
    """Whether the word before a hexadecimal number says that it names a version or a trace."""
    return _HASH_LABEL.search(text[max(0, begin - _LABEL_CHARS) : begin]) is not None


def is_harmless_value(word: str, value: str) -> bool:
    """Whether what is assigned to a secret's name is no secret: a type, a call, a count, a sentence.

    Args:
        word: What it is assigned to. value: Without quotes.
    """
    plain = value.lower().strip(_END)
    if plain in _UNSAID or plain == word.lower() or _CODE.match(value):
        return True
    return word.lower() == "token" and _COUNT.fullmatch(value) is not None


def is_card(text: str) -> bool:
    """An issuer's number with the right length and check digit: order numbers and times stay."""
    plain = "".join(filter(str.isdecimal, text))
    if not plain.isascii() or _CARD_BEGINS.match(plain) is None:
        return False
    digits = [int(character) for character in plain]
    doubled = (d * 2 - 9 if d > 4 else d * 2 for d in digits[-2::-2])  # noqa: PLR2004
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def is_iban(text: str) -> bool:
    """The check digits of an account number are right."""
    plain = text.replace(" ", "")
    moved = plain[4:] + plain[:4]
    return plain.isascii() and int("".join(str(int(char, 36)) for char in moved)) % 97 == 1


def is_phone(text: str) -> bool:
    """As many digits as a number has, and no date."""
    return sum(map(str.isdecimal, text)) in _PHONE_DIGITS and _DATE.match(text) is None


def is_address4(text: str, address: str, begin: int) -> bool:
    """Four numbers that are not called a version."""
    if address in _OWN_ADDRESSES or any(int(part) > _OCTET for part in address.split(".")):
        return False
    return _VERSION_LABEL.search(text[max(0, begin - _LABEL_CHARS) : begin]) is None


def is_address6(text: str) -> bool:
    """An address, and not two names of code with colons between them."""
    if sum(map(bool, text.split(":"))) < _GROUPS or not any(map(str.isdecimal, text)):
        return False
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
