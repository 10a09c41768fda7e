"""`cbnet up`: run a whole network on this machine, each router in a process of its own."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cbnet.cli.console import AsJson, counted, print_json, print_remark
from cbnet.errors import CbnetError, InputError

if TYPE_CHECKING:
    from cbnet.network import ProcessNetwork
    from cbnet.network.service.network_file import NetworkPlan

_SHOWN = 8  # neighbours of a router


def up(
    file: Annotated[
        Path | None, typer.Argument(metavar="[NETWORK.toml]", help="A file of a network.", show_default=False)
    ] = None,
    topology: Annotated[
        str | None,
        typer.Option("--topology", help="A generator such as powerlaw:20, or a file of a graph.", show_default=False),
    ] = None,
    fib: Annotated[
        Path | None,
        typer.Option(
            "--fib", help="A folder that the pipeline made: routers begin with what it found.", show_default=False
        ),
    ] = None,
    scheme: Annotated[
        str | None, typer.Option("--scheme", help="psf, ips, pif, drp or multitree.", show_default="psf")
    ] = None,
    trees: Annotated[
        int | None, typer.Option("--trees", min=1, help="Of the scheme multitree.", show_default="1")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Another seed makes another random graph.", show_default="0")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="A folder that tells other commands where the routers are.", show_default=False),
    ] = None,
    json: AsJson = False,
) -> None:
    """Start all routers of a network, wait until they know each other, and end them on Ctrl-C.

    Example: cbnet up --topology powerlaw:20 --out here
    """
    from cbnet.network.service.process_network import ProcessNetwork

    plan = _plan(file, topology, fib, scheme, trees, seed)
    signal.signal(signal.SIGTERM, _interrupt)
    began = time.monotonic()
    try:
        with ProcessNetwork.of(plan.graph, ports=plan.ports, data=plan.data, **plan.settings) as processes:
            for remark in processes.warnings:
                print_remark(remark)
            processes.wait(timeout=60 + len(plan.graph) / 4)
            try:
                _tell(processes, plan, out, time.monotonic() - began, as_json=json)
                _supervise(processes)
            finally:
                if out is not None:
                    (out / "running.toml").unlink(missing_ok=True)
    except KeyboardInterrupt:
        print_remark("all routers have ended")


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _plan(
    file: Path | None, topology: str | None, fib: Path | None, scheme: str | None, trees: int | None, seed: int | None
) -> NetworkPlan:  # fmt: skip
    from cbnet.network.service.network_file import NetworkPlan, read_folder, read_network
    from cbnet.topology import topology as named

    if sum(each is not None for each in (file, topology, fib)) != 1:
        raise InputError("which network?", hint="give one of --topology GRAPH, a NETWORK.toml, or --fib FOLDER")
    if fib is not None:
        plan = read_folder(fib, seed)
    else:
        plan = read_network(file, seed) if file is not None else NetworkPlan(named(topology or "", seed or 0))
    plan.scheme = scheme or plan.scheme
    if trees is not None:
        plan.trees, plan.roots = trees, plan.roots[:trees]
    return plan


def _tell(processes: ProcessNetwork, plan: NetworkPlan, out: Path | None, seconds: float, *, as_json: bool) -> None:
    """Say where the routers are: to people, to programs, and in a file."""
    from cbnet.network.service.address_file import NetworkAddresses

    if out is not None:
        NetworkAddresses(plan.name, processes.addresses).write(out)
    neighbours: dict[str, list[str]] = {name: [] for name in processes.settings}
    for a, b in processes.links:
        neighbours[a].append(b)
        neighbours[b].append(a)
    for name, where in processes.addresses.items():
        if as_json:
            row = {"router": name, "address": str(where), "pid": processes.pids[name], "neighbours": neighbours[name]}
            print_json(row)
        else:
            more = ", …" if len(neighbours[name]) > _SHOWN else ""
            print(f"{name:<8} {where!s:<22} neighbours {', '.join(neighbours[name][:_SHOWN])}{more}")
    sys.stdout.flush()
    print_remark(
        f"{counted(len(processes.settings), 'router')} know each other after {seconds:.1f} s; Ctrl-C ends them"
    )


def _supervise(processes: ProcessNetwork) -> None:
    """Say which router ends by itself; raise an error when none is left."""
    while len(processes.exit_codes) < len(processes.settings):
        name = processes.wait_exit(timeout=0.5)
        if name is not None:
            code = processes.exit_codes[name]
            how = f"was killed by signal {-code}" if code < 0 else f"has ended with {code}"
            print_remark(f"router {name} {how}; {counted(len(processes.pids), 'router')} left")
    raise CbnetError("all routers have ended")
