"""Totals of requests and replies over many requesters [2014 §2, §3].

A request goes to one holder, which the routers choose (`holder_choice`), and its reply returns on the same tree. The
length of its path is compared with the distance to the nearest holder in the graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from cbnet.language import Message
from cbnet.routing.multitree.multitree import MultiTree
from cbnet.routing.network import Network
from cbnet.routing.simulate.pull import pull
from cbnet.topology import distances


@dataclass
class PullTotals:
    """Sums over requests."""

    requests: int = 0
    answered: int = 0
    unmatched: int = 0  # no offer matches
    request_packets: int = 0
    reply_packets: int = 0
    extra: float = 0.0  # length of the paths to holders beyond the distance to the nearest one
    holders: Counter[int] = field(default_factory=Counter)  # requests that each answered

    @property
    def missed(self) -> int:
        """Requests that an offer matches, but that were not answered."""
        return self.requests - self.answered - self.unmatched

    @property
    def busiest(self) -> float:
        """The share of the answered requests that one holder answered."""
        return max(self.holders.values(), default=0) / max(1, self.answered)


def sweep_pulls(scheme: MultiTree, traffic: Iterable[tuple[int, Message]]) -> PullTotals:
    """Send requests, each from its requester, and follow them and their replies."""
    totals = PullTotals()
    offers = Network(scheme.network.graph, scheme.offers.predicates)
    for requester, request in traffic:
        outcome = pull(scheme, requester, request)
        holders = offers.interested(request)
        totals.requests += 1
        totals.unmatched += not holders
        totals.request_packets += len(outcome.packets)
        totals.reply_packets += len(outcome.reply_packets)
        if outcome.is_answered and outcome.holder is not None:
            nearest = int(distances(scheme.network.graph, [requester])[0][holders].min())
            totals.answered += 1
            totals.holders[outcome.holder] += 1
            taken = outcome.packets[-1].latency if outcome.packets else 0
            totals.extra += (taken - nearest) / scheme.network.graph.scale
    return totals
