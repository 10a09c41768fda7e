"""Small networks with ties between shortest paths, and random ones."""

from __future__ import annotations

from collections.abc import Iterable

from numpy.random import Generator

from cbnet.language.message import Message
from cbnet.routing import Network
from cbnet.topology import Graph

TRIANGLE = "1-2:1 2-3:1 1-3:2"  # two shortest paths from 1 to 3
TIES = "v-a:1 v-b:1 a-x:1 a-y:1 b-x:1 b-y:1"  # two shortest paths from v to x and to y

# Predicates of receivers in random networks, and messages that distinguish all of them.
PREDICATES = ("k = 0", "k = 1", "k = 2", "k < 2", "k > 1", "k != 1", "k = 0 or k = 3", "k = 1 or j = 1", "true")
MESSAGES = (*(Message({"k": k}) for k in range(4)), Message({"k": 2, "j": 1}), Message({"j": 1}))


def parse_graph(text: str) -> Graph:
    """Return the graph of a text such as 1-5:1 1-6:4."""
    edges = [edge.replace(":", "-").split("-") for edge in text.split()]
    return Graph.from_edges((u, v, weight) for u, v, weight in edges)


class NamedNetwork:
    """A network in which the predicate of each node is a tag, its name."""

    def __init__(self, text: str) -> None:
        self.graph = parse_graph(text)
        self.network = Network(self.graph, {u: f'#"{self.graph.name(u)}"' for u in range(len(self.graph))})

    def id(self, name: int | str) -> int:
        """Return the id of a node."""
        return self.graph.id(str(name))

    def names(self, ids: Iterable[int]) -> str:
        """Return the names of some nodes, in order."""
        return ", ".join(sorted((str(self.graph.name(int(u))) for u in ids), key=lambda name: (len(name), name)))

    def message(self, *receivers: int | str) -> Message:
        """Return a message that these nodes match."""
        return Message(tags=map(str, receivers))


def random_graph(rng: Generator, nodes: int, extra: int, *, unique: bool) -> Graph:
    """Return a random connected graph: a tree and some extra edges.

    unique: lengths are distinct powers of two, so no two paths are equally long. Otherwise they are 1 and 2, so ties
    are common.
    """
    edges = {(int(rng.integers(child)), child) for child in range(1, nodes)}
    others = [(u, v) for u in range(nodes) for v in range(u + 1, nodes) if (u, v) not in edges]
    chosen = rng.permutation(len(others))[:extra]
    every = [*sorted(edges), *(others[number] for number in chosen)]
    lengths = 1 << rng.permutation(len(every)) if unique else rng.integers(1, 3, size=len(every))
    return Graph.from_edges((u, v, int(length)) for (u, v), length in zip(every, lengths, strict=True))


def random_network(rng: Generator, graph: Graph) -> Network:
    """Return a network in which about two thirds of the nodes are receivers."""
    receivers = [u for u in range(len(graph)) if rng.random() < 2 / 3]
    return Network(graph, {u: str(rng.choice(PREDICATES)) for u in receivers})
