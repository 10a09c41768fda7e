"""GatewayPort tree: which gateways pass messages on, so that domains hang together and nothing goes round in circles?

Gateways join domains as bridges join the segments of a local network, and agree on a tree as bridges do, with
two differences: what they tell is a record of their domain and lives as long as they can be reached in it, and it
names the whole path, so that a path over one that has died does not come back to who passed it on.

    path       the gateways from the root to the one that tells it: (g1, g4, g7)
    better    a smaller root, then a shorter path, then smaller names

A gateway takes the best path that it hears and adds itself; if none has a root that is smaller than itself, it is the
root. It is active in the domain that its path comes from, and in each domain where no other gateway tells a better path
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

    path: GatewayPath
    active: frozenset[int]  # sides


def tree_position(me: str, heard: Sequence[Collection[GatewayPath]]) -> TreePosition:
    """Return the place of a gateway in the tree, by the paths that it hears on each of its sides."""
    others = [[path for path in paths if me not in path] for paths in heard]  # else it hangs on this one
    offers = [
        (_rank(path), side)
        for side, paths in enumerate(others)
        for path in paths
        if path[0] < me and len(path) < MAX_GATEWAYS
    ]
    own: GatewayPath = (me,)
    to_root: set[int] = set()
    if offers:
        (_, _, path), side = min(offers)
        own, to_root = (*path, me), {side}
    leads = {side for side, paths in enumerate(others) if all(_rank(own) < _rank(path) for path in paths)}
    return TreePosition(own, frozenset(to_root | leads))


def _rank(path: GatewayPath) -> tuple[str, int, GatewayPath]:
    return path[0], len(path), path
