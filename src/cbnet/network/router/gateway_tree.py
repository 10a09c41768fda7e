"""Spanning tree of gateways, which keeps messages from circulating between domains.

Gateways join domains as bridges join the segments of a local network, and agree on a tree as bridges do, with two
differences: a path is announced in the gateway's link record, so it is valid while the gateway is reachable; and it
lists all gateways, so a path over a dead one is never accepted back by a gateway that announced it.

    path      the gateways from the root to the one that announces it: (g1, g4, g7)
    better    smaller root, then shorter path, then smaller names

A gateway adopts the best path that it receives and appends itself; if no path has a smaller root than itself, it is the
root. It is active in the domain its path comes from, and in each domain where no other gateway announces a better path
than its own. So in every domain one gateway leads to the root, and a gateway that would close a cycle is active on one
side only: it forwards nothing, until another gateway disappears.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, TypeAlias

from cbnet.network.protocol.fields import MAX_GATEWAYS

Path: TypeAlias = tuple[str, ...]  # of gateways: from the root of the gateway tree to the one that announces it


class TreePosition(NamedTuple):
    """The path of a gateway in the tree, and the sides where it is active."""

    path: Path
    active: frozenset[int]


def tree_position(me: str, received: Sequence[Collection[Path]]) -> TreePosition:
    """Return the position of a gateway in the tree, given the paths announced on each of its sides."""
    others = [[path for path in paths if me not in path] for paths in received]  # else it depends on this one
    candidates = [
        (_rank(path), side)
        for side, paths in enumerate(others)
        for path in paths
        if path[0] < me and len(path) < MAX_GATEWAYS
    ]
    own: Path = (me,)
    to_root: set[int] = set()
    if candidates:
        (_, _, path), side = min(candidates)
        own, to_root = (*path, me), {side}
    leads = {side for side, paths in enumerate(others) if all(_rank(own) < _rank(path) for path in paths)}
    return TreePosition(own, frozenset(to_root | leads))


def _rank(path: Path) -> tuple[str, int, Path]:
    return path[0], len(path), path
