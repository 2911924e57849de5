"""What the coverage report means for a user: findings, each with the setting that mends it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Finding", "advise"]

SESSION_ADVICE = (
    "put one id on every span of a conversation: `with whyflame.client.session('id'):` does it for "
    "any instrumentation"
)
CONTENT_ADVICE = {
    "genai": "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY; on spans of your "
    "own, the attribute gen_ai.input.messages",
    "openinference": "unset OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS",
    "openllmetry": "set TRACELOOP_TRACE_CONTENT=true",
    "langfuse": "remove the mask function of the Langfuse client",
    "langsmith": "unset LANGSMITH_HIDE_INPUTS and LANGSMITH_HIDE_OUTPUTS",
    "claude_code": "set OTEL_LOG_USER_PROMPTS=1 and OTEL_LOG_TOOL_DETAILS=1",
    "gemini_cli": "set telemetry.logPrompts to true",
    "qwen_code": "set telemetry.logPrompts to true",
    "codex": "set otel.log_user_prompt = true",
    "ai_sdk": "leave recordInputs and recordOutputs on in experimental_telemetry",
}
DEFAULT_CONTENT_ADVICE = "switch content capture of this instrumentation on"
USAGE_ADVICE = {
    "langsmith": "LANGSMITH_HIDE_* removes token counts too; and stream with "
    "stream_options.include_usage",
}
DEFAULT_USAGE_ADVICE = (
    "when streaming from an OpenAI-compatible API, ask for usage: "
    "stream_options={'include_usage': True} (LangChain: stream_usage=True)"
)
REPORT_ADVICE = "report it to the instrumentation's maintainers"
# What a history tells of a call in progress has no end yet, and that is nobody's fault.
UNENDED_ADVICE = (
    f"import a history again that was still being written; where none was, {REPORT_ADVICE}"
)
# Below this share a finding is noise of failed calls, not a setting.
WORTH_SAYING = 0.05


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing the telemetry does not say.

    Attributes:
        who: Producer, or "" for the whole store. what: The finding, with figures.
        mend: What to change, where.
    """

    who: str
    what: str
    mend: str


def advise(coverage: Mapping[str, Any]) -> list[Finding]:
    """Findings of a coverage report, the costliest first."""
    findings = [
        finding for producer in coverage["by_dialect"] for finding in _about_producer(producer)
    ]
    findings += _about_store(coverage)
    return findings


def _about_producer(producer: Mapping[str, Any]) -> list[Finding]:
    dialect = producer["dialect"]
    who = f"{producer['scope'] or dialect} {producer['version'] or ''}".strip()
    calls, found = producer["llm_calls"], []
    if not calls:
        return []
    if _worth(producer["calls_without_usage"], calls):
        found.append(
            Finding(
                who,
                f"{producer['calls_without_usage']:,} of {calls:,} calls report no tokens",
                USAGE_ADVICE.get(dialect, DEFAULT_USAGE_ADVICE),
            )
        )
    if _worth(producer["without_session"], producer["operations"]):
        found.append(
            Finding(
                who,
                f"{producer['without_session']:,} of {producer['operations']:,} operations belong "
                "to no known session",
                SESSION_ADVICE,
            )
        )
    if _worth(producer["calls_without_text"], calls):
        found.append(
            Finding(
                who,
                f"{producer['calls_without_text']:,} of {calls:,} calls carry no text; tasks are "
                "found from structure and tools alone, and their names are coarser",
                CONTENT_ADVICE.get(dialect, DEFAULT_CONTENT_ADVICE),
            )
        )
    return found


def _about_store(coverage: Mapping[str, Any]) -> list[Finding]:
    found = []
    if coverage["unpriced_calls"]:
        found.append(
            Finding(
                "",
                f"{coverage['unpriced_calls']:,} calls have tokens but no known price",
                "give prices for these models: `prices.file` in the configuration",
            )
        )
    claimed = coverage["claimed_by_agents_not_counted"]
    if claimed["spans"]:
        tokens = (claimed["input_tokens"] or 0) + (claimed["output_tokens"] or 0)
        found.append(
            Finding(
                "",
                f"{claimed['spans']:,} agent and wrapper spans claim {tokens:,} tokens of their own",
                "nothing to mend: they repeat calls below them and are not counted",
            )
        )
    if coverage["orphan_spans"]:
        found.append(
            Finding(
                "",
                f"{coverage['orphan_spans']:,} spans name a parent that never came",
                "flush at exit (provider.shutdown()), raise OTEL_BSP_MAX_QUEUE_SIZE, and sample "
                "whole traces only",
            )
        )
    for reason, number in coverage["bad_values"].items():
        found.append(
            Finding(
                "",
                f"impossible values, counted as unknown: {number:,} ({reason.replace('_', ' ')})",
                UNENDED_ADVICE if reason == "time_missing" else REPORT_ADVICE,
            )
        )
    return found


def _worth(part: int, whole: int) -> bool:
    return bool(whole) and part / whole >= WORTH_SAYING
