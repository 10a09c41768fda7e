"""All commands and options, as the argument parser has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_HELP_OPTION = (("--help", "-h"), "Show this message and exit.")


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


def command_tree(command: Any, path: str) -> list[CommandNode]:
    """Return a command of the argument parser and all below it, the outer ones first."""
    return [*_nodes(command, path)]


def _nodes(command: Any, path: str) -> Iterator[CommandNode]:
    below: dict[str, Any] = getattr(command, "commands", {})
    options = [_option(each) for each in command.params if each.param_type_name == "option"]
    yield CommandNode(
        path,
        tuple((name, _first_sentence(each.help)) for name, each in below.items()),
        (*options, OptionNames(*_HELP_OPTION, has_value=False)),
    )
    for name, each in below.items():
        yield from _nodes(each, f"{path} {name}")


def _option(option: Any) -> OptionNames:
    names = (*option.opts, *option.secondary_opts)
    return OptionNames(names, _first_sentence(option.help), not (option.is_flag or option.count))


def _first_sentence(text: str | None) -> str:
    """Return the first sentence of a help text, without its full stop."""
    line = " ".join((text or "").split("\n\n")[0].split())
    return re.split(r"(?<=\w)[.;:] ", line)[0].removesuffix(".")
