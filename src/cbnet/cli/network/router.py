"""`cbnet router`: run one router, as a file, the environment and flags say."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cbnet.cli.console import AsJson, print_json, print_remark
from cbnet.errors import InputError

if TYPE_CHECKING:
    from cbnet.network.protocol.addresses import Address
    from cbnet.network.service.configuration import Configuration


def router(
    config: Annotated[Path | None, typer.Option("-c", "--config", help="A TOML file.", show_default=False)] = None,
    name: Annotated[str | None, typer.Option("--name", help="The name of the router.", show_default=False)] = None,
    listen: Annotated[
        str | None, typer.Option("--listen", help="Where to listen.", show_default="127.0.0.1:4001")
    ] = None,
    neighbour: Annotated[
        list[str] | None,
        typer.Option("--neighbour", help="A neighbour to dial, as name=address; repeat it.", show_default=False),
    ] = None,
    scheme: Annotated[
        str | None, typer.Option("--scheme", help="psf, ips, pif, drp or multitree.", show_default="psf")
    ] = None,
    http: Annotated[
        str | None,
        typer.Option(
            "--http", help="Where to tell health and metrics, such as 127.0.0.1:9090.", show_default="nowhere"
        ),
    ] = None,
    log: Annotated[
        str | None, typer.Option("--log", help="The form of the log: text or json.", show_default="text")
    ] = None,
    set: Annotated[
        list[str] | None, typer.Option("--set", help="Any other key of the file, as key=value.", show_default=False)
    ] = None,
    print_: Annotated[
        bool, typer.Option("--print", help="Print the whole configuration, and where each value comes from.")
    ] = False,
    check: Annotated[bool, typer.Option("--check", help="Only check the configuration.")] = False,
    json: AsJson = False,
) -> None:
    """Run a router until it is told to end, by Ctrl-C or SIGTERM.

    Example: cbnet router --name a --listen 127.0.0.1:4001 --neighbour b=127.0.0.1:4002
    """
    from cbnet.network.service.configuration import configuration

    flags = {
        "name": name,
        "listen": listen,
        "scheme": scheme,
        "http": http,
        "log": log,
        "neighbours": ",".join(neighbour) if neighbour else None,
        **dict(_pair(each) for each in set or ()),
    }
    found = configuration(config, os.environ, flags)
    if print_ or check:
        _show(found, as_json=json, is_whole=print_)
    else:
        _run(found, as_json=json)


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"--set {text!r} says no value", hint="write key=value")
    return key.strip(), value.strip()


def _show(found: Configuration, *, as_json: bool, is_whole: bool) -> None:
    if as_json:
        rows = {key: {"value": value, "source": source} for key, (value, source) in found.values.items()}
        print_json(rows if is_whole else {"name": found.settings.name, "ok": True})
    elif is_whole:
        print("\n".join(found.lines()))
    else:
        print(f"the configuration of {found.settings.name} is good")


def _run(found: Configuration, *, as_json: bool) -> None:
    from cbnet.network.logs import configure
    from cbnet.network.service.router_process import serve
    from cbnet.network.transport.event_loop import run

    name = found.settings.name

    def started(where: Address) -> None:
        if as_json:
            print_json({"router": name, "address": str(where)})
        else:
            print(f"router {name} listens at {where}")
        sys.stdout.flush()

    process = found.process
    configure(process.log, process.log_level, name)
    where = found.settings, found.listen, found.neighbours
    run(serve(*where, on_start=started, security=found.security, process=process))
    if process.log == "text":  # else it is said as an event, and nothing else may stand there
        print_remark(f"router {name} has ended")
