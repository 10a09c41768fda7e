"""A routing tree as seen by one router: its tree neighbours, and the nodes behind each.

             ┌─ near_key ──►
    … ── this router ───── neighbour ── …        near_key: of this router's side, announced to the neighbour
         └── near ──┘      └─ behind ─┘          far_key:  of the neighbour's side, announced to this router
             ◄── far_key ──┘

The key of a side is a hash of its nodes, of the tree links between them, and of the sessions of these links. Two trees,
or two versions of the topology, thus have the same key at a link only if the same nodes are connected by the same
sessions: one announcement then serves both. `side` and `near` are hashes of the nodes alone, for packets.

A shared tree is used in both directions. The tree of one source is used away from its root only: a router receives the
announcements of its children, and announces its side to its parent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from cbnet.topology import Tree

KEY_BYTES = 16
_KEYS = (1 << 8 * KEY_BYTES) - 1
_HASHES = (1 << 63) - 1


class TreeLink(NamedTuple):
    """A link of a tree to one neighbour."""

    neighbour: str
    session: int
    receives: bool  # whether the side behind the neighbour is announced to this router
    announces: bool  # whether this router's side is announced to the neighbour
    far_key: bytes  # key of the side behind the neighbour
    matched: bytes  # key of the side whose stream decides what is sent to the neighbour; it has all nodes of `far_key`
    near_key: bytes  # key of this router's side
    behind: frozenset[str]  # nodes on the neighbour's side
    side: int  # hash of these nodes
    near: int  # hash of the nodes on this router's side


@dataclass(frozen=True)
class TreeView:
    """A tree: its number and root, and the links of this router on it."""

    number: int
    root: str
    links: Mapping[str, TreeLink]  # by neighbour


def view_tree(
    number: int,
    tree: Tree,
    names: Sequence[str],
    me: int,
    sessions: Mapping[tuple[str, str], int],
    *,
    is_shared: bool = True,
) -> TreeView:
    """Return a tree as seen by a node; sessions: of all links, by the names of both ends, the smaller first.

    is_shared: whether the tree is used in both directions.
    """
    neighbours = _neighbours(tree)
    order, toward = _outward(neighbours, me)
    parts = [0] * len(names)  # hash of the link toward this node and of the side behind it
    keys = [b""] * len(names)
    hashes = [_name_hash(name) for name in names]
    nodes: list[list[str]] = [[name] for name in names]
    totals = [0] * len(names)  # of the parts of the nodes behind
    for x in reversed(order):
        keys[x] = _key(names[x], totals[x])
        if x != me:
            near = toward[x]
            parts[x] = _part(_session(sessions, names[x], names[near]), keys[x])
            totals[near] = totals[near] + parts[x] & _KEYS
            if near != me:
                hashes[near] += hashes[x]
                nodes[near] += nodes[x]
    all_nodes = sum(hashes[w] for w in neighbours[me]) + _name_hash(names[me])
    links = {
        names[w]: TreeLink(
            names[w],
            _session(sessions, names[w], names[me]),
            is_shared or tree.parents[w] == me,
            is_shared or tree.parents[me] == w,
            keys[w],
            keys[w],
            _key(names[me], totals[me] - parts[w] & _KEYS),
            frozenset(nodes[w]),
            hashes[w] & _HASHES,
            all_nodes - hashes[w] & _HASHES,
        )
        for w in neighbours[me]
    }
    return TreeView(number, names[tree.root], links)


def _neighbours(tree: Tree) -> list[list[int]]:
    neighbours: list[list[int]] = [[] for _ in tree.parents]
    for x, parent in enumerate(tree.parents.tolist()):
        if parent >= 0:
            neighbours[x].append(parent)
            neighbours[parent].append(x)
    return [sorted(each) for each in neighbours]


def _outward(neighbours: Sequence[Sequence[int]], me: int) -> tuple[list[int], dict[int, int]]:
    """Return all nodes, nearer ones first, and the next node from each toward this one."""
    order, toward = [me], {me: me}
    for x in order:  # grows during the loop
        for y in neighbours[x]:
            if y not in toward:
                toward[y] = x
                order.append(y)
    return order, toward


def _session(sessions: Mapping[tuple[str, str], int], a: str, b: str) -> int:
    return sessions[min(a, b), max(a, b)]


def _key(name: str, behind: int) -> bytes:
    return blake2b(behind.to_bytes(KEY_BYTES) + name.encode(), digest_size=KEY_BYTES).digest()


def _part(session: int, key: bytes) -> int:
    return int.from_bytes(blake2b(key + session.to_bytes(8), digest_size=KEY_BYTES).digest())


@lru_cache(maxsize=1 << 14)
def _name_hash(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest()) >> 1
