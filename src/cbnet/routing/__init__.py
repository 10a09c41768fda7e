"""Routing schemes of [2006] and [2014], simulated deliveries, verdicts and memory.

A scheme makes the routers of a network; simulated deliveries use them.

    network ─► scheme ─► router(u): init, hdr, fwd, state
                  └────► deliver ─► judge ─► sweep
"""

from cbnet.routing.network import Network
from cbnet.routing.router_state import RouterState
from cbnet.routing.scheme import SCHEMES, Scheme, SchemeRouter, scheme
from cbnet.routing.simulate.delivery import DeliveryTree, SentPacket, deliver
from cbnet.routing.simulate.verdict import Totals, Verdict, judge, sweep

__all__ = [
    "SCHEMES",
    "DeliveryTree",
    "Network",
    "RouterState",
    "Scheme",
    "SchemeRouter",
    "SentPacket",
    "Totals",
    "Verdict",
    "deliver",
    "judge",
    "scheme",
    "sweep",
]  # fmt: skip
