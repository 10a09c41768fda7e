"""Routing: who must hear what, and by which way? The schemes of [2006] and [2014], delivery trees, verdicts and memory.

network ─► scheme ─► router(u): init, hdr, fwd, state
              └────► deliver ─► judge ─► sweep
"""

from cbnet.routing.delivery import Delivery, Packet, deliver
from cbnet.routing.memory import State
from cbnet.routing.network import Network
from cbnet.routing.scheme import SCHEMES, Router, Scheme, scheme
from cbnet.routing.sweep import Totals, sweep
from cbnet.routing.verdict import Verdict, judge

__all__ = [
    "SCHEMES", "Delivery", "Network", "Packet", "Router", "Scheme", "State", "Totals", "Verdict",
    "deliver", "judge", "scheme", "sweep",
]  # fmt: skip
