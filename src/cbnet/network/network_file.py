"""Network file: which routers does a network have, and which are neighbours? `network.toml`.

    version = 1

    [topology]
    graph = "graph.txt"         # a file, beside this one, or a generator such as "powerlaw:20"
    seed = 0                    # of the generator

    [network]                   # all of it optional
    name = "cbnet"
    scheme = "psf"
    trees = 1

    [ports]                     # by name of the router; all others listen at any port that is free
    0 = 4001

A folder that was made from data has more in it, which is left aside here: `predicates`, `tables`, and the `roots` of
the trees.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cbnet.errors import InputError
from cbnet.network.toml_files import check_keys, read_toml
from cbnet.topology import Graph, topology
from cbnet.topology.generators import KINDS

VERSION = 1
_KEYS = {
    "": ("version", "predicates", "topology", "network", "ports", "tables"),
    "topology": ("graph", "seed", "roots"),
    "network": ("name", "scheme", "trees"),
}
_TYPES = {"graph": str, "seed": int, "roots": list, "name": str, "scheme": str, "trees": int}


@dataclass
class NetworkPlan:
    """A network as it is to be."""

    graph: Graph
    name: str = "cbnet"
    scheme: str = "psf"
    trees: int = 1
    ports: dict[str, int] = field(default_factory=dict)  # by name of the router
    unused: tuple[str, ...] = ()  # what else the file has


def read_network(path: Path, seed: int | None = None) -> NetworkPlan:
    """Return what a file says; `seed` is taken before that of the file."""
    try:
        return _plan(read_toml(path), path.parent, seed)
    except InputError as error:
        raise error.at(file=error.file or str(path)) from None


def _plan(said: dict[str, Any], folder: Path, seed: int | None) -> NetworkPlan:
    check_keys(said, _KEYS[""], "")
    if said.get("version", VERSION) != VERSION:
        raise InputError(f"version {said['version']!r} of network files", hint=f"this cbnet reads version {VERSION}")
    shape, network = (_table(said, name) for name in ("topology", "network"))
    if "graph" not in shape:
        raise InputError("no graph is named", hint='write graph = "powerlaw:20", or a file, in [topology]')
    graph = topology(_graph(shape["graph"], folder), shape.get("seed", 0) if seed is None else seed)
    unused = tuple(key for key in ("predicates", "tables") if said.get(key))
    return NetworkPlan(graph, ports=_ports(said.get("ports", {}), graph), unused=unused, **network)


def _table(said: dict[str, Any], name: str) -> dict[str, Any]:
    table = said.get(name, {})
    if not isinstance(table, dict):
        raise InputError(f"{name} must be a table", hint=f"begin it with a line [{name}]")
    check_keys(table, _KEYS[name], f" in [{name}]")
    for key, value in table.items():
        if type(value) is not _TYPES[key]:
            raise InputError(f"{key} in [{name}] must be {_said(_TYPES[key])}, not {value!r}")
    return table


def _graph(text: str, folder: Path) -> str:
    """Return the text that names a graph, with the folder of the network if it is a file."""
    kind, colon, _ = text.partition(":")
    return text if colon and kind in KINDS else str(folder / text)


def _ports(said: Any, graph: Graph) -> dict[str, int]:
    if not isinstance(said, dict):
        raise InputError("ports must be a table", hint="begin it with a line [ports]")
    names = {str(name) for name in graph.names}
    for name, port in said.items():
        if name not in names:
            raise InputError(f"a port for {name!r}, which is no router of the graph")
        if type(port) is not int or not 1 <= port <= 65_535:
            raise InputError(f"{port!r} is not a port", hint="use a whole number from 1 to 65535")
    if len(set(said.values())) < len(said):
        raise InputError("two routers have the same port")
    return dict(said)


def _said(kind: type) -> str:
    return {str: "a string", int: "a whole number", list: "a list"}[kind]
