"""The `llm` segmenter: ask, check, ask once more with the fault named, else fall back to `auto`."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyflame.errors import ConfigError, TransientError
from whyflame.segment.auto.segmenter import AutoSegmenter
from whyflame.segment.llm.accounting import OwnWork
from whyflame.segment.llm.budget import Account, LlmCall
from whyflame.segment.llm.client import ChatClient, EndpointError, is_local
from whyflame.segment.llm.evidence import INSTRUCTION, SCHEMA, has_excerpts, packet_of
from whyflame.segment.segmenter import InvalidMarks, Mark, validate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyflame.config import SegmentConfig
    from whyflame.segment.lane import Lane
    from whyflame.segment.segmenter import Segmenter

__all__ = ["LlmSegmenter", "Options"]

_CHARS_PER_TOKEN = 3
_WORD = re.compile(r"[a-z]+")
_CACHE_LIMIT = 10_000


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the segmenter, as in `segment.options`."""

    endpoint: str = "http://127.0.0.1:8080/v1"
    model: str = "local"
    provider: str = ""
    evidence: str = "selective"
    key_file: str = ""
    allow_remote: bool = False
    timeout_seconds: float = 60.0
    tokens_per_hour: int = 1_000_000
    max_answer_tokens: int = 1_000
    concurrency: int = 2
    cache_dir: str = ""

    @staticmethod
    def read(raw: dict[str, Any]) -> Options:
        """Check names and types.

        Raises:
            ConfigError: Unknown option, wrong type, or a remote endpoint that is not allowed.
        """
        known = {name: getattr(_DEFAULTS, name) for name in Options.__slots__}
        for name in raw:
            if name not in known:
                raise ConfigError(f"segment.options: unknown {name!r}; known: {', '.join(known)}")
        try:
            read = {name: _as(type(known[name]), value) for name, value in raw.items()}
        except ValueError as error:
            raise ConfigError(f"segment.options: {error}") from error
        options = Options(**read)
        if options.evidence not in ("full", "selective"):
            raise ConfigError("segment.options.evidence: expected full or selective")
        if not options.allow_remote and not is_local(options.endpoint):
            raise ConfigError(
                f"segment.options.endpoint: {options.endpoint} is not on this machine, and excerpts "
                "of prompts would be sent there; set segment.options.allow_remote to true if that "
                "is meant"
            )
        return options


_DEFAULTS = Options()


def _as(kind: type, value: Any) -> Any:
    if kind is bool and not isinstance(value, bool):
        return str(value).lower() in ("true", "1", "yes")
    return kind(value)


