"""Specifications of graphs: a generator with its options, or a file.

Every command that reads a graph uses `topology`. A text that begins with the name of a generator and a colon is
generated; any other is the path of a file. (A file named ring:12 is ./ring:12.)
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from os.path import exists
from pathlib import Path

from cbnet.errors import InputError
from cbnet.topology.graph.components import components, largest_component
from cbnet.topology.graph.generators import GENERATORS, generate
from cbnet.topology.graph.graph import Graph
from cbnet.topology.readers.graph_files import read_graph

_MAX_SIZES = 5  # of components, in an error


def topology(text: str, seed: int = 0, *, largest: bool = False, connected: bool = True) -> Graph:
    """Return the graph of a specification: a generator such as powerlaw:200, or a file.

    `seed` selects among random graphs. A graph that is not connected is an error, unless `largest` selects its
    largest component or `connected` is False.
    """
    graph = _graph(text, seed)
    if largest:
        return largest_component(graph)
    if connected:
        _check_connected(graph, text)
    return graph


def _graph(text: str, seed: int) -> Graph:
    kind, colon, _ = text.partition(":")
    if colon and kind in GENERATORS:
        return generate(text, seed)
    if not exists(text):  # noqa: PTH110 (Path.exists raises an error for too long a text)
        raise InputError(f"there is no file or generator {text!r}", hint=_hint(kind))
    return read_graph(Path(text))


def _hint(kind: str) -> str:
    near = get_close_matches(kind, GENERATORS, n=1)
    if near and re.fullmatch("[a-z]+", kind):
        return f"write {GENERATORS[near[0]].example}"
    return "write the path of a file, or one of " + ", ".join(kind.example for kind in GENERATORS.values())


def _check_connected(graph: Graph, text: str) -> None:
    parts = components(graph)
    if len(parts) > 1:
        sizes = ", ".join(f"{len(nodes):,}" for nodes in parts[:_MAX_SIZES]) + (
            ", …" if len(parts) > _MAX_SIZES else ""
        )
        raise InputError(
            f"the graph is not connected: its {len(parts):,} components have {sizes} nodes",
            hint="connect them, or use the largest one: --largest, in Python largest=True",
            file=text,
        )
