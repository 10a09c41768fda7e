"""Bridges: edges whose removal disconnects a graph.

One depth-first search (Tarjan): an edge down to a node is a bridge if no edge from the node or below it
leads back above it. `low` is the earliest node, in the order of the search, that such edges reach.
"""

from __future__ import annotations

from cbnet.topology.graph.graph import Graph


def bridges(graph: Graph) -> list[tuple[int, int]]:
    """Return every edge whose removal separates its ends, as (smaller, larger), ascending."""
    offsets, targets = graph.offsets.tolist(), graph.targets.tolist()
    step = 0
    order = [-1] * len(graph)
    low = [0] * len(graph)
    unread = offsets[:-1]  # the offset of the next neighbour of each node
    edges = []
    for root in range(len(graph)):
        path = [root] if order[root] < 0 else []  # from the root to the current node
        while path:
            node = path[-1]
            above = path[-2] if len(path) > 1 else -1
            if order[node] < 0:
                order[node] = low[node] = step
                step += 1
            if unread[node] == offsets[node + 1]:
                path.pop()
                if above >= 0:
                    low[above] = min(low[above], low[node])
                    if low[node] > order[above]:
                        edges.append((min(node, above), max(node, above)))
                continue
            neighbour = targets[unread[node]]
            unread[node] += 1
            if order[neighbour] < 0:
                path.append(neighbour)
            elif neighbour != above:
                low[node] = min(low[node], order[neighbour])
    return sorted(edges)
