"""Evidence fields of a tool call for the files and network views: what it touched, bounded.

Decided by the tool's name and its arguments, not by words that happen to occur in a text: a tool
that reads a file is a read, whatever the path looks like. Hosts that are not public are folded into
one word; paths keep at most two components; outside the working directory only the place is kept.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whyflame.content.activity import ACTIVITIES, activity_of_command, activity_of_tool
from whyflame.content.vocabulary import GIVEN_NAMES
from whyflame.model import Kind

if TYPE_CHECKING:
    from whyflame.model import Span

__all__ = ["evidence"]

_MAX_CHARS = 400
_EFFECTS = {
    "inspect": "read",
    "search": "read",
    "lookup": "read",
    "edit": "write",
    "create": "write",
    "remove": "write",
    "test": "test",
    "build": "build",
    "install": "install",
    "vcs": "repository",
    "net": "network",
    "run": "process",
    "wait": "process",
}
_SHELL_WORDS = re.compile(r"(?i)bash|shell|terminal|command|exec|powershell")
_FILE_KEY = re.compile(
    r'"(?:file_?path|filePath|path|notebook_path|filename|file_name|target_file|dir(?:ectory)?)"'
    r'\s*:\s*"([^"\\]{1,300})'
)
_COMMAND_KEY = re.compile(r'"(?:command|cmd|script)"\s*:\s*"([^"\\]*(?:\\.[^"\\]*)*)')
_SKILL_KEY = re.compile(r'"(?:skill|skill_name|name|command)"\s*:\s*"([\w:.-]{1,64})"')
_URL = re.compile(r"\bhttps?://(?:[^\s/@\"']*@)?([A-Za-z0-9.-]+)", re.IGNORECASE)
_REMOTE = re.compile(r"\b(?:git@|ssh\s+(?:\S+@)?|\S+@)([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)[:\s]?")
_PATH = re.compile(r"(?<![\w:/.@-])(?:\.{0,2}/|~/)?(?:[\w.-]+/)+[\w.-]+|\b[\w-]+\.[a-z]\w{0,4}\b")
_PRIVATE = re.compile(
    r"^[^.]*$|^\d+(?:\.\d+){3}$|\.(?:internal|corp|local|lan|intranet|intra|private|localdomain|test)$"
)
_OUTSIDE = {
    "tmp": "tmp", "var": "system", "etc": "system", "usr": "system", "opt": "system",
    "proc": "system", "dev": "system", "sys": "system", "bin": "system", "lib": "system",
    "home": "home", "Users": "home", "root": "home",
}  # fmt: skip
_WORKPLACES = frozenset(
    ["workspace", "workspaces", "app", "repo", "src", "code", "testbed", "work"]
)
_PLAIN = re.compile(r"[\w.-]{1,40}")
_DATED = re.compile(r"\d{5,}|[0-9a-fA-F]{12,}")


def evidence(span: Span, *, of_content: bool = True) -> None:
    """Fill `effect`, `path_group`, `domain` and `skill` of a tool span where its dialect did not.

    Args:
        span: Read by its dialect. of_content: Whether its arguments may be looked at; else only
            what the tool's name says is filled in.
    """
    if span.kind is not Kind.TOOL or not span.tool:
        return
    content, tool = span.content, span.tool
    text = (content.arguments or "")[:_MAX_CHARS] if content is not None and of_content else ""
    activity = ACTIVITIES[activity_of_tool(tool)]
    command = ""
    if activity == "run" and text and _SHELL_WORDS.search(tool):
        found = _COMMAND_KEY.search(text)
        command = found[1].replace("\\n", "\n") if found else text
        activity = ACTIVITIES[activity_of_command(command)[0]]
    if span.effect is None:
        span.effect = _EFFECTS.get(activity)
    if span.skill is None and tool.lower() == "skill" and (skill := _SKILL_KEY.search(text)):
        span.skill = skill[1]
    if not text:
        return
    if span.path_group is None and span.effect not in (None, "network"):
        span.path_group = _group_of(text, command)
    if span.domain is None and ("//" in text or "@" in text):
        span.domain = _domain_of(text)


def _group_of(text: str, command: str) -> str | None:
    """Group of the first file touched."""
    if not command and (found := _FILE_KEY.search(text)):
        return path_group(found[1])
    source = command or ("" if text[0] == "{" else text)
    if "/" not in source and "." not in source:
        return None
    for match in _PATH.finditer(_URL.sub(" ", source)):
        if match[0][0] != "/" or match[0].count("/") > 1:
            return path_group(match[0])
    return None


def path_group(path: str) -> str | None:
    """At most two components that say where, none that say who."""
    absolute = path.startswith(("/", "~", "\\")) or path[1:2] == ":"
    parts = [part for part in re.split(r"[/\\]+", path) if part not in ("", ".", "..", "~")]
    if not parts:
        return None
    if absolute:
        if parts[0] in _WORKPLACES and len(parts) > 1:
            parts = parts[1:]
        else:
            place = _OUTSIDE.get(parts[0], "home" if path.startswith("~") else "path")
            return f"external/{place}"
    if len(parts) == 1:
        return "." if _is_plain(parts[0]) else None
    kept = [part if _is_plain(part) else "*" for part in parts[:-1][:2]]
    return "/".join(kept)


def _is_plain(part: str) -> bool:
    return (
        _PLAIN.fullmatch(part) is not None
        and _DATED.search(part) is None
        and part.lower() not in GIVEN_NAMES
    )


def _domain_of(text: str) -> str | None:
    """Registered host of the first address; hosts that are not public become `private`."""
    found = _URL.search(text) or _REMOTE.search(text)
    if found is None:
        return None
    host = found[1].lower().strip(".")
    if host == "localhost" or host.startswith("127."):
        return "localhost"
    if _PRIVATE.search(host):
        return "private"
    return host[:80]
