"""The simulated paths of a request and its reply [2014 §2, §3].

    requester ──► … ──► holder        the request, from router to router by offers
    requester ◄── … ◄── holder        the reply, by the requester's locator: the same path on a tree

A reply must match the request. A reply that does not is dropped at the router of the holder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cbnet.language.message import Message
from cbnet.language.roles import answers
from cbnet.routing.multitree.multitree import MultiTree
from cbnet.routing.scheme import Header
from cbnet.routing.simulate.delivery import SentPacket

Answer = Callable[[int, Message], Message]


@dataclass(frozen=True)
class PullOutcome:
    """The outcome of a request."""

    requester: int
    request: Message
    packets: list[SentPacket]  # of the request
    holder: int | None  # the node that received it; None if no offer matches
    reply: Message | None
    reply_packets: list[SentPacket]
    is_dropped: bool = False  # whether the reply did not match the request

    @property
    def is_answered(self) -> bool:
        """Whether the reply reached the requester."""
        at = self.reply_packets[-1].receiver if self.reply_packets else self.holder
        return self.reply is not None and not self.is_dropped and at == self.requester


def pull(
    scheme: MultiTree, requester: int, request: Message, answer: Answer = lambda _, request: request
) -> PullOutcome:
    """Send a request and its reply, and follow both.

    `answer` returns the reply of a holder; by default the request itself, the smallest valid reply.
    """
    header = scheme.router(requester).init_request(request)
    packets = _follow(scheme, requester, header, request)
    last = packets[-1].receiver if packets else requester
    router = scheme.router(last)
    if not router.has(request):
        return PullOutcome(requester, request, packets, None, None, [])
    reply = answer(last, request)
    if not answers(reply, request):
        return PullOutcome(requester, request, packets, last, reply, [], is_dropped=True)
    last_header = packets[-1].header if packets else header
    return PullOutcome(
        requester, request, packets, last, reply, _follow(scheme, last, router.init_reply(last_header), reply)
    )


def _follow(scheme: MultiTree, u: int, header: Header, message: Message) -> list[SentPacket]:
    """Return the packets of a message that is forwarded to one neighbour at a time."""
    packets: list[SentPacket] = []
    latency = 0
    for number in range(len(scheme.network)):  # no path on a tree is longer
        hops = scheme.router(u).fwd(header, message)
        if not hops:
            break
        (w,) = hops
        header = scheme.router(u).hdr(header, w)
        latency += scheme.network.graph.weight(u, w)
        packets.append(SentPacket(number - 1, u, w, header, latency))
        u = w
    return packets
