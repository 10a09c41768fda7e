"""Verdicts on deliveries: missed nodes, spurious packets, duplicates, stretch [2006 §2.3].

Interested nodes come from the unreduced predicates and distances from the graph, both independent of the scheme. The
source has its message already and does not count as a receiver.
"""

from __future__ import annotations

from dataclasses import dataclass

from cbnet.routing.network import Network
from cbnet.routing.simulate.delivery import DeliveryTree


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


def spurious_nodes(network: Network, delivery: DeliveryTree) -> set[int]:
    """Return the nodes that only spurious packets reached."""
    useful = _useful(delivery, set(network.interested(delivery.message)) - {delivery.source})
    reached = {True: {delivery.source}, False: set()}
    for packet, is_useful in zip(delivery.packets, useful, strict=True):
        reached[is_useful].add(packet.receiver)
    return reached[False] - reached[True]


def _useful(delivery: DeliveryTree, interested: set[int]) -> list[bool]:
    """Return for each packet whether it, or a packet that it caused, reached an interested node."""
    useful = [packet.receiver in interested for packet in delivery.packets]
    for number in range(len(useful) - 1, -1, -1):  # causes come first
        cause = delivery.packets[number].cause
        if useful[number] and cause >= 0:
            useful[cause] = True
    return useful
