"""`cbnet up`: run all routers of a network on this machine, each in its own process."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from cbnet.cli.console import plural, print_json, print_note
from cbnet.cli.network.connection_options import RUNNING, NetworkAddresses
from cbnet.cli.options import COMMIT, JSON, SCHEME, TREES, argument, flag, option, output_option
from cbnet.errors import CbnetError, InputError

if TYPE_CHECKING:
    from cbnet.network import ProcessNetwork
    from cbnet.network.service.network_file import NetworkPlan

_MAX_NEIGHBOURS = 8  # that are printed for a router


def up(
    file: Path | None = argument(None, "[NETWORK.toml]", "Network file."),
    topology: str | None = option(
        None, "GRAPH", "Graph file, or a generator such as powerlaw:20.", name="--topology -t"
    ),
    fib: Path | None = option(
        None, "FOLDER", "Folder written by the pipeline: run its nodes, with their predicates and compiled tables."
    ),
    scheme: str | None = SCHEME,
    trees: int | None = TREES,
    commit: str | None = COMMIT,
    seed: int | None = option(None, "N", "Seed of a random graph.", shown="0", least=0),
    journal: str | None = option(
        None,
        "PLACE",
        "Folder, or address of a PostgreSQL database, for the journals of the routers, which durable "
        "subscriptions need.",
        shown="no journals",
    ),
    output: Path | None = output_option(
        None, "Folder for the routers' addresses; other commands take it as --network."
    ),
    page: bool = flag("Serve HTTP and the web page at each router."),
    open_: bool = flag("Open the web page of the first router in the browser; implies --page.", name="--open"),
    json: bool = JSON,
) -> None:
    """Run all routers of a network on this machine, each in its own process, until Ctrl-C.

    Example: cbnet up --topology ring:6 --open
    """
    from cbnet.network.service.process_network import ProcessNetwork

    plan = _plan(file, topology, fib, seed)
    plan.scheme, plan.commit = scheme or plan.scheme, commit or plan.commit
    if trees is not None:
        plan.trees, plan.roots = trees, plan.roots[:trees]
    signal.signal(signal.SIGTERM, _interrupt)
    began = time.monotonic()
    try:
        with ProcessNetwork.of(
            plan.graph, ports=plan.ports, data=plan.data, journals=journal, http=page or open_, **plan.settings
        ) as processes:
            processes.wait(timeout=120 + len(plan.graph) / 4)  # routers may wait a minute for neighbours
            try:
                _announce(processes, plan, output, time.monotonic() - began, as_json=json)
                if open_:
                    _open_page(processes)
                while len(processes.exit_codes) < len(processes.settings):
                    name = processes.wait_exit(timeout=0.5)
                    if name is not None:
                        code = processes.exit_codes[name]
                        reason = f"was killed by signal {-code}" if code < 0 else f"exited with code {code}"
                        print_note(f"router {name} {reason}; {plural(len(processes.pids), 'router')} left")
                raise CbnetError("all routers have stopped")
            finally:
                if output is not None:
                    (output / RUNNING).unlink(missing_ok=True)
    except KeyboardInterrupt:
        print_note("all routers have stopped")


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _plan(file: Path | None, topology: str | None, fib: Path | None, seed: int | None) -> NetworkPlan:
    from cbnet.network.service.network_file import NetworkPlan, read_folder, read_network
    from cbnet.topology import topology as load_graph

    if sum(each is not None for each in (file, topology, fib)) != 1:
        raise InputError("give exactly one of --topology GRAPH, NETWORK.toml and --fib FOLDER")
    if fib is not None:
        return read_folder(fib, seed)
    return read_network(file, seed) if file is not None else NetworkPlan(load_graph(topology or "", seed or 0))


def _announce(
    processes: ProcessNetwork, plan: NetworkPlan, output: Path | None, seconds: float, *, as_json: bool
) -> None:
    """Print the addresses of the routers, and write them to a folder."""
    if output is not None:
        NetworkAddresses(plan.name, processes.addresses).write(output)
    neighbours: dict[str, list[str]] = {name: [] for name in processes.settings}
    for a, b in processes.links:
        neighbours[a].append(b)
        neighbours[b].append(a)
    for name, address in processes.addresses.items():
        if as_json:
            row = {"router": name, "address": str(address), "pid": processes.pids[name], "neighbours": neighbours[name]}
            print_json(row | ({"page": _page_url(processes, name)} if processes.http_addresses else {}))
        else:
            more = ", …" if len(neighbours[name]) > _MAX_NEIGHBOURS else ""
            page = f" page {_page_url(processes, name)} " if processes.http_addresses else ""
            print(f"{name:<8} {address!s:<22}{page} neighbours {', '.join(neighbours[name][:_MAX_NEIGHBOURS])}{more}")
    sys.stdout.flush()
    print_note(f"{plural(len(processes.settings), 'router')} connected after {seconds:.1f} s; press Ctrl-C to stop")


def _page_url(processes: ProcessNetwork, name: str) -> str:
    return f"http://{processes.http_addresses[name]}/"


def _open_page(processes: ProcessNetwork) -> None:
    import webbrowser

    url = _page_url(processes, next(iter(processes.settings)))
    if not webbrowser.open(url):
        print_note(f"no browser was found; open {url}")
