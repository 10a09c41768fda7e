"""Cost of false positives of a tree in the header, predicted and measured [2014 §3].

A link off the tree is taken with probability f (`tree_header.false_positive`). A packet that arrived over a link may be
forwarded over each of the others, so with p = 1 for a link of the tree at its hop and p = f for any other,

    E_i(u→w) = p_i(u→w) · Σ E_{i-1}(x→u), over the neighbours x ≠ w of u

is the expected number of packets over u→w at hop i, and their sum minus the links of the tree is the expected excess.
No path meets the same id twice, so the probabilities multiply; but they share one filter, and f is that of a filter
with an average fill. With few links and few hashes the fill varies, and the prediction is slightly low.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cbnet.language.filter import Descriptor
from cbnet.language.message import Message
from cbnet.language.predicate import Predicate
from cbnet.routing.network import Network
from cbnet.routing.scheme import header_bytes
from cbnet.routing.schemes.tree_header import DirectedLink, TreeHeader, false_positive
from cbnet.routing.simulate.delivery import deliver
from cbnet.routing.simulate.verdict import judge
from cbnet.topology import Graph

Counts: TypeAlias = NDArray[np.float64]


class Spread:
    """The expected number of packets of deliveries over a graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._from = np.repeat(np.arange(len(graph)), graph.degrees)
        self._back = np.lexsort((self._from, graph.targets))  # the row of each link in the other direction

    def packets(self, source: int, links: Sequence[DirectedLink], chance: float) -> float:
        """Return the expected number of packets if every other link is taken with probability `chance`."""
        graph, total = self._graph, 0.0
        before: Counts = np.zeros(len(graph.targets))
        arrived: Counts = np.zeros(len(graph))
        arrived[source] = 1.0
        for left in range(max((link.left for link in links), default=0), 0, -1):
            chances = np.full(len(graph.targets), chance)
            chances[[self._row(link) for link in links if link.left == left]] = 1.0
            sent = chances * (arrived[self._from] - before[self._back])
            arrived = np.bincount(graph.targets, weights=sent, minlength=len(graph)).astype(np.float64)
            before = sent
            total += float(sent.sum())
        return total

    def _row(self, link: DirectedLink) -> int:
        """Return the row of a link in the graph."""
        neighbours = self._graph.neighbours(link.u)
        return int(self._graph.offsets[link.u]) + int(np.searchsorted(neighbours, link.w))


@dataclass(frozen=True)
class HeaderCost:
    """The cost of deliveries to a number of receivers, as means over the messages."""

    receivers: int
    hashes: int
    links: float  # of the delivery tree
    header_bits: float  # on the wire
    chance: float  # of a false positive per link
    expected: float  # packets beyond the links of the tree, predicted
    excess: float  # the same, measured
    duplicates: float  # of these, packets to nodes that already had the message
    missed: int  # total


def header_costs(
    graph: Graph, receivers: Iterable[int], hashes: Iterable[int], *, bits: int | None = None, messages: int = 100,
    seed: int = 0,
) -> Iterator[HeaderCost]:  # fmt: skip
    """Yield the cost for each number of receivers and of hashes.

    Sources and receivers are random, and the same for all numbers of hashes; `bits` sets the size of the filter.
    """
    own = {x: Predicate([Descriptor([str(x)])]) for x in range(len(graph))}  # each node subscribes to a tag of its own
    network = Network(graph, own)
    spread = Spread(graph)
    numbers = list(hashes)
    for count in receivers:
        rng = random.Random(f"header {seed} {count}")
        chosen = [rng.sample(range(len(graph)), count + 1) for _ in range(messages)]
        traffic = [(source, Message(tags=map(str, others))) for source, *others in chosen]
        for number in numbers:
            yield _cost(TreeHeader(network, hashes=number, bits=bits), count, traffic, spread)


def _cost(scheme: TreeHeader, receivers: int, traffic: Sequence[tuple[int, Message]], spread: Spread) -> HeaderCost:
    rows, missed = [], 0
    for source, message in traffic:
        links = scheme.delivery_tree(source, message)
        header = scheme.router(source).init(message)
        chance = false_positive(len(links), scheme.hashes, len(header.filter))
        verdict = judge(scheme.network, deliver(scheme, source, message))
        expected = spread.packets(source, links, chance) - len(links)
        excess = verdict.packets - len(links)
        rows.append((len(links), 8 * header_bytes(header), chance, expected, excess, verdict.duplicates))
        missed += verdict.missed
    length, bits, chance, expected, excess, duplicates = np.mean(rows, axis=0).tolist()
    return HeaderCost(receivers, scheme.hashes, length, bits, chance, expected, excess, duplicates, missed)
