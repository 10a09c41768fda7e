"""The simulated delivery of a message: the tree of all packets sent [2006 §2.2].

    root  ⟨init(m)⟩ at the source
     ├── packet to w1        a vertex for every packet sent, even if two reach the same node
     │    └── packet to …
     └── packet to w2

The packet from u to w carries the header that `hdr` of u returns. (§2.2 prints the header function of w; §2.1 has it
right.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from cbnet.errors import InputError
from cbnet.language.message import Message
from cbnet.routing.scheme import Header, Scheme, header_bytes

_MAX_PACKETS_PER_NODE = 100


class SentPacket(NamedTuple):
    """A packet that was sent over a link."""

    cause: int  # the number of the packet whose arrival caused it; -1 at the source
    sender: int
    receiver: int
    header: Header
    latency: int  # the length of the path from the source


@dataclass(frozen=True)
class DeliveryTree:
    """All packets of one message in sending order, each after its cause."""

    source: int
    message: Message
    packets: list[SentPacket]
    is_cut: bool  # whether the packet limit was reached

    @property
    def latencies(self) -> dict[int, int]:
        """The length of the shortest path that the message took to each node; 0 at the source."""
        reached = {self.source: 0}
        for packet in self.packets:
            before = reached.get(packet.receiver)
            if before is None or packet.latency < before:
                reached[packet.receiver] = packet.latency
        return reached

    @property
    def cost(self) -> int:
        """The number of packets."""
        return len(self.packets)

    @property
    def header_bytes(self) -> int:
        """The bytes of all headers on the wire."""
        return sum(header_bytes(packet.header) for packet in self.packets)

    @property
    def edges(self) -> set[tuple[int, int]]:
        """The links that were used, from sender to receiver."""
        return {(packet.sender, packet.receiver) for packet in self.packets}


def deliver(scheme: Scheme, source: int, message: Message, *, limit: int | None = None) -> DeliveryTree:
    """Send a message from a node and follow every packet; stop at `limit` packets, by default 100 per node."""
    network = scheme.network
    if not network.is_sender(source):
        raise InputError(f"node {network.graph.name(source)} is not a sender", hint="add it to the senders")
    max_packets = _MAX_PACKETS_PER_NODE * len(network) if limit is None else limit
    weight = network.graph.weight
    packets: list[SentPacket] = []
    queue = [SentPacket(-1, source, source, scheme.router(source).init(message), 0)]
    cause = -1
    for arrived in queue:  # grows during the loop
        u = arrived.receiver
        router = scheme.router(u)
        for w in router.fwd(arrived.header, message):
            if len(packets) == max_packets:
                return DeliveryTree(source, message, packets, is_cut=True)
            sent = SentPacket(cause, u, w, router.hdr(arrived.header, w), arrived.latency + weight(u, w))
            packets.append(sent)
            queue.append(sent)
        cause += 1
    return DeliveryTree(source, message, packets, is_cut=False)