class LlmSegmenter:
    """Marks by a model.

    Args:
        config: See `Options`.

    Attributes:
        outcomes: How lanes were segmented: "model", "cache", or why it was `auto`
            ("no_excerpts", "budget", "endpoint", "invalid").
        account: Budget, and the requests made, to be stored as operations.
        unpaid: Segments without a request; for the operations that `account` becomes.
    """

    name = "llm"

    def __init__(self, config: SegmentConfig) -> None:
        self.options = Options.read(config.options)
        self.outcomes: Counter[str] = Counter()
        self._auto = AutoSegmenter(config)
        self.unpaid: Segmenter = OwnWork()
        self.namer = self._auto.namer
        is_here = is_local(self.options.endpoint)
        self._provider = self.options.provider or ("local" if is_here else "")
        key = Path(self.options.key_file).read_text("utf-8") if self.options.key_file else ""
        self._client = ChatClient(
            self.options.endpoint, self.options.model, key.strip(), self.options.timeout_seconds
        )
        self.account = Account(self.options.tokens_per_hour, time.time_ns)
        # What it costs to ask again does not depend on how the endpoint is reached.
        shown = f"{self.options.model} {self.options.evidence}"
        self.fingerprint = sha256(shown.encode()).hexdigest()
        self._cache = _Cache(Path(self.options.cache_dir) if self.options.cache_dir else None)
        verbs = sorted(set(self.namer.tables.verbs.values()))
        self._instruction = INSTRUCTION.format(verbs=", ".join(verbs))

    def segment(self, lane: Lane) -> Sequence[Mark]:
        """Marks by the model, or by `auto` when that cannot be had."""
        if not lane.steps:
            return []
        if not has_excerpts(lane):
            return self._fall_back(lane, "no_excerpts")
        packet = packet_of(lane, selective=self.options.evidence == "selective")
        key = sha256(f"{self._instruction}\0{self.options.model}\0{packet}".encode()).hexdigest()
        found = self._cache.get(key)
        if found is not None:
            self.outcomes["cache"] += 1
            return found
        try:
            marks = self._ask(lane, packet)
        except _NoBudgetError:
            return self._fall_back(lane, "budget")
        except TransientError:
            return self._fall_back(lane, "endpoint")
        except InvalidMarks:
            return self._fall_back(lane, "invalid")
        self.outcomes["model"] += 1
        self._cache.put(key, marks)
        return marks

    def segment_many(self, lanes: Sequence[Lane]) -> list[Sequence[Mark]]:
        """Several at once, `concurrency` requests at a time."""
        with ThreadPoolExecutor(max(1, self.options.concurrency)) as pool:
            return list(pool.map(self.segment, lanes))

    def _fall_back(self, lane: Lane, reason: str) -> Sequence[Mark]:
        self.outcomes[reason] += 1
        return self._auto.segment(lane)

    def _ask(self, lane: Lane, packet: str) -> list[Mark]:
        """At most two requests: the second tells the model what was wrong.

        Raises:
            _NoBudgetError, TransientError, InvalidMarks: No valid marks.
        """
        messages = [
            {"role": "system", "content": self._instruction},
            {"role": "user", "content": packet},
        ]
        answer = self._request(messages)
        try:
            return self._read(lane, answer)
        except InvalidMarks as error:
            messages += [
                {"role": "assistant", "content": answer},
                {
                    "role": "user",
                    "content": f"That is not valid: {error}. Answer again, JSON only.",
                },
            ]
        return self._read(lane, self._request(messages))

    def _request(self, messages: list[dict[str, str]]) -> str:
        chars = sum(len(message["content"]) for message in messages)
        if not self.account.reserve(chars // _CHARS_PER_TOKEN + self.options.max_answer_tokens):
            raise _NoBudgetError
        key, start = self.account.next_key(), time.time_ns()
        asked = partial(LlmCall, start, key=key, provider=self._provider,
                        request_model=self.options.model)  # fmt: skip
        try:
            answer = self._client.ask(messages, SCHEMA, self.options.max_answer_tokens)
        except EndpointError as error:
            self.account.note(asked(end_ns=time.time_ns(), error=error.kind))
            raise
        self.account.note(
            asked(
                end_ns=time.time_ns(),
                model=answer.model,
                response_id=answer.response_id,
                input_tokens=answer.input_tokens,
                output_tokens=answer.output_tokens,
                cached_tokens=answer.cached_tokens,
                reasoning_tokens=answer.reasoning_tokens,
            )
        )
        return answer.text

    def _read(self, lane: Lane, text: str) -> list[Mark]:
        """Marks of an answer, names canonical, neighbours of equal path joined.

        Raises:
            InvalidMarks: Not JSON of the schema, or against the rules.
        """
        begin, end = text.find("{"), text.rfind("}")
        try:
            raw = json.loads(text[begin : end + 1])["marks"]
            pairs = [(int(mark["turn"]), tuple(map(self._name, mark["path"]))) for mark in raw]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidMarks(f"not JSON of the schema: {error!r}") from error
        marks: list[Mark] = []
        for turn, path in pairs:
            if not marks or marks[-1].path != path:
                marks.append(Mark(turn, path))
        validate(lane, marks, self.namer.tables.is_verb)
        return marks

    def _name(self, name: str) -> str:
        """Lower case, plain words, the table's verb and objects."""
        words = _WORD.findall(name.lower())
        tables = self.namer.tables
        return " ".join(
            (tables.verbs if place == 0 else tables.objects).get(word) or word
            for place, word in enumerate(words)
        )


class _NoBudgetError(Exception):
    """This hour's tokens are spent."""


class _Cache:
    """Marks by hash of all that the model was shown; in memory, and in a folder if there is one."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._memory: dict[str, list[Mark]] = {}
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def get(self, key: str) -> list[Mark] | None:
        found = self._memory.get(key)
        if found is None and self._folder is not None:
            try:
                rows = json.loads((self._folder / f"{key}.json").read_text("utf-8"))
                found = [Mark(step, tuple(path)) for step, path in rows]
            except (OSError, ValueError, TypeError):
                return None
        return found

    def put(self, key: str, marks: list[Mark]) -> None:
        if len(self._memory) >= _CACHE_LIMIT:
            self._memory.clear()
        self._memory[key] = marks
        if self._folder is not None:
            rows = [[mark.step, mark.path] for mark in marks]
            (self._folder / f"{key}.json").write_text(json.dumps(rows), "utf-8")
