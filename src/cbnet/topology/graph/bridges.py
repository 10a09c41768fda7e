"""Bridges: without which edges would a graph fall apart?

One walk in depth (Tarjan): an edge down to a node is a bridge if nothing below it has an edge that
leads back above it. `low` is the earliest node, in the order of the walk, that such edges reach.
"""

from __future__ import annotations

from cbnet.topology.graph.graph import Graph


def bridges(graph: Graph) -> list[tuple[int, int]]:
    """Return every edge whose removal separates its ends, as (smaller, larger), ascending."""
    offsets, targets = graph.offsets.tolist(), graph.targets.tolist()
    step = 0
    order = [-1] * len(graph)
    low = [0] * len(graph)
    unread = offsets[:-1]  # the place of the next neighbour of each node
    found = []
    for root in range(len(graph)):
        way = [root] if order[root] < 0 else []  # from the root to the node where the walk is
        while way:
            node = way[-1]
            above = way[-2] if len(way) > 1 else -1
            if order[node] < 0:
                order[node] = low[node] = step
                step += 1
            if unread[node] == offsets[node + 1]:
                way.pop()
                if above >= 0:
                    low[above] = min(low[above], low[node])
                    if low[node] > order[above]:
                        found.append((min(node, above), max(node, above)))
                continue
            neighbour = targets[unread[node]]
            unread[node] += 1
            if order[neighbour] < 0:
                way.append(neighbour)
            elif neighbour != above:
                low[node] = min(low[node], order[neighbour])
    return sorted(found)
