"""Network file: which routers does a network have, and which are neighbours? `network.toml`.

    version = 1

    [topology]
    graph = "graph.txt"         # a file, beside this one, or a generator such as "powerlaw:20"
    seed = 0                    # of the generator
    largest = false             # whether to take the largest component of a graph that is not connected

    [network]                   # all of it optional
    name = "cbnet"
    scheme = "psf"
    trees = 1

    [ports]                     # by name of the router; all others listen at any port that is free
    0 = 4001

A folder that was made from data (`pipeline.network_folder`) has more in it:

    predicates = "predicates.parquet"    # what each node wants from the start

    [topology]
    roots = [13, 7]             # of the trees, by name; then the scheme is multitree if nothing else is said

    [tables]                    # of some routers, by name: compiled for the first tree
    4 = "tables/4.cbt"
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cbnet.errors import InputError
from cbnet.files import check_keys, read_toml
from cbnet.network.service.process_network import InitialFiles
from cbnet.topology import Graph, topology
from cbnet.topology.graph.generators import GENERATORS

VERSION = 1
NAME = "network.toml"
_KEYS = {
    "": ("version", "predicates", "topology", "network", "ports", "tables"),
    "topology": ("graph", "seed", "largest", "roots"),
    "network": ("name", "scheme", "trees"),
}
_TYPES = {"graph": str, "seed": int, "largest": bool, "roots": list, "name": str, "scheme": str, "trees": int}


@dataclass
class NetworkPlan:
    """A network as it is to be."""

    graph: Graph
    name: str = "cbnet"
    scheme: str = "psf"
    trees: int = 1
    roots: tuple[str, ...] = ()
    ports: dict[str, int] = field(default_factory=dict)  # by name of the router
    data: InitialFiles | None = None  # what the nodes want from the start

    @property
    def settings(self) -> dict[str, Any]:
        """What all routers are told."""
        return {"network": self.name, "scheme": self.scheme, "trees": self.trees, "roots": self.roots}


def read_folder(folder: Path, seed: int | None = None) -> NetworkPlan:
    """Return the network of a folder that the pipeline made."""
    file = folder / NAME
    if not file.exists():
        where = "there is no network.toml in this folder" if folder.exists() else "there is no such folder"
        hint = "give the folder `live` of a run whose pipeline.toml has a section [live]"
        raise InputError(where, hint=hint, file=str(folder))
    plan = read_network(file, seed)
    if plan.data is None:
        hint = "start the network with `cbnet up network.toml`, or run the pipeline with a section [live]"
        raise InputError("this network has no predicates to begin with", hint=hint, file=str(file))
    return plan


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
    seed = shape.get("seed", 0) if seed is None else seed
    graph = topology(_graph(shape["graph"], folder), seed, largest=shape.get("largest", False))
    names = {str(name) for name in graph.names}
    roots = _roots(shape.get("roots", []), names)
    if roots:
        network = {"scheme": "multitree", "trees": len(roots), "roots": roots} | network
    return NetworkPlan(graph, ports=_ports(said.get("ports", {}), names), data=_data(said, folder, names), **network)


def _roots(said: list[Any], names: set[str]) -> tuple[str, ...]:
    for root in said:
        if str(root) not in names:
            raise InputError(f"a tree with the root {root!r}, which is no node of the graph")
    return tuple(map(str, said))


def _data(said: dict[str, Any], folder: Path, names: set[str]) -> InitialFiles | None:
    """Return where the predicates and tables are; None if there are no predicates."""
    tables = said.get("tables", {})
    if not isinstance(tables, dict) or not all(isinstance(each, str) for each in tables.values()):
        raise InputError("tables must be a table of files", hint="begin it with a line [tables]")
    for name in tables:
        if name not in names:
            raise InputError(f"a table for {name!r}, which is no router of the graph")
    predicates = said.get("predicates")
    if predicates is None:
        if tables:
            raise InputError("there are tables, and no predicates to check them against", hint="name both, or none")
        return None
    if not isinstance(predicates, str):
        raise InputError(f"predicates must be the name of a file, not {predicates!r}")
    if not (folder / predicates).exists():
        raise InputError(f"there is no {predicates} beside it", hint="run the pipeline again")
    return InitialFiles(folder / predicates, {name: folder / path for name, path in tables.items()})


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
    return text if colon and kind in GENERATORS else str(folder / text)


def _ports(said: Any, names: set[str]) -> dict[str, int]:
    if not isinstance(said, dict):
        raise InputError("ports must be a table", hint="begin it with a line [ports]")
    for name, port in said.items():
        if name not in names:
            raise InputError(f"a port for {name!r}, which is no router of the graph")
        if type(port) is not int or not 1 <= port <= 65_535:
            raise InputError(f"{port!r} is not a port", hint="use a whole number from 1 to 65535")
    if len(set(said.values())) < len(said):
        raise InputError("two routers have the same port")
    return dict(said)


def _said(kind: type) -> str:
    return {str: "a string", int: "a whole number", bool: "true or false", list: "a list"}[kind]
