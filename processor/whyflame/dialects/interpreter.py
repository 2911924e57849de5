"""Applies dialects: finds the plan of a shape once, reads what it asks for from each span."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from whyflame.dialects.compile import Plan, compile_plan
from whyflame.dialects.content import PROMPT_LIMIT, fill_content
from whyflame.dialects.evaluation import read_outcome
from whyflame.dialects.indexed import IndexedKeys, plan_messages
from whyflame.dialects.names import normal_model, normal_provider
from whyflame.dialects.registry import Registry
from whyflame.dialects.resource import Origin, promote, read_origin
from whyflame.dialects.settings import DialectSettings
from whyflame.dialects.usage import Usage, fill_parts
from whyflame.dialects.values import (
    MAX_COUNT,
    is_int,
    known_text,
    read_any,
    read_count,
    read_int,
    read_once,
    read_text,
)
from whyflame.model import Content, Kind, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whyflame.dialects.dialect import Dialect
    from whyflame.dialects.reading import Reading
    from whyflame.model import Span

__all__ = ["Interpreter"]

_SHAPES_LIMIT = 8192
_LONG_SHAPE = 48
_INDEXED_PREFIXES = (
    "llm.input_messages.",
    "llm.output_messages.",
    "llm.tools.",
    "llm.prompts.",
    "llm.request.functions.",
    "gen_ai.prompt.",
    "gen_ai.completion.",
    "gen_ai.input.messages.",
    "gen_ai.output.messages.",
    "retrieval.documents.",
    "embedding.embeddings.",
)
TASK = "whyflame.task"
"""What `whyflame.client.session(..., task=...)` puts on spans."""
_PAID = (Kind.LLM, Kind.EMBED)


class Interpreter:
    """Interprets spans with one set of dialects and settings; keeps a plan per shape."""

    def __init__(
        self, settings: DialectSettings | None = None, registry: Registry | None = None
    ) -> None:
        self.settings = settings or DialectSettings()
        self.registry = registry or Registry.with_entry_points()
        self._plans: dict[tuple[str, str, tuple[str, ...]], Plan] = {}

    def origin(self, attributes: Mapping[str, bytes]) -> Origin:
        """What the resource says about all its spans."""
        return read_origin(dict(attributes.items()), self.settings.resource_fields)

    def bounded(self, attributes: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """The attributes of a span that has too many: as many as allowed, without messages."""
        wanted = (key for key in attributes if not key.startswith(_INDEXED_PREFIXES))
        return {key: attributes[key] for key in islice(wanted, self.settings.max_attributes)}

    def interpret(self, span: Span, reading: Reading, origin: Origin) -> None:
        """Applies the plan of the span's shape: kind, fields, usage, last word, content."""
        plan, indexed = self._plan(reading)
        span.kind = _kind(plan, reading)
        self._apply(plan, indexed, span, reading, origin)

    def interpret_event(
        self, span: Span, reading: Reading, origin: Origin, dialect: Dialect
    ) -> None:
        """The same for a log event, whose name says what it stands for."""
        plan = compile_plan(dialect, reading.scope, frozenset(reading.attributes))
        span.kind = dialect.events[reading.name]
        self._apply(plan, plan.indexed, span, reading, origin)

    def _apply(
        self,
        plan: Plan,
        indexed: IndexedKeys | None,
        span: Span,
        reading: Reading,
        origin: Origin,
    ) -> None:
        attributes = reading.attributes
        span.dialect, span.wire = plan.dialect, plan.wire
        _read_fields(span, attributes, plan)
        span.answered = plan.answered or (
            indexed is not None and bool(indexed.response or indexed.calls)
        )
        if plan.resends:
            _read_resends(span, attributes, plan.resends)
        for finish in plan.finish:
            finish(reading, span)
        if plan.usage or plan.read_usage:
            _read_usage(span, reading, plan)
        _settle_names(span, origin)
        if self.settings.outcome_keys or span.outcome is not None or reading.events:
            span.outcome = read_outcome(reading, span.outcome, self.settings.outcome_keys)
        if self.settings.span_fields or origin.promoted:
            span.extra.update(origin.promoted)
            span.extra.update(promote(attributes, self.settings.span_fields))
        if self.settings.read_content:
            _fill_content(span, reading, plan, indexed)

    def _plan(self, reading: Reading) -> tuple[Plan, IndexedKeys | None]:
        keys = tuple(reading.attributes)
        if len(keys) <= _LONG_SHAPE:
            plan = self._cached_plan(reading, keys)
            return plan, plan.indexed
        # A long conversation has a shape of its own in every call: only its plain keys repeat.
        plain = tuple(key for key in keys if not key.startswith(_INDEXED_PREFIXES))
        plan = self._cached_plan(reading, plain)
        return plan, plan_messages(plan.messages, keys) if plan.messages else None

    def _cached_plan(self, reading: Reading, keys: tuple[str, ...]) -> Plan:
        shape = (reading.scope, reading.scope_version, keys)
        plan = self._plans.get(shape)
        if plan is None:
            known = frozenset(keys)
            dialect = self.registry.find(reading.scope, known)
            plan = compile_plan(dialect, reading.scope, known)
            if len(self._plans) >= _SHAPES_LIMIT:
                self._plans.clear()
            self._plans[shape] = plan
        return plan


