"""Network files: the topology and settings of a network, `network.toml`; see `docs/reference/network-file.md`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

from cbnet.errors import InputError
from cbnet.network.service.process_network import InitialFiles
from cbnet.toml_files import TomlDocument
from cbnet.topology import Graph, topology
from cbnet.topology.generators import GENERATORS

VERSION = 1
NAME = "network.toml"
_KEYS = ("version", "predicates", "topology", "network", "ports", "tables")


class _Topology(Struct):
    graph: str = ""
    seed: int = 0
    largest: bool = False
    roots: list[str | int] = []


class _Network(Struct, omit_defaults=True):
    name: str = "cbnet"
    scheme: str = "multitree"
    trees: int = 1
    commit: str = "publisher"


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
    file = folder / NAME
    if not file.exists():
        problem = "there is no network.toml in this folder" if folder.exists() else "there is no such folder"
        hint = "give the folder `live` of a run whose pipeline.toml has a section [live]"
        raise InputError(problem, hint=hint, file=str(folder))
    plan = read_network(file, seed)
    if plan.data is None:
        hint = "start the network with `cbnet up network.toml`, or run the pipeline with a section [live]"
        raise InputError("this network has no initial predicates", hint=hint, file=str(file))
    return plan


def read_network(path: Path, seed: int | None = None) -> NetworkPlan:
    """Read a network file; `seed` overrides that of the file."""
    document = TomlDocument(path)
    document.check_keys((), document.tables, _KEYS)
    version = document.tables.get("version", VERSION)
    if version != VERSION:
        problem = f"unknown version {version!r} of network files"
        document.note(("version",), problem, f"this cbnet reads version {VERSION}")
    shape, network = document.section(_Topology, ("topology",)), document.section(_Network, ("network",))
    document.finish()
    assert shape is not None
    assert network is not None
    graph = document.build(("topology", "graph"), partial(_graph, shape, path.parent, seed))
    document.finish()
    assert graph is not None
    names = {str(name) for name in graph.names}
    for root in shape.roots:
        if str(root) not in names:
            document.note(("topology", "roots"), f"the root {root!r} is not a node of the graph")
    settings = {"trees": len(shape.roots), "roots": tuple(map(str, shape.roots))} if shape.roots else {}
    ports, data = _ports(document, names), _data(document, path.parent, names)
    document.finish()
    return NetworkPlan(graph, ports=ports, data=data, **(settings | to_builtins(network)))


def _graph(shape: _Topology, folder: Path, seed: int | None) -> Graph:
    """Return the graph of a generator, or of a file, relative to the folder of the network."""
    if not shape.graph:
        raise InputError("no graph given", hint='write graph = "powerlaw:20", or a file, in [topology]')
    kind, colon, _ = shape.graph.partition(":")
    source = shape.graph if colon and kind in GENERATORS else str(folder / shape.graph)
    return topology(source, shape.seed if seed is None else seed, largest=shape.largest)


def _data(document: TomlDocument, folder: Path, names: set[str]) -> InitialFiles | None:
    """Return the paths of the predicates and tables; None if there are no predicates."""
    tables, predicates = document.at(("tables",)), document.tables.get("predicates")
    if not isinstance(tables, dict) or not all(isinstance(each, str) for each in tables.values()):
        document.note(("tables",), "tables must be a table of files", "begin it with a line [tables]")
        return None
    _check_routers(document, "tables", tables, names)
    if predicates is None:
        if tables:
            document.note(("tables",), "there are tables but no predicates", "give both, or neither")
    elif not isinstance(predicates, str):
        document.note(("predicates",), f"predicates must be a file name, not {predicates!r}")
    elif not (folder / predicates).exists():
        document.note(("predicates",), f"there is no {predicates} in the same folder", "run the pipeline again")
    else:
        return InitialFiles(folder / predicates, {name: folder / path for name, path in tables.items()})
    return None


def _ports(document: TomlDocument, names: set[str]) -> dict[str, int]:
    ports = document.at(("ports",))
    if not isinstance(ports, dict):
        document.note(("ports",), "ports must be a table", "begin it with a line [ports]")
        return {}
    _check_routers(document, "ports", ports, names)
    for name, port in ports.items():
        if type(port) is not int or not 1 <= port <= 65_535:
            document.note(("ports", name), f"{port!r} is not a port", "use a whole number from 1 to 65535")
    if len({*map(str, ports.values())}) < len(ports):
        document.note(("ports",), "two routers have the same port")
    return ports


def _check_routers(document: TomlDocument, section: str, named: Iterable[str], names: set[str]) -> None:
    for name in named:
        if name not in names:
            document.note((section, name), f"[{section}] names {name!r}, which is not a router of the graph")
