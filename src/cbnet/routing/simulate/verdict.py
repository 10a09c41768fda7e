"""Verdict: was a message delivered as it should be? Correct, without waste, without detours [2006 §2.3].

Who is interested is asked of the predicates as they were given, by a table of their own, and distances are asked of the
graph: neither of the scheme. The source has its message already and is not counted among the receivers.
"""

from __future__ import annotations

from dataclasses import dataclass

from cbnet.routing.network import Network
from cbnet.routing.simulate.delivery import DeliveryTree


@dataclass(frozen=True)
class Verdict:
    """What is to be said of one delivery."""

    delivered: int  # interested nodes that were reached
    missed: int  # interested nodes that were not
    spurious: int  # packets that led to no interested node, neither at once nor later
    duplicates: int  # packets to a node that was reached before, or to the source
    packets: int
    header_bytes: int
    stretches: tuple[float, ...]  # for each delivered: the way taken over the shortest way
    late: int  # delivered, but not by a shortest way
    is_cut: bool  # whether packets were still being sent at the limit

    @property
    def is_correct(self) -> bool:
        """Whether all interested nodes were reached, and the packets came to an end."""
        return not self.missed and not self.is_cut

    @property
    def is_latency_minimal(self) -> bool:
        """Whether all interested nodes were reached by a shortest way."""
        return not self.missed and not self.late


def judge(network: Network, delivery: DeliveryTree) -> Verdict:
    """Return the verdict on a delivery."""
    source, latencies = delivery.source, delivery.latencies
    interested = set(network.interested(delivery.message)) - {source}
    reached = interested & latencies.keys()
    ways = [(latencies[x], int(network.distances(source)[network.rank[x]])) for x in sorted(reached)]
    return Verdict(
        delivered=len(reached),
        missed=len(interested) - len(reached),
        spurious=_useful(delivery, interested).count(False),
        duplicates=delivery.cost - (len(latencies) - 1),
        packets=delivery.cost,
        header_bytes=delivery.header_bytes,
        stretches=tuple(taken / shortest for taken, shortest in ways),
        late=sum(taken > shortest for taken, shortest in ways),
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
    """Return for each packet whether an interested node is reached by it, or later because of it."""
    useful = [packet.receiver in interested for packet in delivery.packets]
    for number in range(len(useful) - 1, -1, -1):  # causes stand before
        cause = delivery.packets[number].cause
        if useful[number] and cause >= 0:
            useful[cause] = True
    return useful
