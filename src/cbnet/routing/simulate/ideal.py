"""The fewest packets that reach all interested nodes by shortest paths, exact for small cases [2006 §2.3].

All shortest paths from the source form an acyclic graph, with an edge (a, b) if it ends a shortest path to b. A
latency-minimal delivery is a tree in that graph, and the smallest one is a Steiner tree, found by dynamic programming
over sets of destinations: the tree at a for a set is a tree at a neighbour plus one edge, or the union of two trees
at a for subsets of the set.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from cbnet.errors import InputError
from cbnet.routing.network import Network
from cbnet.routing.simulate.delivery import DeliveryTree
from cbnet.routing.simulate.verdict import judge
from cbnet.topology import distances

MAX_DESTINATIONS = 10  # 3**10 pairs of a set and a subset of it, for each node


def is_ideal(network: Network, delivery: DeliveryTree) -> bool:
    """Return whether a delivery is latency-minimal with the fewest packets possible."""
    interested = [x for x in network.interested(delivery.message) if x != delivery.source]
    is_minimal = judge(network, delivery).is_latency_minimal
    return is_minimal and delivery.cost == fewest_packets(network, delivery.source, interested)


def fewest_packets(network: Network, source: int, destinations: Collection[int]) -> int:
    """Return the number of packets of the smallest latency-minimal delivery."""
    targets = sorted(set(destinations) - {source})
    if len(targets) > MAX_DESTINATIONS:
        raise InputError(f"the search is exact up to {MAX_DESTINATIONS} destinations, not for {len(targets):,}")
    (lengths,) = distances(network.graph, [source])
    best = np.full((1 << len(targets), len(network)), np.inf)
    best[0] = 0
    for number, x in enumerate(targets):
        best[1 << number, x] = 0
    steps = _steps(network, lengths)
    for chosen in range(1, len(best)):
        part = (chosen - 1) & chosen
        while part > chosen ^ part:  # every split into two subsets once
            np.minimum(best[chosen], best[part] + best[chosen ^ part], out=best[chosen])
            part = (part - 1) & chosen
        row = best[chosen].tolist()
        for a, b in steps:
            row[a] = min(row[a], row[b] + 1)
        best[chosen] = row
    return int(best[-1, source])


def _steps(network: Network, lengths: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return the edges (a, b) that end a shortest path to b, those to the farthest b first."""
    edges = [*network.graph.edges()]
    both = [*edges, *((v, u, weight) for u, v, weight in edges)]
    steps = [(a, b) for a, b, weight in both if lengths[a] + weight == lengths[b]]
    return sorted(steps, key=lambda step: -lengths[step[1]])
