"""Help pages: flags without a type, and commands in the order of their panels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from cbnet.cli.options import with_options


class _PlainFlags:
    def get_params(self, ctx: Any) -> list[Any]:
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]  # of the command or group
        for parameter in parameters:
            if getattr(parameter, "is_flag", False) and parameter.metavar is None:
                parameter.metavar = ""
        return parameters


class CommandHelp(_PlainFlags, TyperCommand):
    """A command whose help shows no type for flags."""


class GroupHelp(_PlainFlags, TyperGroup):
    """A group of commands whose help shows no type for flags."""


def command_group(help: str, **commands: Callable[..., None]) -> typer.Typer:
    """Return a group of commands by name."""
    group = typer.Typer(help=help, cls=GroupHelp, no_args_is_help=True)
    for name, command in commands.items():
        group.command(name, cls=CommandHelp)(with_options(command))
    return group