def _kind(plan: Plan, reading: Reading) -> Kind:
    for key, table in plan.kinds:
        value = reading.name if not key else read_text(reading.attributes[key])
        kind = table.get(value) if value else None
        if kind is not None:
            return kind
    return Kind.OTHER


def _fill_content(span: Span, reading: Reading, plan: Plan, indexed: IndexedKeys | None) -> None:
    """Texts of the span; what the application says a session is for is the request of its roots."""
    if plan.content or indexed:
        fill_content(span, reading.attributes, plan.content, indexed)
    task = reading.text(TASK) if TASK in reading.attributes else None
    if task and (span.parent_id is None or span.kind is Kind.AGENT):
        span.content = span.content or Content()
        span.content.prompt = task[:PROMPT_LIMIT]


def _read_fields(span: Span, attributes: Mapping[str, bytes], plan: Plan) -> None:
    for name, keys in plan.fields:
        for key in keys:
            raw = attributes[key]
            # Asked here because it saves a call for most fields of a span.
            text = known_text(raw) or read_text(raw)
            if text is not None:
                setattr(span, name, text)
                break
    for name, keys in plan.ids:
        for key in keys:
            # Not looked for among the texts that come again, nor left there.
            text = read_once(attributes[key])
            if text is not None:
                setattr(span, name, text)
                break


def _read_resends(span: Span, attributes: Mapping[str, bytes], keys: tuple[str, ...]) -> None:
    for key in keys:
        count = read_count(read_any(attributes[key]))
        if isinstance(count, int):
            span.resends = count
            return


def _read_usage(span: Span, reading: Reading, plan: Plan) -> None:
    """Figures of calls become measures; those of agents and wrappers are claims, never counted."""
    usage = Usage(cache_outside=plan.cache_outside, reasoning_outside=plan.reasoning_outside)
    for read in plan.read_usage:
        read(reading, usage)
    if not usage.final:
        _read_table(usage, reading.attributes, plan.usage)
    if span.kind in _PAID or span.remote:
        fill_parts(usage, span)
    if span.kind not in _PAID:
        span.claimed_input, span.claimed_output = usage.input, usage.output
    if span.cost_nanousd == 0 and span.status is Status.ERROR:
        span.cost_nanousd = None  # a failed call of zero cost: nobody priced it


def _read_table(
    usage: Usage, attributes: Mapping[str, bytes], table: tuple[tuple[str, tuple[str, ...]], ...]
) -> None:
    for part, keys in table:
        if getattr(usage, part) is not None:
            continue
        for key in keys:
            raw = attributes[key]
            # Almost every figure is a plain integer: no need for the general way.
            if part != "cost" and is_int(raw) and 0 <= (number := read_int(raw)) <= MAX_COUNT:
                setattr(usage, part, number)
                break
            if usage.take(part, read_any(raw)):
                break


def _settle_names(span: Span, origin: Origin) -> None:
    span.model = normal_model(span.model)
    span.provider = normal_provider(span.provider)
    if span.request_model is None:
        span.request_model = span.model
    if span.session is None and origin.session is not None:
        span.extra["resource_session"] = origin.session
    if span.error_type is not None and span.status is not Status.ERROR:
        span.status = Status.ERROR
