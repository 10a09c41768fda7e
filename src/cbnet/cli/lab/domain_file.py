"""Domain file: to which domain does each node of a graph belong? A line for each node: its name, then its domain."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cbnet.errors import FileError, InputError
from cbnet.files import read_text

if TYPE_CHECKING:
    from cbnet.topology import Graph

_SHOWN = 20  # mistakes of one file


def read_domains(path: Path, graph: Graph) -> list[str]:
    """Return the domain of each node, by its name; all mistakes of the file are reported together."""
    found: dict[int, str] = {}
    mistakes: list[InputError] = []
    for number, line in enumerate(read_text(path).split("\n"), 1):
        said = line.partition("#")[0].strip()
        if said and len(mistakes) < _SHOWN:
            try:
                _add(said, graph, found)
            except InputError as error:
                mistakes.append(error.at(file=str(path), line=number))
    if not mistakes and len(found) < len(graph):
        missing = next(name for node, name in enumerate(graph.names) if node not in found)
        mistakes.append(InputError(f"the node {missing} has no domain", hint=f"write {missing} NAME", file=str(path)))
    if mistakes:
        raise FileError(str(path), mistakes)
    return [found[node] for node in range(len(graph))]


def _add(said: str, graph: Graph, found: dict[int, str]) -> None:
    fields = [field.strip() for field in said.split(",")] if "," in said else said.split()
    if len(fields) != 2 or not all(fields):
        raise InputError(f"{said!r} is not a node with its domain", hint="write the two names: a north")
    node = graph.id(fields[0])
    if node in found:
        raise InputError(f"the node {fields[0]} has a domain already: {found[node]}", hint="keep one of the two lines")
    found[node] = fields[1]
