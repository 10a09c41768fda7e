"""Routing: who must hear what, and by which way? The schemes of [2006] and [2014], delivery trees, verdicts and memory.

network ─► scheme ─► router(u): init, hdr, fwd, state
              └────► deliver ─► judge ─► sweep
"""

from cbnet.routing.network import Network
from cbnet.routing.scheme import SCHEMES, Router, Scheme, scheme
from cbnet.routing.simulate.delivery import Delivery, Packet, deliver
from cbnet.routing.simulate.sweep import Totals, sweep
from cbnet.routing.simulate.verdict import Verdict, judge
from cbnet.routing.state import State

__all__ = [
    "SCHEMES", "Delivery", "Network", "Packet", "Router", "Scheme", "State", "Totals", "Verdict",
    "deliver", "judge", "scheme", "sweep",
]  # fmt: skip
