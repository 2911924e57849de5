"""What a tool call does: a closed set of activities, from the tool's name and its arguments."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["ACTIVITIES", "CODES", "activity_of_command", "activity_of_tool", "command_words"]

ACTIVITIES = (
    "none",
    "inspect",
    "search",
    "edit",
    "create",
    "test",
    "install",
    "build",
    "run",
    "vcs",
    "net",
    "wait",
    "delegate",
    "plan",
    "think",
    "remove",
    "compute",
    "lookup",
    "change",
    "submit",
    "reply",
    "ask",
    "hint",
    "gui",
    "tool",
)
"""Position = code in the features; append only."""

CODES = {name: code for code, name in enumerate(ACTIVITIES)}

_PROGRAMS: dict[str, str] = {
    word: activity
    for activity, words in {
        "inspect": "cat head tail less more ls tree stat file wc xxd hexdump od strings objdump "
        "readelf nm env printenv whoami pwd date uname df du free ps top id which type lsof ss "
        "netstat nvidia-smi lscpu jq ldd sqlite3 exiftool identify ffprobe open goto view bat "
        "md5sum sha256sum hostname diff cmp journalctl nproc lspci mount",
        "search": "grep rg ag ack find fd locate egrep fgrep ripgrep find_file search_file "
        "search_dir",
        "edit": "sed awk patch tee ed perl truncate dos2unix edit chmod chown",
        "create": "touch mkdir ln create cp mv install",
        "test": "pytest tox nose nosetests unittest jest mocha ctest vitest phpunit rspec ruff "
        "mypy eslint flake8 pylint black shellcheck valgrind",
        "install": "pip pip3 npm yarn pnpm apt apt-get conda mamba brew gem apk dnf yum poetry "
        "pipenv uv dpkg rustup opam R cabal",
        "build": "make cmake gcc g++ clang cc ninja bazel gradle mvn rustc javac tsc ld meson "
        "autoconf configure ghc coqc pdflatex latex docker docker-compose podman msbuild",
        "run": "python python3 node bash sh zsh ruby java php deno perl6 lua Rscript timeout nohup "
        "./run go cargo dotnet ocaml ghci julia systemctl service nginx qemu-system-x86_64 gdb "
        "tmux screen expect printf echo source service uvicorn flask openssl time watch",
        "vcs": "git hg svn gh",
        "net": "curl wget ssh scp rsync ping telnet nc ftp sftp nslookup dig tshark nmap",
        "wait": "sleep wait",
        "remove": "rm rmdir kill pkill killall shred unlink",
        "submit": "submit exit_context exit_forfeit",
    }.items()
    for word in words.split()
}
_TEST_RUNS = re.compile(
    r"\b(?:pytest|unittest|runtests|(?:npm|yarn|pnpm|cargo|go|make|mvn|gradle|ctest|dotnet)"
    r"(?: run)? (?:test|check|vet|clippy|verify))\b|\btests?[/_.]|_test\b|\btest_"
)
_BUILD_RUNS = re.compile(r"\b(?:npm run|yarn|pnpm|cargo|go|dotnet|python3? setup\.py) ?build\b")
_INSTALL_RUNS = re.compile(r"-m (?:pip|venv|ensurepip) ?|\b(?:cargo|go|npm|yarn) (?:install|add)\b")
_WRITES = re.compile(r"(?:cat|echo|printf|tee)\b[^|]*?>>?\s*[\w./~$\"']+|<<-?\s*['\"]?\w+")
# Without any of these no pattern of the same name matches; looking for them costs a tenth of it.
_TEST_SIGNS = ("pytest", "unittest", "runtests", "_test", "test/", "test_", "test.", "tests/",
               "tests_", "tests.")  # fmt: skip
_TEST_GOALS = (" test", " check", " vet", " clippy", " verify")
_RUNNERS = ("npm ", "yarn ", "cargo ", "go ", "make ", "mvn ", "gradle ", "ctest ", "dotnet ")
_INSTALL_SIGNS = ("-m ", "install", " add")
_SEPARATOR = re.compile(r"[&;\n|]")
_PARTS = re.compile(r"\s*(?:&&|\|\||;|\n|\|)\s*")
_SKIP_PREFIX = frozenset(
    ["sudo", "env", "time", "nohup", "exec", "then", "do", "if", "for", "(", "{"]
)
_LESSER = frozenset(["cd", "export", "set", "source", ".", "true", "fi", "done", "echo", "printf"])
_SUBCOMMANDS = frozenset(
    ["git", "npm", "yarn", "pnpm", "cargo", "go", "docker", "kubectl", "pip", "pip3", "apt-get",
     "apt", "systemctl", "make", "helm", "terraform", "gh", "uv", "poetry", "conda", "dotnet"]
)  # fmt: skip
_MAX_PARTS = 6
_PRINTERS = frozenset(["cat", "echo", "printf", "tee"])

_TOOL_WORDS: dict[str, str] = {
    word: activity
    for activity, words in {
        "delegate": "task agent subagent delegate spawn handoff transfer",
        "plan": "todo todowrite plan planner update_plan tracker",
        "think": "think thought thinking reason reflect hypothesis reflection",
        "wait": "wait sleep output taskoutput poll bashoutput",
        "remove": "kill delete remove killshell cancel drop destroy",
        "search": "search grep glob find query lookup rag",
        "net": "web fetch webfetch websearch browser browse url http navigate visit scrape crawl "
        "internet",
        "edit": "edit multiedit replace patch fix modify notebookedit str",
        "create": "write create generate insert touch new",
        "inspect": "read view cat ls list show open display inspect describe extract analyze",
        "test": "test tests verify validate check assert lint",
        "build": "build compile",
        "install": "install",
        "vcs": "git commit",
        "compute": "calculate calculator compute math convert count sum eval",
        "lookup": "get details retrieve info status load select",
        "change": "update book exchange return order pay send refund set apply modify add reserve "
        "schedule assign post put close",
        "submit": "submit finish final answer complete",
        "run": "bash shell exec execute run terminal command powershell python code interpreter "
        "ipython sql",
        "gui": "click type press hotkey scroll drag move key mouse double right triple",
    }.items()
    for word in words.split()
}
_FIRST = ("delegate", "plan", "think", "net", "remove")
_SPLIT = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_KNOWN_TOOLS: dict[str, int] = {}
_KNOWN_LIMIT = 4096


def activity_of_tool(tool: str) -> int:
    """Code of the activity a tool's name promises; `tool` when it promises nothing known."""
    code = _KNOWN_TOOLS.get(tool)
    if code is None:
        if len(_KNOWN_TOOLS) >= _KNOWN_LIMIT:
            _KNOWN_TOOLS.clear()
        code = _KNOWN_TOOLS[tool] = _classify_tool(tool)
    return code


