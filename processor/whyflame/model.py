"""The records that cross the stages, field by field.

`Span` is what arrives: one OTLP span or log event after its dialect has read it; it never changes.
`Operation` is what settling finds about it: session, run, lane, step, whether and as what it counts.
Unknown is None, never 0. Times are nanoseconds since the epoch; tokens are counts; cost is nano-USD.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from whyflame.fields import TOKEN_PARTS

__all__ = [
    "DUBIOUS_REASONS",
    "MEASURES",
    "Content",
    "Kind",
    "Operation",
    "Span",
    "Status",
]


class Kind(StrEnum):
    """What an operation is. Only LLM and EMBED carry tokens."""

    LLM = "llm"
    EMBED = "embed"
    TOOL = "tool"
    AGENT = "agent"  # an agent run, workflow or chain that frames work; structure, not work
    CONTROL = "control"  # hand-off, final answer: changes who works, does nothing itself
    PROMPT = "prompt"
    FILE = "file"
    NETWORK = "network"
    PROCESS = "process"
    OTHER = "other"  # not agent work, or a wrapper that adds nothing


class Status(StrEnum):
    """Outcome of one span, after errors hidden behind status OK were found."""

    UNSET = "unset"
    OK = "ok"
    ERROR = "error"


MEASURES = (
    *TOKEN_PARTS,
    "cost_nanousd",
    "wall_ns",
    "self_ns",
    "operations",
    "errors",
    "input_bytes",
    "output_bytes",
)
"""Additive integer measures of an operation."""

DUBIOUS_REASONS = (
    "time_missing",
    "time_reversed",
    "time_absurd",
    "id_missing",
    "number_negative",
    "number_not_finite",
    "number_too_large",
    "number_boolean",
    "number_not_numeric",
    "text_too_long",
    "too_many_entries",
    "too_many_attributes",
)
"""Why a value of an accepted span was set to NULL, or cut; closed set, counted in metrics and coverage."""


@dataclass(slots=True)
class Content:
    """Text seen on one span, cut to bounds while indexing, turned into features and forgotten.

    Attributes:
        prompt: Newest real user message of a model call, or the request of an agent (<= 400 chars).
        response: What the model said or thought (<= 200 chars).
        arguments: Tool arguments (<= 200 chars).
        result: Tool result or error text (<= 200 chars).
        prompt_bytes: Full UTF-8 length before cutting, where known; likewise the other three.
        user_messages: How many user messages the model call's input held; None when unseen.
        prompt_sha256: Hash of the whole newest user message, hex; a change opens a turn.
        plan: Items of a plan or todo call in order, each (text, status).
    """

    prompt: str | None = None
    response: str | None = None
    arguments: str | None = None
    result: str | None = None
    prompt_bytes: int | None = None
    response_bytes: int | None = None
    arguments_bytes: int | None = None
    result_bytes: int | None = None
    user_messages: int | None = None
    prompt_sha256: str | None = None
    plan: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Span:
    """One received span or log event, read by its dialect.

    Attributes:
        tenant: Who sent it; "" when tenancy is off.
        signal: "span" or "log" (a log event that stands for an operation).
        trace_id: 16 bytes; for log events without one, derived from session and event.
        span_id: 8 bytes; for log events derived from their content, so that repeats collapse.
        parent_id: 8 bytes or None.
        links: (trace id, span id) pairs of span links.
        start_ns: None when missing or impossible; likewise `end_ns`.
        name: Span name as sent.
        kind: See `Kind`; decided by the dialect from this span alone.
        dialect: Name of the dialect that read it.
        scope: Instrumentation scope name; `scope_version` its version.
        service: `service.name`; `service_version`, `environment` (deployment), `instance`
            (service.instance.id, else host + pid), `host` likewise from the resource.
        session: Explicit session id on the span itself, best key first (dialects.md, Session).
        conversation: Weaker conversation id (gen_ai.conversation.id, thread id) when it is another
            value or the only one.
        user: User id as sent; hashed before it is stored.
        agent: Agent name this span declares; `agent_id` the instance's id when there is one.
        model: Response model, else request model; `request_model` as asked.
        provider: Normalised, lower case.
        tool: Tool name; `call_id` the id of the tool call it carries out.
        asked: Tool-call ids the model call asked for, in order.
        response_id: Provider's response id (a join key, never a session).
        answered: A response was seen (id, finish reason, output): separates a call from a stub.
        wire: 0 = framework's view .. 9 = the provider SDK's own span; numbers come from the
            highest.
        remote: An `invoke_agent` of span kind CLIENT: an agent we may not see inside.
        status, error_type: After hidden errors were found.
        outcome: Explicit outcome or evaluation result carried by the span ("success", "failure").
        input_uncached .. reasoning: Disjoint token parts, None = not reported.
        cost_nanousd: The producer's figure for this call.
        claimed_input, claimed_output: Inclusive totals an agent or wrapper reports; never counted.
        usage_semantics: How the parts were derived ("inclusive", "exclusive", ...).
        resends: HTTP re-sends hidden inside the call.
        skill, path_group, domain, effect: Evidence fields for the files and network views.
        content: Text, present only between dialect and feature extraction.
        features: Encoded features (see `whyflame.content.features`), None when mode is none.
        extra: Promoted attributes and what the coverage report needs, small strings only.
        dubious: Reasons (DUBIOUS_REASONS) for values set to None.
        attributes_count: How many attributes arrived; a richer repeat supersedes a poorer one.
        received_ns: Receipt time of the request.
    """

    tenant: str
    signal: str
    trace_id: bytes
    span_id: bytes
    parent_id: bytes | None
    start_ns: int | None
    end_ns: int | None
    name: str
    kind: Kind
    dialect: str
    scope: str = ""
    scope_version: str = ""
    service: str = ""
    service_version: str | None = None
    environment: str | None = None
    instance: str | None = None
    host: str | None = None
    links: tuple[tuple[bytes, bytes], ...] = ()
    session: str | None = None
    conversation: str | None = None
    user: str | None = None
    agent: str | None = None
    agent_id: str | None = None
    model: str | None = None
    request_model: str | None = None
    provider: str | None = None
    tool: str | None = None
    call_id: str | None = None
    asked: tuple[str, ...] = ()
    response_id: str | None = None
    answered: bool = False
    wire: int = 0
    remote: bool = False
    status: Status = Status.UNSET
    error_type: str | None = None
    outcome: str | None = None
    input_uncached: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    output_visible: int | None = None
    reasoning: int | None = None
    cost_nanousd: int | None = None
    claimed_input: int | None = None
    claimed_output: int | None = None
    usage_semantics: str | None = None
    resends: int | None = None
    skill: str | None = None
    path_group: str | None = None
    domain: str | None = None
    effect: str | None = None
    content: Content | None = None
    features: bytes | None = None
    extra: dict[str, str] = field(default_factory=dict)
    dubious: tuple[str, ...] = ()
    attributes_count: int = 0
    received_ns: int = 0
    span_key: int = 0  # arrival-ordered row id, given by the indexer
    trace_key: int = 0  # arrival-ordered id of (tenant, trace id), given by the indexer

    @property
    def has_usage(self) -> bool:
        """True when any token part was reported."""
        return (
            self.input_uncached is not None
            or self.output_visible is not None
            or self.cache_read is not None
            or self.cache_write is not None
            or self.reasoning is not None
        )


@dataclass(slots=True)
class Operation:
    """A span as settled: what it belongs to and what it counts as.

    `Operation`s of one run are ordered by (`lane`, `seq`). Fields that settling may take from
    another view of the same call (agent, model, measures) stand here; the span keeps its own.

    Attributes:
        session: Resolved session id; "trace:<hex>" when nothing carries one.
        session_known: False for that fall-back.
        run: Ordinal of the run inside the session, 0-based.
        lane: "main", or the hex id of the span that opened the lane; "main:<n>" when a run has
            several independent roots working in parallel.
        lane_parent, lane_parent_step: Where the lane hangs; None for the main lane.
        turn: 0-based turn inside the run. step: 0-based step inside the lane; None outside steps.
        seq: Order inside the lane.
        counted: Whether its measures are in the totals. why: Bounded reason when not
            ("wrapper", "same_call", "mirror", "repeated", "not_agent_work", "no_response", ...).
        same_as: Span key of the counted view of the same call.
        operations: 1 for a counted model call, embedding or tool call; else 0 (structure).
        errors: 1 when counted as an operation and failed.
        leaf: Evidence frame ("call gpt-5", "run bash"); None for structure.
        self_ns: Self time among counted operations; parallel children share.
        outcome: Of the run.
    """

    span: Span
    session: str = ""
    session_known: bool = False
    run: int = 0
    lane: str = "main"
    lane_parent: str | None = None
    lane_parent_step: int | None = None
    turn: int = 0
    step: int | None = None
    seq: int = 0
    kind: Kind = Kind.OTHER
    counted: bool = False
    why: str | None = None
    same_as: int | None = None
    agent: str | None = None
    model: str | None = None
    provider: str | None = None
    tool: str | None = None
    user: str | None = None
    skill: str | None = None
    status: Status = Status.UNSET
    error_type: str | None = None
    outcome: str | None = None
    leaf: str | None = None
    input_uncached: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    output_visible: int | None = None
    reasoning: int | None = None
    cost_nanousd: int | None = None
    wall_ns: int | None = None
    self_ns: int | None = None
    operations: int = 0
    errors: int = 0
    input_bytes: int | None = None
    output_bytes: int | None = None
    root: str | None = None  # the run's goal, named by the segmenter
    path: tuple[str, ...] = ()  # semantic path, outermost first

    @property
    def has_usage(self) -> bool:
        """True when any token part, or a total that cannot be taken apart, is known."""
        return "unsplit_total" in self.span.extra or any(
            value is not None
            for value in (
                self.input_uncached,
                self.cache_read,
                self.cache_write,
                self.output_visible,
                self.reasoning,
            )
        )
