"""Specifications of graphs, such as ring:6, and graph files.

Every command that reads a graph uses `topology`. A text that begins with the name of a generator and a colon is
generated; any other is the path of a file. (A file named ring:12 is ./ring:12.)

The format of a file is detected by content, not by name: XML is GraphML (`graphml`); lines with | are AS relations, as
CAIDA publishes them; anything else is an edge list. Every edge without a weight has length 1.

    a b          an edge                       a|b|-1            a is a provider of b
    a b 2.5      an edge of length 2.5         a|b|0             they are peers
    a,b,2.5      with commas, names may        a|b|1, a|b|2      they are siblings
                 contain spaces                a|b|-1|source     in CAIDA's second series

Text from # to the end of a line is a comment, and empty lines are ignored. Files compressed by gzip or bzip2 are
decompressed. Text is UTF-8. The first twenty mistakes of a file are reported together.
"""

from __future__ import annotations

import bz2
import gzip
import re
import zlib
from collections.abc import Callable
from difflib import get_close_matches
from os.path import exists
from pathlib import Path

from cbnet.errors import InputError
from cbnet.files import decode_text, read_bytes
from cbnet.topology.edges import EdgeSet, Relation
from cbnet.topology.generators import GENERATORS, generate
from cbnet.topology.graph import Graph
from cbnet.topology.graphml import read_graphml
from cbnet.topology.traversal import components, largest_component

_MAX_SIZES = 5  # of components, in an error
# first bytes of compressed data -> decompression
_DECOMPRESSORS: dict[bytes, Callable[[bytes], bytes]] = {b"\x1f\x8b": gzip.decompress, b"BZh": bz2.decompress}
_AS_NUMBER = re.compile("[0-9]{1,10}")
_RELATIONS = {"-1": Relation.CUSTOMER, "0": Relation.PEER, "1": Relation.SIBLING, "2": Relation.SIBLING}


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


def read_graph(path: Path) -> Graph:
    """Return the graph of a file, connected or not."""
    text = decode_text(_decompressed(path), path)
    edges = EdgeSet(str(path))
    _reader_of(text)(text, edges)
    try:
        return Graph.from_edge_set(edges)
    except InputError as error:
        raise error.at(file=str(path)) from None


def _reader_of(text: str) -> Callable[[str, EdgeSet], None]:
    if text.lstrip().startswith("<"):
        return read_graphml
    lines = (line.partition("#")[0].strip() for line in text.split("\n"))
    first = next((line for line in lines if line), "")
    return read_as_relations if "|" in first else read_edge_list


def _decompressed(path: Path) -> bytes:
    data = read_bytes(path)
    try:
        return next((decompress(data) for start, decompress in _DECOMPRESSORS.items() if data.startswith(start)), data)
    except (OSError, EOFError, ValueError, zlib.error):
        raise InputError("cannot decompress: the file is damaged", file=str(path)) from None


def read_edge_list(text: str, edges: EdgeSet) -> None:
    """Add the edges that a text lists."""
    for number, line in enumerate(text.split("\n"), 1):
        row = line.partition("#")[0].strip()
        if not row:
            continue
        fields = [field.strip() for field in row.split(",")] if "," in row else row.split()
        if len(fields) in (2, 3) and all(fields):
            edges.add(*fields, line=number)
        else:
            hint = "write two names and, if it is not 1, the weight: a b 2.5"
            edges.mistake(InputError(f"{row!r} is not an edge", hint=hint), number)


def read_as_relations(text: str, edges: EdgeSet) -> None:
    """Add the edges between ASes that a text lists."""
    for number, line in enumerate(text.split("\n"), 1):
        row = line.strip()
        if not row or row.startswith("#"):
            continue
        fields = row.split("|")
        if len(fields) not in (3, 4) or not all(map(_AS_NUMBER.fullmatch, fields[:2])):
            hint = "write two AS numbers and their relation: 174|3705|-1"
            edges.mistake(InputError(f"{row!r} is not a relation between ASes", hint=hint), number)
        elif fields[2] not in _RELATIONS:
            hint = "write -1 (the first is a provider of the second), 0 (peers), 1 or 2 (siblings)"
            edges.mistake(InputError(f"unknown relation {fields[2]!r}", hint=hint), number)
        else:
            edges.add(int(fields[0]), int(fields[1]), relation=_RELATIONS[fields[2]], line=number)
