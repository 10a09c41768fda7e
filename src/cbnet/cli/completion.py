"""`cbnet completion`: the script with which a shell completes commands, options and files.

A script holds all commands and options, so that a completion starts no Python. It follows the words of the line
through the commands; then a word that starts with a dash is completed as an option, the word after an option with a
value as a file, and any other word as a command, or as a file where no command may follow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import typer

from cbnet.cli.options import argument
from cbnet.errors import InputError

_HELP_OPTION = (("--help", "-h"), "Show this message and exit.")

_BASH = """\
_cbnet() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} at=cbnet commands options valued i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$at ${{COMP_WORDS[i]}}" in
            {paths}) at+=" ${{COMP_WORDS[i]}}" ;;
        esac
    done
    case $at in
{cases}
    esac
    COMPREPLY=()
    if [[ " $valued " == *" $before "* ]]; then
        return
    elif [[ $current == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$current"))
    else
        COMPREPLY=($(compgen -W "$commands" -- "$current"))
    fi
}}
complete -o bashdefault -o default -F _cbnet cbnet
"""

_ZSH = """\
#compdef cbnet
_cbnet() {{
    local at=cbnet word valued
    local -a commands options
    for word in ${{words[2,CURRENT-1]}}; do
        case "$at $word" in
            {paths}) at+=" $word" ;;
        esac
    done
    case $at in
{cases}
    esac
    if [[ " $valued " == *" ${{words[CURRENT-1]}} "* ]]; then
        _files
    elif [[ ${{words[CURRENT]}} == -* ]]; then
        _describe -o option options
    elif (( $#commands )); then
        _describe command commands
    else
        _files
    fi
}}
if [[ $funcstack[1] == _cbnet ]]; then
    _cbnet "$@"
else
    compdef _cbnet cbnet
fi
"""

_FISH = """\
function __cbnet_at
    set -l at cbnet
    for word in (commandline -opc)[2..]
        switch "$at $word"
            case {paths}
                set at "$at $word"
        end
    end
    test "$at" = "$argv"
end
{lines}
"""


def completion(shell: str = argument(..., "bash|zsh|fish")) -> None:
    """Print the completion script of a shell, which completes commands, options and file names.

    To install it, write it where your shell looks for it, and start a new shell:

    - bash: ~/.local/share/bash-completion/completions/cbnet

    - zsh: _cbnet in a folder of $fpath

    - fish: ~/.config/fish/completions/cbnet.fish

    Example: cbnet completion bash > ~/.local/share/bash-completion/completions/cbnet
    """
    from cbnet.cli.app import build_app

    if shell not in SCRIPTS:
        raise InputError(f"no completion for {shell}", hint=f"choose one of {', '.join(SCRIPTS)}")
    typer.echo(SCRIPTS[shell]([*command_tree(typer.main.get_command(build_app(None)), "cbnet")]), nl=False)


class OptionNames(NamedTuple):
    """An option: its names, its help, and whether an argument follows."""

    names: tuple[str, ...]
    help: str
    has_value: bool


class CommandNode(NamedTuple):
    """A command, by its path such as "cbnet bench router", and the commands and options that may follow."""

    path: str
    commands: tuple[tuple[str, str], ...]  # name, help
    options: tuple[OptionNames, ...]


def command_tree(command: Any, path: str) -> Iterator[CommandNode]:
    """Yield a command of the argument parser and all below it, the outer ones first."""
    below: dict[str, Any] = getattr(command, "commands", {})
    options = [
        OptionNames((*each.opts, *each.secondary_opts), _first_sentence(each.help), not (each.is_flag or each.count))
        for each in command.params
        if each.param_type_name == "option"
    ]
    yield CommandNode(
        path,
        tuple((name, _first_sentence(each.help)) for name, each in below.items()),
        (*options, OptionNames(*_HELP_OPTION, has_value=False)),
    )
    for name, each in below.items():
        yield from command_tree(each, f"{path} {name}")


def _first_sentence(text: str | None) -> str:
    """Return the first sentence of a help text, without its full stop."""
    line = " ".join((text or "").split("\n\n")[0].split())
    return re.split(r"(?<=\w)[.;:] ", line)[0].removesuffix(".")


def bash_script(nodes: Sequence[CommandNode]) -> str:
    """Return the script of bash."""
    cases = []
    for node in nodes:
        commands = " ".join(name for name, _ in node.commands)
        options = " ".join(name for option in node.options for name in option.names)
        cases.append(f"        {_quoted(node.path)}) commands='{commands}' options='{options}' {_valued(node)} ;;")
    return _BASH.format(paths=_paths(nodes, "|"), cases="\n".join(cases))


def zsh_script(nodes: Sequence[CommandNode]) -> str:
    """Return the script of zsh, which shows the help of commands and options."""
    cases = []
    for node in nodes:
        commands = " ".join(_quoted(f"{name}:{help}") for name, help in node.commands)
        options = " ".join(_quoted(f"{name}:{option.help}") for option in node.options for name in option.names)
        cases.append(f"        {_quoted(node.path)}) commands=({commands}) options=({options}) {_valued(node)} ;;")
    return _ZSH.format(paths=_paths(nodes, "|"), cases="\n".join(cases))


def fish_script(nodes: Sequence[CommandNode]) -> str:
    """Return the script of fish, which shows the help of commands and options."""
    lines = []
    for node in nodes:
        start = f"complete -c cbnet -n '__cbnet_at {node.path}'"
        lines += [f"{start} -f -a {name} -d {_fish_quoted(help)}" for name, help in node.commands]
        lines += [f"{start} {_fish_option(option)}" for option in node.options]
    return _FISH.format(paths=_paths(nodes, " "), lines="\n".join(lines))


def _paths(nodes: Sequence[CommandNode], separator: str) -> str:
    return separator.join(_quoted(node.path) for node in nodes[1:])


def _valued(node: CommandNode) -> str:
    names = (name for option in node.options if option.has_value for name in option.names)
    return f"valued='{' '.join(names)}'"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _fish_option(option: OptionNames) -> str:
    names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
    return f"{names}{' -r' if option.has_value else ''} -d {_fish_quoted(option.help)}"


SCRIPTS: dict[str, Callable[[Sequence[CommandNode]], str]] = {
    "bash": bash_script,
    "zsh": zsh_script,
    "fish": fish_script,
}
