"""The `cbnet` command: its subcommands, and how each one ends.

Exit codes: 0 done (also when the answer is no), 1 failed, 2 bad input (also when the rest was processed).
"""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Annotated, Any

import typer

from cbnet.cli.bench.bench import bench
from cbnet.cli.command_help import CommandHelp, GroupHelp
from cbnet.cli.console import print_error
from cbnet.cli.demo.demo import demo
from cbnet.cli.lab.lab import lab
from cbnet.cli.network.gateway import gateway
from cbnet.cli.network.health import health
from cbnet.cli.network.offer import offer
from cbnet.cli.network.pub import pub
from cbnet.cli.network.request import request
from cbnet.cli.network.router import router
from cbnet.cli.network.sub import sub
from cbnet.cli.network.token import token
from cbnet.cli.network.top import top
from cbnet.cli.network.trace import trace
from cbnet.cli.network.up import up
from cbnet.cli.options import MOVED_COMMANDS, RENAMED_OPTIONS
from cbnet.cli.pipeline.pipeline import pipeline
from cbnet.cli.pipeline.spark import spark
from cbnet.cli.predicates.check import check
from cbnet.cli.predicates.compile import compile
from cbnet.cli.predicates.covers import covers
from cbnet.cli.predicates.inspect import inspect
from cbnet.cli.predicates.match import match
from cbnet.errors import CbnetError, InputError

# Newer versions of Typer contain a copy of Click, older ones use Click itself: this finds either.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]

app = typer.Typer(
    name="cbnet",
    help="Content-based network: messages reach the receivers whose rules match their content.",
    cls=GroupHelp,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
# In the order of the help and of the reference.
_PANELS = {
    "Begin here": (demo,),
    "Rules and messages": (check, covers, match, compile, inspect),
    "Network": (up, top, sub, pub, trace, offer, request),
    "Operation": (router, gateway, health, token),
}
_GROUPS = {"Spark": {"pipeline": pipeline, "spark": spark}, "Measurement": {"bench": bench}, "Research": {"lab": lab}}
for panel, commands in _PANELS.items():
    for command in commands:
        app.command(cls=CommandHelp, rich_help_panel=panel)(command)
for panel, groups in _GROUPS.items():
    for name, group in groups.items():
        app.add_typer(group, name=name, rich_help_panel=panel)


def _print_version(is_set: bool) -> None:
    if is_set:
        from cbnet import __version__

        typer.echo(f"cbnet {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option("--version", "-V", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run a command and exit with its code; no error of the user ends in a traceback."""
    arguments = sys.argv[1:]
    options = arguments[: arguments.index("--") if "--" in arguments else None]
    as_json = "--json" in options or "-j" in options
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # not if it is closed, or replaced by a test
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        code = app(prog_name="cbnet", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except _UsageError as error:
        print_error(_usage_error(error, arguments), as_json)
        code = 2
    except InputError as error:
        print_error(error, as_json)
        code = 2
    except CbnetError as error:
        print_error(InputError(str(error)), as_json)
        code = 1
    except MemoryError:
        print_error(InputError("out of memory", hint="use a smaller input"), as_json)
        code = 1
    except OSError as error:  # the disk is full, or the reader of the output has gone
        print_error(InputError(f"cannot write: {error.strerror}"), as_json=False)
        sys.stdout = None
        code = 1
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    sys.exit(code)


def _usage_error(error: Any, arguments: list[str]) -> InputError:
    """Return the error of a wrong command line, which names the new name of an old command or option."""
    path = error.ctx.command_path if error.ctx else "cbnet"
    hint = f"see `{path} --help`"
    if path == "cbnet" and arguments and arguments[0] in MOVED_COMMANDS:
        new = f"cbnet {MOVED_COMMANDS[arguments[0]]}"
        return InputError(f"`cbnet {arguments[0]}` is now `{new}`", hint=f"see `{new} --help`")
    option = getattr(error, "option_name", None) or ""
    replacement = RENAMED_OPTIONS.get(f"{path} {option}") or RENAMED_OPTIONS.get(option)
    if replacement is not None:
        operand = "" if replacement.startswith("-") else "the operand "
        return InputError(f"`{option}` is now {operand}`{replacement}`", hint=hint)
    return InputError(error.format_message().rstrip("."), hint=hint)
