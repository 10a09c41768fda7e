"""Partition of a graph into connected domains, specified or computed [2014 §3.1].

A computed domain has a centre, and a node belongs to the nearest centre; of several equally near, to the first. The
first centre is the node with the most neighbours. Each next one maximises the number of neighbours times the distance
from the centres so far: centres are well connected, and far apart.

    Such a domain is connected, by shortest paths to its centre. Let y lie on a shortest path from x to its centre c.
    A centre nearer to y would be nearer to x as well; one equally near to y is equally near to x, and c came first
    for x. So y belongs to c too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cbnet.errors import InputError
from cbnet.topology.graph import Graph, Ids
from cbnet.topology.shortest_paths import distances
from cbnet.topology.traversal import components


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
