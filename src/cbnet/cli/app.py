"""The `cbnet` command: which commands are there, and how does each end?

Exit codes: 0 done (also when the answer is no), 1 it failed, 2 bad input (also when the rest went on).
"""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Annotated, Any

import typer

from cbnet.cli.bench.bench import bench
from cbnet.cli.console import print_error
from cbnet.cli.demo.demo import demo
from cbnet.cli.lab.alpha import alpha
from cbnet.cli.lab.fib import fib
from cbnet.cli.lab.report import report
from cbnet.cli.lab.reproduce import reproduce
from cbnet.cli.lab.simulate import simulate
from cbnet.cli.lab.topology import topology
from cbnet.cli.lab.trees import trees
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
from cbnet.cli.pipeline.pipeline import pipeline
from cbnet.cli.pipeline.spark import spark
from cbnet.cli.predicates.check import check
from cbnet.cli.predicates.compile import compile
from cbnet.cli.predicates.covers import covers
from cbnet.cli.predicates.inspect import inspect
from cbnet.cli.predicates.match import match
from cbnet.errors import CbnetError, InputError

# Typer carries a copy of click in newer versions and uses the real one in older: this finds either.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]

app = typer.Typer(
    name="cbnet",
    help="A content-based network: messages go to whoever asked for their content.",
    invoke_without_command=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
# In the order of the help and of the reference.
_PANELS = {
    "Begin here": (demo,),
    "Predicates and tables": (check, covers, match, compile, inspect),
    "A live network, and its users": (up, top, sub, pub, trace, offer, request),
    "One router at a time": (router, gateway, health, token),
    "The laboratory": (topology, trees, fib, alpha, simulate, reproduce, report),
}
for panel, commands in _PANELS.items():
    for command in commands:
        app.command(rich_help_panel=panel)(command)
for name, group in (("pipeline", pipeline), ("spark", spark), ("bench", bench)):
    app.add_typer(group, name=name, rich_help_panel="Spark and measurements")


def _print_version(asked: bool) -> None:
    if asked:
        from cbnet import __version__

        typer.echo(f"cbnet {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run a command and exit with its code; no mistake of the user ends in a traceback."""
    arguments = sys.argv[1:]
    as_json = "--json" in arguments[: arguments.index("--") if "--" in arguments else None]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # not if it is closed, or a test's
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        code = app(standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except _UsageError as error:
        print_error(_usage_error(error), as_json)
        code = 2
    except InputError as error:
        print_error(error, as_json)
        code = 2
    except CbnetError as error:
        print_error(InputError(str(error)), as_json)
        code = 1
    except MemoryError:
        print_error(InputError("there is not enough memory for this", hint="ask for less"), as_json)
        code = 1
    except OSError as error:  # the disk is full, or the reader of our output has gone
        print_error(InputError(f"cannot write: {error.strerror}"), as_json=False)
        sys.stdout = None
        code = 1
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    sys.exit(code)


def _usage_error(error: Any) -> InputError:
    command = error.ctx.command_path if error.ctx else "cbnet"
    return InputError(error.format_message().rstrip("."), hint=f"see `{command} --help`")
