"""Whether silence about a token part means none or unknown.

The shared vocabularies leave a part out when it is zero: a store that has seen cache writes through
OpenInference knows that another OpenInference call, with usage and without cache writes, wrote
none. Where no call of the vocabulary ever reported the part, or the call does not report what the
part is a part of, it stays unknown. Input and output themselves are never left out for being zero:
without them the figure is missing, or was impossible; only embeddings have no output. Producers
with a model of their own leave out what they do not know, so their silence always means unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyflame.fields import TOKEN_PARTS

if TYPE_CHECKING:
    from whyflame.fold.where import Fragment
    from whyflame.store.readable import Cursor, Readable

__all__ = ["Reported", "find_reported"]

LEAVES_OUT_ZERO = (
    "anthropic_sdk",
    "bedrock",
    "genai",
    "langfuse",
    "langsmith",
    "openinference",
    "openllmetry",
)

_EMBEDDED = "kind = {embed} AND input_uncached IS NOT NULL"
_MEANS_NONE = {
    "cache_read": "input_uncached IS NOT NULL",
    "cache_write": "input_uncached IS NOT NULL",
    "output_visible": _EMBEDDED,
    "reasoning": f"output_visible IS NOT NULL OR {_EMBEDDED}",
}
"""Where silence about a part can mean none; the parts that are not here are never left out."""


@dataclass(frozen=True, slots=True)
class Reported:
    """What a tenant's telemetry reports at all.

    Attributes:
        parts: SQL of every token part over `operations`, silence read as 0 where it means that.
        shows_calls: SQL that is true for rows of vocabularies whose calls report their input: where
            such rows hold no call, none was made.
    """

    parts: dict[str, str]
    shows_calls: str


def find_reported(store: Readable, cursor: Cursor, tenant: Fragment) -> Reported:
    """Look at what is reported, once a question.

    Args:
        store: The open store. cursor: Of the asking thread.
        tenant: Condition on the tenant, without `WHERE`: what others report says nothing.
    """
    seen = ", ".join(f"count({part})" for part in TOKEN_PARTS)
    dialects: dict[str, list[int]] = {part: [] for part in TOKEN_PARTS}
    codes = {store.strings.find(name) for name in LEAVES_OUT_ZERO}
    for dialect, *reported in cursor.execute(
        f"SELECT dialect, {seen} FROM operations WHERE {tenant.sql} GROUP BY dialect ORDER BY 1",
        list(tenant.params),
    ).fetchall():
        code = -1 if dialect is None else int(dialect)
        if code in codes:
            for part, found in zip(TOKEN_PARTS, reported, strict=True):
                if found:
                    dialects[part].append(code)
    embed = store.strings.find("embed")
    parts = {
        part: _filled(part, dialects[part], -1 if embed is None else embed) for part in TOKEN_PARTS
    }
    showing = ", ".join(str(code) for code in dialects["input_uncached"])
    return Reported(parts, f"dialect IN ({showing})" if showing else "FALSE")


def _filled(part: str, dialects: list[int], embed: int) -> str:
    if part not in _MEANS_NONE or not dialects:
        return part
    among = ", ".join(str(code) for code in dialects)
    means_none = _MEANS_NONE[part].format(embed=embed)
    return f"coalesce({part}, CASE WHEN dialect IN ({among}) AND ({means_none}) THEN 0 END)"
