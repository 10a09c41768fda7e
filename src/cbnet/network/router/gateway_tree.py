"""GatewayPort tree: which gateways pass messages on, so that domains hang together and nothing goes round in circles?

Gateways join domains as bridges join the segments of a local network, and agree on a tree as bridges do, with
two differences: what they tell is a record of their domain and lives as long as they can be reached in it, and it
names the whole way, so that a way over one that has died does not come back to who passed it on.

    way       the gateways from the root to the one that tells it: (g1, g4, g7)
    better    a smaller root, then a shorter way, then smaller names

A gateway takes the best way that it hears and adds itself; if none has a root that is smaller than itself, it is the
root. It is active in the domain that its way comes from, and in each domain where no other gateway tells a better way
than its own. So in every domain one gateway leads to the root, and a gateway that would close a circle is active on one
side alone: it passes nothing on, until it hears that another has gone.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from cbnet.network.protocol.fields import MAX_GATEWAYS
from cbnet.network.router.gateway_port import GatewayPath


class TreePosition(NamedTuple):
    """Where a gateway stands in the tree."""

    way: GatewayPath
    active: frozenset[int]  # sides


def tree_position(me: str, heard: Sequence[Collection[GatewayPath]]) -> TreePosition:
    """Return the place of a gateway in the tree, by the ways that it hears on each of its sides."""
    others = [[way for way in ways if me not in way] for ways in heard]  # else it hangs on this one
    offers = [
        (_rank(way), side)
        for side, ways in enumerate(others)
        for way in ways
        if way[0] < me and len(way) < MAX_GATEWAYS
    ]
    own: GatewayPath = (me,)
    to_root: set[int] = set()
    if offers:
        (_, _, way), side = min(offers)
        own, to_root = (*way, me), {side}
    leads = {side for side, ways in enumerate(others) if all(_rank(own) < _rank(way) for way in ways)}
    return TreePosition(own, frozenset(to_root | leads))


def _rank(way: GatewayPath) -> tuple[str, int, GatewayPath]:
    return way[0], len(way), way