def _classify_tool(tool: str) -> int:
    if not tool:
        return CODES["none"]
    words = [word.lower() for word in _SPLIT.findall(tool[-80:])]
    if tool.lower() in _TOOL_WORDS:
        return CODES[_TOOL_WORDS[tool.lower()]]
    found = [_TOOL_WORDS[word] for word in words if word in _TOOL_WORDS]
    for activity in _FIRST:
        if activity in found:
            return CODES[activity]
    return CODES[found[0]] if found else CODES["tool"]


@lru_cache(maxsize=256)
def activity_of_command(command: str) -> tuple[int, tuple[str, ...]]:
    """Activity code of a shell command line and its telling words ("git", "push").

    Cached because evidence and features both ask.
    """
    best: str = ""
    words: tuple[str, ...] = ()
    for part in _parts_of(command):
        tokens = part.split(None, 6)
        while tokens and (tokens[0] in _SKIP_PREFIX or "=" in tokens[0]):
            del tokens[0]
        if not tokens or (tokens[0] in _LESSER and ">" not in part):
            continue
        program = tokens[0].rpartition("/")[2]
        if program == "timeout" and len(tokens) > 2:  # noqa: PLR2004 - "timeout 60 make"
            tokens = tokens[2:]
            program = tokens[0].rpartition("/")[2]
        activity = _PROGRAMS.get(program, "run")
        if program in _PRINTERS and ">" in command and _WRITES.search(command):
            return CODES["create"], command_words(program, tokens)
        if not best or (
            best in ("inspect", "wait", "create") and activity not in ("inspect", "search", "wait")
        ):
            best, words = activity, command_words(program, tokens)
    if not best:
        best = "run" if command.strip() else "none"
    return CODES[_refine(best, command)], words


def _parts_of(command: str) -> list[str]:
    if _SEPARATOR.search(command) is None:
        return [command]
    return _PARTS.split(command, maxsplit=_MAX_PARTS)[:_MAX_PARTS]


def _refine(activity: str, command: str) -> str:
    """Correct the class that the program alone suggests, by how it is called.

    Plain searches first: a pattern that may begin at every word costs ten times as much.
    """
    if activity in ("run", "build", "install", "inspect"):
        if (">" in command or "<<" in command) and _WRITES.search(command):
            return "create"
        if activity != "inspect" and _may_test(command) and _TEST_RUNS.search(command):
            return "test"
        if _has(command, _INSTALL_SIGNS) and _INSTALL_RUNS.search(command):
            return "install"
        if "build" in command and _BUILD_RUNS.search(command):
            return "build"
    return activity


def _may_test(command: str) -> bool:
    return _has(command, _TEST_SIGNS) or (_has(command, _TEST_GOALS) and _has(command, _RUNNERS))


def _has(text: str, signs: tuple[str, ...]) -> bool:
    return any(sign in text for sign in signs)


def command_words(program: str, tokens: list[str]) -> tuple[str, ...]:
    """Program and, for tools with subcommands, the subcommand; only plain words."""
    words = [program] if program.replace("-", "").replace("3", "").isalpha() else []
    if program in _SUBCOMMANDS and len(tokens) > 1 and tokens[1].isalpha():
        words.append(tokens[1])
    return tuple(words)
