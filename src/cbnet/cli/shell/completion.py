"""`cbnet completion`: the script with which a shell completes commands, options and files."""

from __future__ import annotations

from typing import Annotated

import typer

from cbnet.errors import InputError


def completion(shell: Annotated[str, typer.Argument(metavar="bash|zsh|fish", show_default=False)]) -> None:
    """Print the completion script of a shell, which completes commands, options and file names.

    To install it, write it where your shell looks for it, and start a new shell:

    - bash: ~/.local/share/bash-completion/completions/cbnet

    - zsh: _cbnet in a folder of $fpath

    - fish: ~/.config/fish/completions/cbnet.fish

    Example: cbnet completion bash > ~/.local/share/bash-completion/completions/cbnet
    """
    from cbnet.cli.app import build_app
    from cbnet.cli.shell.command_tree import command_tree
    from cbnet.cli.shell.scripts import SCRIPTS

    if shell not in SCRIPTS:
        raise InputError(f"no completion for {shell}", hint=f"choose one of {', '.join(SCRIPTS)}")
    typer.echo(SCRIPTS[shell](command_tree(typer.main.get_command(build_app(None)), "cbnet")), nl=False)
