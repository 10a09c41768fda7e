"""Partition of a graph into connected domains, computed or read from a file [2014 §3.1].

A computed domain has a centre, and a node belongs to the nearest centre; of several equally near, to the first. The
first centre is the node with the most neighbours. Each next one maximises the number of neighbours times the distance
from the centres so far: centres are well connected, and far apart.

    Such a domain is connected, by shortest paths to its centre. Let y lie on a shortest path from x to its centre c.
    A centre nearer to y would be nearer to x as well; one equally near to y is equally near to x, and c came first
    for x. So y belongs to c too.

A file has one line per node, with its name and its domain.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cbnet.errors import FileError, InputError
from cbnet.files import read_text
from cbnet.topology.graph import Graph, Ids
from cbnet.topology.shortest_paths import distances
from cbnet.topology.traversal import components

_MAX_ERRORS = 20  # of one file


def grow_domains(graph: Graph, count: int) -> Ids:
    """Return the domain of each node of a connected graph, from 0 on: int32[n]."""
    if not 1 <= count <= len(graph):
        raise InputError(f"a graph of {len(graph):,} nodes has from 1 to {len(graph):,} domains, not {count:,}")
    domains = np.zeros(len(graph), dtype=np.int32)
    nearest = distances(graph, [int(graph.degrees.argmax())])[0]
    for number in range(1, count):
        (row,) = distances(graph, [int((graph.degrees * nearest).argmax())])
        domains[row < nearest] = number
        nearest = np.minimum(row, nearest)
    return domains


def validate_domains(graph: Graph, groups: Sequence[object]) -> Ids:
    """Return the domain of each node by its group, in order of appearance: int32[n]; each must be connected."""
    if len(groups) != len(graph):
        raise InputError(f"{len(groups):,} domains for {len(graph):,} nodes", hint="give one per node")
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    domains = np.array([numbers[group] for group in groups], dtype=np.int32)
    for group, number in numbers.items():
        parts = components(graph.part(domains == number))
        if len(parts) > 1:
            names = [name for node, name in enumerate(graph.names) if domains[node] == number]
            one, other = (names[int(part[0])] for part in parts[:2])
            problem = f"the domain {group} is not connected: it has no path from {one} to {other}"
            raise InputError(problem, hint="split it into two domains")
    return domains


def read_domains(path: Path, graph: Graph) -> list[str]:
    """Return the domain of each node; the errors of the file are reported together."""
    domains: dict[int, str] = {}
    errors: list[InputError] = []
    for number, line in enumerate(read_text(path).split("\n"), 1):
        text = line.partition("#")[0].strip()
        if text and len(errors) < _MAX_ERRORS:
            try:
                _add(text, graph, domains)
            except InputError as error:
                errors.append(error.at(file=str(path), line=number))
    if not errors and len(domains) < len(graph):
        missing = next(name for node, name in enumerate(graph.names) if node not in domains)
        errors.append(InputError(f"the node {missing} has no domain", hint=f"write {missing} NAME", file=str(path)))
    if errors:
        raise FileError(str(path), errors)
    return [domains[node] for node in range(len(graph))]


def _add(text: str, graph: Graph, domains: dict[int, str]) -> None:
    fields = [field.strip() for field in text.split(",")] if "," in text else text.split()
    if len(fields) != 2 or not all(fields):
        raise InputError(f"{text!r} is not a node and its domain", hint="write two names: a north")
    node = graph.id(fields[0])
    if node in domains:
        raise InputError(f"the node {fields[0]} already has the domain {domains[node]}", hint="keep one line")
    domains[node] = fields[1]
