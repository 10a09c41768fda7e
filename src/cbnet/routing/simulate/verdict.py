"""Verdicts on deliveries and their totals: missed nodes, spurious packets, duplicates, stretch, ideal cost [2006 §2.3].

Interested nodes come from the unreduced predicates and distances from the graph, both independent of the scheme. The
source has its message already and does not count as a receiver.

A delivery is ideal if it reaches all interested nodes by shortest paths with the fewest packets. All shortest paths
from the source form an acyclic graph, with an edge (a, b) if it ends a shortest path to b. A latency-minimal delivery
is a tree in that graph, and the smallest one is a Steiner tree, found by dynamic programming over sets of destinations:
the tree at a for a set is a tree at a neighbour plus one edge, or the union of two trees at a for subsets of the set.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cbnet.errors import InputError
from cbnet.language.message import Message
from cbnet.routing.network import Network
from cbnet.routing.scheme import Scheme
from cbnet.routing.simulate.delivery import DeliveryTree, deliver
from cbnet.topology import distances


@dataclass(frozen=True)
class Verdict:
    """The verdict on one delivery."""

    delivered: int  # interested nodes that were reached
    missed: int  # interested nodes that were not reached
    spurious: int  # packets that led to no interested node, directly or later
    duplicates: int  # packets to a node that was reached before, or to the source
    packets: int
    header_bytes: int
    stretches: tuple[float, ...]  # for each delivered node: path length over distance
    late: int  # interested nodes that were reached, but not by a shortest path
    is_cut: bool  # whether the packet limit was reached

    @property
    def is_correct(self) -> bool:
        """Whether all interested nodes were reached within the packet limit."""
        return not self.missed and not self.is_cut

    @property
    def is_latency_minimal(self) -> bool:
        """Whether all interested nodes were reached by a shortest path."""
        return not self.missed and not self.late


def judge(network: Network, delivery: DeliveryTree) -> Verdict:
    """Return the verdict on a delivery."""
    source, latencies = delivery.source, delivery.latencies
    interested = set(network.interested(delivery.message)) - {source}
    reached = interested & latencies.keys()
    lengths = [(latencies[x], int(network.distances(source)[network.rank[x]])) for x in sorted(reached)]
    return Verdict(
        delivered=len(reached),
        missed=len(interested) - len(reached),
        spurious=_useful(delivery, interested).count(False),
        duplicates=delivery.cost - (len(latencies) - 1),
        packets=delivery.cost,
        header_bytes=delivery.header_bytes,
        stretches=tuple(taken / shortest for taken, shortest in lengths),
        late=sum(taken > shortest for taken, shortest in lengths),
        is_cut=delivery.is_cut,
    )


def _useful(delivery: DeliveryTree, interested: set[int]) -> list[bool]:
    """Return for each packet whether it, or a packet that it caused, reached an interested node."""
    useful = [packet.receiver in interested for packet in delivery.packets]
    for number in range(len(useful) - 1, -1, -1):  # causes come first
        cause = delivery.packets[number].cause
        if useful[number] and cause >= 0:
            useful[cause] = True
    return useful


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


@dataclass
class Totals:
    """Sums over deliveries."""

    messages: int = 0
    delivered: int = 0
    missed: int = 0
    spurious: int = 0
    duplicates: int = 0
    packets: int = 0
    header_bytes: int = 0
    stretch_sum: float = 0.0
    stretch_max: float = 1.0
    cut: int = 0  # messages that reached the packet limit
    ideal_checked: int = 0  # deliveries with few enough interested nodes for an exact search, if requested
    ideal: int = 0  # ideal ones among them

    @property
    def stretch_mean(self) -> float:
        """The mean over all deliveries to interested nodes."""
        return self.stretch_sum / self.delivered if self.delivered else 1.0


def sweep(
    scheme: Scheme, traffic: Iterable[tuple[int, Message]], *, limit: int | None = None, check_ideal: bool = False
) -> Totals:
    """Deliver messages, each from its source, and judge every delivery.

    check_ideal: also search for smaller deliveries, where one to MAX_DESTINATIONS nodes are interested.
    """
    totals = Totals()
    for source, message in traffic:
        delivery = deliver(scheme, source, message, limit=limit)
        verdict = judge(scheme.network, delivery)
        if check_ideal and 0 < verdict.delivered + verdict.missed <= MAX_DESTINATIONS:
            totals.ideal_checked += 1
            totals.ideal += is_ideal(scheme.network, delivery)
        totals.messages += 1
        for name in ("delivered", "missed", "spurious", "duplicates", "packets", "header_bytes"):
            setattr(totals, name, getattr(totals, name) + getattr(verdict, name))
        totals.stretch_sum += sum(verdict.stretches)
        totals.stretch_max = max(totals.stretch_max, *verdict.stretches) if verdict.stretches else totals.stretch_max
        totals.cut += verdict.is_cut
    return totals
