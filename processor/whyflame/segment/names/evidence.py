"""What the kept words of a span say, read once and kept as numbers, so that arrays can be summed."""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from whyflame.content.features import RECORD_BYTES, decode_words
from whyflame.content.words import plain_words
from whyflame.segment.names.clauses import WEAK_VERBS, ClauseReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from whyflame.segment.names.tables import NameTables

__all__ = [
    "DID", "NOTHING", "PLACES", "PLANNED", "SAID", "TOOL", "TOUCHED", "Evidence", "Lexicon",
]  # fmt: skip

NOTHING = 0
"""Number of the evidence without words, and of the empty word."""
SAID, TOUCHED, DID, TOOL, PLANNED = 0, 4, 6, 7, 8
"""Where a word stands: said first to fourth and later, touched first and later, in a command, in a
tool's name, in a plan item."""
PLACES = 9
_ASKED_WORDS, _SAID_WORDS, _TOUCHED_WORDS, _PLANNED_WORDS = 4, 5, 3, 3
_SAYS_NOTHING = "handle"  # "work on the login test": what the steps do says more
_MEMO_LIMIT = 50_000
_SPLIT = re.compile(r"[A-Z]?[a-z]+")
_Placed = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """All evidence read so far, as arrays by its number.

    Attributes:
        starts, lengths: Where its words lie in `words` and `weights`.
        words, places: Numbers of object words, and where each stands (`SAID` ...).
        said, planned: Verb of what was said, of the plan item; a word's number.
        asked_verb, asked: Verb of what was asked, and the evidence of its words.
    """

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    words: NDArray[np.int64]
    places: NDArray[np.int64]
    said: NDArray[np.int64]
    planned: NDArray[np.int64]
    asked_verb: NDArray[np.int64]
    asked: NDArray[np.int64]


class _Memo(dict[Any, int]):
    """Number of the evidence of a key, worked out where it is missing."""

    def __init__(self, work_out: Callable[[Any], int]) -> None:
        self._work_out = work_out

    def __missing__(self, key: Any) -> int:
        return self._work_out(key)


class Lexicon:
    """Words and evidence met so far; grows, and is replaced by an empty one when it `is_full`.

    Args:
        tables: Verbs, aliases, stop words.
        clauses: Reads kept words.
    """

    def __init__(self, tables: NameTables, clauses: ClauseReader) -> None:
        self.tables = tables
        self.words = [""]
        self._clauses = clauses
        self._numbers = {"": NOTHING}
        self._requests: list[tuple[str, list[str]]] = []
        self._lock = Lock()  # segmenters are called from several threads
        self._ends = array("q")
        self._flat_words, self._flat_places = array("q"), array("q")
        self._verbs = array("q")  # said, planned, asked, number of the asked words' evidence
        self._arrays: Evidence | None = None
        self._tails = _Memo(self._read_tail)
        self._tools = _Memo(self._read_tool)
        self._tails[b""] = self._tools[""] = self._append((), ("", "", ""), NOTHING, ("", []))

    def is_full(self) -> bool:
        """Whether memory is better spent on what comes next."""
        return max(len(self._ends), len(self.words)) >= _MEMO_LIMIT

    def of_features(self, features: Iterable[bytes | None]) -> list[int]:
        """Evidence of spans."""
        tails = self._tails
        return [tails[one[RECORD_BYTES:]] if one else NOTHING for one in features]

    def of_names(self, names: Iterable[str]) -> list[int]:
        """Evidence of the names of tools or agents."""
        return list(map(self._tools.__getitem__, names))

    def request(self, features: bytes) -> tuple[str, list[str]]:
        """Verb and object words of what was asked."""
        return self._requests[self._tails[features[RECORD_BYTES:]]]

    def number(self, word: str) -> int:
        """A word's number."""
        number = self._numbers.get(word)
        if number is None:
            with self._lock:
                number = self._number(word)
        return number

    def arrays(self) -> Evidence:
        """What has been read, as arrays."""
        with self._lock:
            found = self._arrays
            if found is None:
                ends = np.array(self._ends, np.int64)
                starts = np.concatenate([[0], ends[:-1]])
                verbs = np.array(self._verbs, np.int64).reshape(-1, 4).T
                words = np.array(self._flat_words, np.int64)
                places = np.array(self._flat_places, np.int64)
                found = self._arrays = Evidence(
                    starts, ends - starts, words, places, verbs[0], verbs[1], verbs[2], verbs[3]
                )
            return found

    def _number(self, word: str) -> int:
        number = self._numbers.get(word)
        if number is None:
            number = len(self.words)
            self.words.append(word)
            self._numbers[word] = number
        return number

    def _append(
        self,
        words: _Placed,
        verbs: tuple[str, str, str],
        asked: int,
        request: tuple[str, list[str]],
    ) -> int:
        with self._lock:
            self._flat_words.extend([self._number(word) for word, _ in words])
            self._flat_places.extend([place for _, place in words])
            self._verbs.extend([*(self._number(verb) for verb in verbs), asked])
            self._requests.append(request)
            self._ends.append(len(self._flat_words))
            self._arrays = None
            return len(self._ends) - 1

    def _read_tail(self, tail: bytes) -> int:
        said, wanted, did, touched, planned, _ = decode_words(bytes(RECORD_BYTES) + tail)
        clauses = self._clauses
        said_verb, objects = clauses.read(said)
        if any(word in self.tables.verbs for word in said):
            # An English verb: the model has seen it, and more than it.
            said_verb = clauses.telling_verb(said)
        placed = _placed(objects[:_SAID_WORDS], SAID, TOUCHED)
        placed += _placed(clauses.objects(touched)[:_TOUCHED_WORDS], TOUCHED, DID)
        placed += _placed(clauses.objects(did[1:]), DID, TOOL)
        planned_verb, objects = clauses.read(planned)
        placed += _placed(objects[:_PLANNED_WORDS], PLANNED, PLACES)
        verb, objects = clauses.read(wanted)
        asked = NOTHING
        if objects:
            words = _placed(objects[:_ASKED_WORDS], SAID, TOUCHED)
            asked = self._append(words, ("", "", ""), NOTHING, ("", []))
        said_verb, planned_verb = (
            "" if one == _SAYS_NOTHING else one for one in (said_verb, planned_verb)
        )
        verbs = (said_verb, planned_verb, "" if verb in WEAK_VERBS else verb)
        number = self._append(placed, verbs, asked, (verb, objects))
        self._tails[tail] = number
        return number

    def _read_tool(self, tool: str) -> int:
        """Object words in the name of a tool or agent."""
        pieces = plain_words(_SPLIT.findall(tool[-60:]), 4)
        words = _placed(self._clauses.objects(pieces), TOOL, PLANNED)
        number = self._append(words, ("", "", ""), NOTHING, ("", [])) if words else NOTHING
        self._tools[tool] = number
        return number


def _placed(words: Sequence[str], first: int, end: int) -> _Placed:
    """Each word with its place, from `first` up; the last place before `end` is for all others."""
    return tuple((word, min(first + at, end - 1)) for at, word in enumerate(words))
