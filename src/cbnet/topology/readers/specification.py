"""Named graphs: which graph does a text name?

`topology` is the one door: what it takes can be given to every command and function that wants a graph.
A text that begins with a kind of generator and a colon is made; any other is the path of a file.
(A file that is called ring:12 is ./ring:12.)
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

_SHOWN = 5  # sizes of components


def topology(text: str, seed: int = 0, *, largest: bool = False, connected: bool = True) -> Graph:
    """Return the graph that a text names: a generator such as powerlaw:200, or a file.

    `seed` chooses among random graphs. A graph that is not connected is an error; with `largest` its largest
    component is taken, with connected=False it is taken as it is.
    """
    graph = _named(text, seed)
    if largest:
        return largest_component(graph)
    if connected:
        _check_connected(graph, text)
    return graph


def _named(text: str, seed: int) -> Graph:
    kind, colon, _ = text.partition(":")
    if colon and kind in GENERATORS:
        return generate(text, seed)
    if not exists(text):  # noqa: PTH110 (Path.exists raises for a text that is too long)
        raise InputError(f"there is no file or generator {text!r}", hint=_hint(kind))
    return read_graph(Path(text))


def _hint(kind: str) -> str:
    near = get_close_matches(kind, GENERATORS, n=1)
    if near and re.fullmatch("[a-z]+", kind):
        return f"write {GENERATORS[near[0]].example}"
    return "write the path of a file, or one of " + ", ".join(kind.example for kind in GENERATORS.values())


def _check_connected(graph: Graph, text: str) -> None:
    found = components(graph)
    if len(found) > 1:
        sizes = ", ".join(f"{len(nodes):,}" for nodes in found[:_SHOWN]) + (", …" if len(found) > _SHOWN else "")
        raise InputError(
            f"the graph is not connected: its {len(found):,} components have {sizes} nodes",
            hint="join them, or take the largest one: --largest, in Python largest=True",
            file=text,
        )
