"""Reader of graph files.

The format is detected by content, not by name: XML is GraphML; lines with | are AS relations; anything else is an
edge list. Files compressed by gzip or bzip2 are decompressed. Text is UTF-8. The first twenty mistakes of a file are
reported together.
"""

from __future__ import annotations

import bz2
import gzip
import zlib
from collections.abc import Callable
from pathlib import Path

from cbnet.errors import InputError
from cbnet.files import decode_text, read_bytes
from cbnet.topology.graph.edges import EdgeSet
from cbnet.topology.graph.graph import Graph
from cbnet.topology.readers.as_relations import read_as_relations
from cbnet.topology.readers.edge_list import read_edge_list
from cbnet.topology.readers.graphml import read_graphml

# first bytes of compressed data -> decompression
_DECOMPRESSORS: dict[bytes, Callable[[bytes], bytes]] = {b"\x1f\x8b": gzip.decompress, b"BZh": bz2.decompress}


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
