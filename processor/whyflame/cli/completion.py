"""`whyflame completion`: a script that completes commands, options and choices in a shell.

The script is made from the argparse parser, so that it cannot fall behind the commands, and holds
plain tables: completing starts no Python.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whyflame.cli.target import refuse_target

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["SHELLS", "add_parser", "completion_script", "run"]

SHELLS = ("bash", "zsh", "fish")

_BASH = """\
# Completion of whyflame for bash. Load it: source <(whyflame completion bash)
_whyflame() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
    local command="" word next=""
    for word in "${{COMP_WORDS[@]:1:$((COMP_CWORD-1))}}"; do
        case "$command $word" in
            {commands}) command="${{command:+$command }}$word" ;;
        esac
    done
    case "$command $previous" in
{values}
        *) case "$command" in
{words}
        esac ;;
    esac
    COMPREPLY=()
    for word in $next; do
        [[ $word != "$current"* ]] || COMPREPLY+=("$word")
    done
    # No word of ours fits: a file may. zsh finds files itself.
    [[ -n ${{ZSH_VERSION-}} || ${{#COMPREPLY[@]}} -gt 0 || $current == -* ]] ||
        COMPREPLY=($(compgen -f -- "$current"))
}}
complete -o filenames -o default -F _whyflame whyflame
"""

_ZSH = """\
# Completion of whyflame for zsh. Load it: source <(whyflame completion zsh)
autoload -U +X compinit bashcompinit
(( $+functions[compdef] )) || compinit
bashcompinit
"""


@dataclass(frozen=True, slots=True)
class _Option:
    """An option or positional of a command: its flags, the words it takes, whether it takes any."""

    flags: tuple[str, ...]
    choices: tuple[str, ...]
    takes_value: bool
    help: str


@dataclass(frozen=True, slots=True)
class _Command:
    """A command by its words ("config check"), with what may follow it."""

    words: str
    help: str
    below: tuple[str, ...]
    options: tuple[_Option, ...]


def add_parser(subparsers: Any) -> None:
    """Declare the command."""
    parser = subparsers.add_parser("completion", help="print a script that completes in your shell")
    parser.add_argument("shell", choices=SHELLS)
    refuse_target(parser, "the script is made from the commands alone")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the script of one shell."""
    from whyflame.cli import build_parser

    sys.stdout.write(completion_script(build_parser(), args.shell))
    return 0


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """The script for one of `SHELLS`."""
    commands = list(_walk(parser, "", ""))
    if shell == "fish":
        return _fish(commands)
    return (_ZSH if shell == "zsh" else "") + _bash(commands)


def _walk(parser: argparse.ArgumentParser, words: str, text: str) -> Iterator[_Command]:
    """A command and those below it. argparse has no public way to ask what it was told."""
    below: dict[str, argparse.ArgumentParser] = {}
    helps: dict[str, str] = {}
    options = []
    for action in parser._actions:  # noqa: SLF001
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            below = action.choices
            helps = {str(each.dest): each.help or "" for each in action._choices_actions}  # noqa: SLF001
        elif action.help != argparse.SUPPRESS:
            options.append(_option(action))
    yield _Command(words, text, tuple(below), tuple(options))
    for name, child in below.items():
        yield from _walk(child, f"{words} {name}".strip(), helps.get(name, ""))


def _option(action: argparse.Action) -> _Option:
    flags = tuple(action.option_strings)
    words = action.choices or (_names_for(flags[-1]) if flags else ())
    return _Option(
        flags=flags,
        choices=tuple(str(word) for word in words),
        takes_value=action.nargs != 0,
        help=action.help or "",
    )


def _names_for(flag: str) -> Iterable[str]:
    """What an option takes that the parser leaves open, since a configuration may add to it."""
    from whyflame.fields import FIELDS
    from whyflame.fold.measures import MEASURE_BY_NAME
    from whyflame.fold.views import BUILT_IN_VIEWS
    from whyflame.segment.registry import BUILT_IN

    names: dict[str, Iterable[str]] = {
        **dict.fromkeys(("--by", "--stack", "--labels", "--pair-by"), FIELDS),
        "--view": BUILT_IN_VIEWS,
        "--measure": MEASURE_BY_NAME,
        "--segmenter": BUILT_IN,
    }
    return names.get(flag, ())


def _bash(commands: list[_Command]) -> str:
    known, values, words = [], [], []
    for command in commands:
        known += [f'"{command.words} {name}"' for name in command.below]
        following = [*command.below]
        for option in command.options:
            following += option.flags or option.choices
            choices = " ".join(option.choices)
            values += [
                f'        "{command.words} {flag}") next="{choices}" ;;'
                for flag in (option.flags if option.takes_value else ())
            ]
        words.append(f'            "{command.words}") next="{" ".join(following)}" ;;')
    return _BASH.format(commands="|".join(known), values="\n".join(values), words="\n".join(words))


def _fish(commands: list[_Command]) -> str:
    lines = ["# Completion of whyflame for fish. Load it: whyflame completion fish | source"]
    names = " ".join(commands[0].below)
    for command in commands:
        first, _, second = command.words.partition(" ")
        when = (
            f"__fish_seen_subcommand_from {first}"
            if first
            else f"not __fish_seen_subcommand_from {names}"
        )
        if second:
            when += f"; and __fish_seen_subcommand_from {second}"
        helps = {child.words: child.help for child in commands}
        for name in command.below:
            text = helps[f"{command.words} {name}".strip()]
            lines.append(f"complete -c whyflame -f -n {_quote(when)} -a {name} -d {_quote(text)}")
        lines += [_fish_option(option, when) for option in command.options]
    return "\n".join(lines) + "\n"


def _fish_option(option: _Option, when: str) -> str:
    parts = ["complete -c whyflame", f"-n {_quote(when)}"]
    parts += [f"-l {flag[2:]}" if flag[1] == "-" else f"-s {flag[1:]}" for flag in option.flags]
    if option.flags and option.takes_value:
        parts.append("-r")
    if option.choices:
        parts.append(f"-f -a {_quote(' '.join(option.choices))}")
    return " ".join([*parts, f"-d {_quote(option.help)}"])


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
