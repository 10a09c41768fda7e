"""Network files: the topology and settings of a network, `network.toml`.

    version = 1

    [topology]
    graph = "graph.txt"         # a file, relative to this one, or a generator such as "powerlaw:20"
    seed = 0                    # of the generator
    largest = false             # whether to keep only the largest component of a disconnected graph

    [network]                   # optional
    name = "cbnet"
    scheme = "multitree"        # or "pif"
    trees = 1
    commit = "publisher"        # or "message"

    [ports]                     # by router name; the others listen on any free port
    0 = 4001

A folder written by the pipeline has more:

    predicates = "predicates.parquet"    # the initial predicate of each node

    [topology]
    roots = [13, 7]             # of the trees, by name

    [tables]                    # of some routers, by name: compiled for the first tree
    4 = "tables/4.cbt"
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cbnet.errors import InputError
from cbnet.files import TomlDocument
from cbnet.network.service.process_network import InitialFiles
from cbnet.topology import Graph, topology
from cbnet.topology.graph.generators import GENERATORS

VERSION = 1
NAME = "network.toml"
_MANIFESTS = "_snapshot-*/_cbnet.json"  # of the complete snapshots of a result of the pipeline
_KEYS = {
    "": ("version", "predicates", "topology", "network", "ports", "tables"),
    "topology": ("graph", "seed", "largest", "roots"),
    "network": ("name", "scheme", "trees", "commit"),
}
_TYPES = {
    "graph": str, "seed": int, "largest": bool, "roots": list, "name": str, "scheme": str, "trees": int, "commit": str,
}  # fmt: skip


@dataclass
class NetworkPlan:
    """The description of a network to start."""

    graph: Graph
    name: str = "cbnet"
    scheme: str = "multitree"
    trees: int = 1
    commit: str = "publisher"
    roots: tuple[str, ...] = ()
    ports: dict[str, int] = field(default_factory=dict)  # by router name
    data: InitialFiles | None = None  # initial predicates and tables

    @property
    def settings(self) -> dict[str, Any]:
        """The settings shared by all routers."""
        return {
            "network": self.name, "scheme": self.scheme, "trees": self.trees, "roots": self.roots,
            "commit": self.commit,
        }  # fmt: skip


def read_folder(folder: Path, seed: int | None = None) -> NetworkPlan:
    """Read the network of a folder that the pipeline wrote."""
    file = snapshot_folder(folder) / NAME
    if not file.exists():
        problem = "there is no network.toml in this folder" if folder.exists() else "there is no such folder"
        hint = "give the folder `live` of a run whose pipeline.toml has a section [live]"
        raise InputError(problem, hint=hint, file=str(folder))
    plan = read_network(file, seed)
    if plan.data is None:
        hint = "start the network with `cbnet up network.toml`, or run the pipeline with a section [live]"
        raise InputError("this network has no initial predicates", hint=hint, file=str(file))
    return plan


def snapshot_folder(folder: Path) -> Path:
    """Return the newest complete snapshot of a result of the pipeline; the folder itself if it has none."""
    manifests = sorted(folder.glob(_MANIFESTS))
    return manifests[-1].parent if manifests else folder


def read_network(path: Path, seed: int | None = None) -> NetworkPlan:
    """Read a network file; `seed` overrides that of the file."""
    document = TomlDocument(path)
    document.check_keys((), document.tables, _KEYS[""])
    shape, network = (_table(document, name) for name in ("topology", "network"))
    document.finish()
    try:
        return _plan(document.tables, shape, network, path.parent, seed)
    except InputError as error:
        raise error.at(file=error.file or str(path)) from None


def _plan(
    content: dict[str, Any], shape: dict[str, Any], network: dict[str, Any], folder: Path, seed: int | None
) -> NetworkPlan:
    if content.get("version", VERSION) != VERSION:
        problem = f"unknown version {content['version']!r} of network files"
        raise InputError(problem, hint=f"this cbnet reads version {VERSION}")
    if "graph" not in shape:
        raise InputError("no graph given", hint='write graph = "powerlaw:20", or a file, in [topology]')
    seed = shape.get("seed", 0) if seed is None else seed
    graph = topology(_graph(shape["graph"], folder), seed, largest=shape.get("largest", False))
    names = {str(name) for name in graph.names}
    roots = _roots(shape.get("roots", []), names)
    if roots:
        network = {"trees": len(roots), "roots": roots} | network
    ports, data = _ports(content.get("ports", {}), names), _data(content, folder, names)
    return NetworkPlan(graph, ports=ports, data=data, **network)


def _roots(roots: list[Any], names: set[str]) -> tuple[str, ...]:
    for root in roots:
        if str(root) not in names:
            raise InputError(f"the root {root!r} is not a node of the graph")
    return tuple(map(str, roots))


def _data(content: dict[str, Any], folder: Path, names: set[str]) -> InitialFiles | None:
    """Return the paths of the predicates and tables; None if there are no predicates."""
    tables = content.get("tables", {})
    if not isinstance(tables, dict) or not all(isinstance(each, str) for each in tables.values()):
        raise InputError("tables must be a table of files", hint="begin it with a line [tables]")
    for name in tables:
        if name not in names:
            raise InputError(f"[tables] names {name!r}, which is not a router of the graph")
    predicates = content.get("predicates")
    if predicates is None:
        if tables:
            raise InputError("there are tables but no predicates", hint="give both, or neither")
        return None
    if not isinstance(predicates, str):
        raise InputError(f"predicates must be a file name, not {predicates!r}")
    if not (folder / predicates).exists():
        raise InputError(f"there is no {predicates} in the same folder", hint="run the pipeline again")
    return InitialFiles(folder / predicates, {name: folder / path for name, path in tables.items()})


def _table(document: TomlDocument, name: str) -> dict[str, Any]:
    """Return a table of the file; record its mistakes."""
    table = document.at((name,))
    if not isinstance(table, dict):
        document.note((name,), f"{name} must be a table", f"begin it with a line [{name}]")
        return {}
    document.check_keys((name,), table, _KEYS[name])
    for key, value in table.items():
        if key in _KEYS[name] and type(value) is not _TYPES[key]:
            document.note((name, key), f"{key} in [{name}] must be {_type_name(_TYPES[key])}, not {value!r}")
    return table


def _graph(text: str, folder: Path) -> str:
    """Return the specification of a graph; a file is relative to the folder of the network."""
    kind, colon, _ = text.partition(":")
    return text if colon and kind in GENERATORS else str(folder / text)


def _ports(ports: Any, names: set[str]) -> dict[str, int]:
    if not isinstance(ports, dict):
        raise InputError("ports must be a table", hint="begin it with a line [ports]")
    for name, port in ports.items():
        if name not in names:
            raise InputError(f"[ports] names {name!r}, which is not a router of the graph")
        if type(port) is not int or not 1 <= port <= 65_535:
            raise InputError(f"{port!r} is not a port", hint="use a whole number from 1 to 65535")
    if len(set(ports.values())) < len(ports):
        raise InputError("two routers have the same port")
    return dict(ports)


def _type_name(kind: type) -> str:
    return {str: "a string", int: "a whole number", bool: "true or false", list: "a list"}[kind]
