"""Help pages: flags without a type, and commands in the order of their panels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from cbnet.cli.options import with_options


class CommandHelp(TyperCommand):
    """A command whose help shows no type for flags."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of the command."""
        return _without_flag_types(super().get_params(ctx))


class GroupHelp(TyperGroup):
    """A group of commands whose help shows no type for flags."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of the group."""
        return _without_flag_types(super().get_params(ctx))


def command_group(help: str, **commands: Callable[..., None]) -> typer.Typer:
    """Return a group of commands by name."""
    group = typer.Typer(help=help, cls=GroupHelp, no_args_is_help=True)
    for name, command in commands.items():
        group.command(name, cls=CommandHelp)(with_options(command))
    return group


def _without_flag_types(parameters: Sequence[Any]) -> list[Any]:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False) and parameter.metavar is None:
            parameter.metavar = ""
    return [*parameters]
