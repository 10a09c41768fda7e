"""The delivery tree in the packet header; routers store no forwarding state [2014 §3, its reference 8].

    source           interested nodes ─► links of its tree that lead to them ─► Bloom filter
    header           ⟨hops left, last hop, filter⟩
    router u         to each neighbour w ≠ last hop whose link (u, w, hops left) is in the filter

As in DRP a sender knows the predicates of all receivers, and routers use only the header, not the message. But a router
has no table: only the ids of its links. A message follows the shortest-path tree of its source, as in PSF.

The cost is false positives: packets to nodes off the tree, or to nodes on it by another path. Nothing loops: a packet
starts with as many hops left as the tree is deep, and each hop uses one. The id of a link is valid at one hop only, so
a packet that returns to the tree does not follow it again, unless it arrives at exactly the same hop.

The header has a Bloom filter of the links of the delivery tree:

    links of the delivery tree     0→3   3→5   3→7          each sets k of the m bits
    filter in the header           0110 1001 0010 1100      m = k·links / ln 2, in whole bytes: half of the bits are set

A router tests for each of its links whether all k bits are set. There are no false negatives; any other link is a false
positive with probability `false_positive`, 2**-k at this size.

The id of a link includes the number of hops left when a packet takes it, so a link is on the tree at one hop only. A
packet that a false positive brings back to the tree, in a loop or by a detour, meets ids that are not in the filter.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, lru_cache
from hashlib import blake2b
from math import ceil, expm1, log, log1p
from typing import NamedTuple

from cbnet.errors import InputError
from cbnet.language.message import Message
from cbnet.routing.network import Network
from cbnet.routing.router_state import RouterState, receiver_state
from cbnet.routing.scheme import Header, Scheme, SchemeRouter

HASHES = 8  # the default: a false-positive rate of 1 in 256
_MAX_BITS = 1 << 20


class FilterHeader(NamedTuple):
    """The header of a packet."""

    left: int  # hops
    last_hop: int
    filter: bytes


class TreeHeaderRouter(SchemeRouter):
    """A router that knows its links; at a sender, also the predicates and its own tree."""

    def __init__(self, scheme: TreeHeader, u: int) -> None:
        super().__init__(scheme.network, u)
        self._scheme = scheme
        self._neighbours: list[int] = scheme.network.graph.neighbours(u).tolist()

    def init(self, message: Message) -> Header:
        """Return the filter of the links that lead to all interested receivers."""
        links = self._scheme.delivery_tree(self.u, message)
        depth = max((link.left for link in links), default=0)
        return FilterHeader(depth, self.u, self._scheme.link_filter(links))

    def hdr(self, header: Header, neighbour: int) -> Header:  # noqa: ARG002
        """Return the header with one hop fewer left, and this node as the last hop."""
        return header._replace(left=header.left - 1, last_hop=self.u)

    def fwd(self, header: Header, message: Message) -> list[int]:  # noqa: ARG002
        """Return the neighbours whose link is in the filter, except the last hop; none if no hop is left."""
        left, last_hop, filter = header
        if not left:
            return []
        scheme = self._scheme
        return [w for w in self._neighbours if w != last_hop and scheme.contains(filter, DirectedLink(self.u, w, left))]

    def state(self) -> RouterState:
        """Return the size of the links; at a sender also of `pred` and of the tree: every node with its parent."""
        state = RouterState(identifiers=1 + len(self._neighbours))
        if not self.network.is_sender(self.u):
            return state
        branches = self.network.branches(self.u).at.values()
        return state + self._scheme.known + RouterState(identifiers=2 * sum(map(len, branches)))


class TreeHeader(Scheme):
    """Routing by the delivery tree in the header."""

    name = "treeheader"

    def __init__(self, network: Network, *, hashes: int = HASHES, bits: int | None = None) -> None:
        """Set the number of hashes and the size of the filter, by default such that half of its bits are set."""
        super().__init__(network)
        if not 1 <= hashes <= MAX_HASHES:
            raise InputError(f"a filter has from 1 to {MAX_HASHES} hashes, not {hashes}")
        if bits is not None and (not 8 <= bits <= _MAX_BITS or bits % 8):
            raise InputError(f"a filter has from 8 to {_MAX_BITS:,} bits, in whole bytes, not {bits:,}")
        self.hashes = hashes
        self.bits = bits

    def _new_router(self, u: int) -> SchemeRouter:
        return TreeHeaderRouter(self, u)

    def delivery_tree(self, source: int, message: Message) -> list[DirectedLink]:
        """Return the links of the source's tree that lead to all interested receivers, with the hops left at each."""
        tree = self.network.tree(source)
        interested = self.network.interests.interested(message) - {source}
        depth = max((int(tree.hops[x]) for x in interested), default=0)
        links: dict[int, DirectedLink] = {}  # by the lower end
        for x in sorted(interested):
            while x != source and x not in links:
                parent = int(tree.parents[x])
                links[x] = DirectedLink(parent, x, depth - int(tree.hops[parent]))
                x = parent
        return list(links.values())

    def link_filter(self, links: list[DirectedLink]) -> bytes:
        """Return the filter of these links."""
        size = filter_size(len(links), self.hashes) if self.bits is None else self.bits // 8
        return link_filter(links, self.hashes, size)

    def contains(self, filter: bytes, link: DirectedLink) -> bool:
        """Return whether a filter contains a link."""
        return has_link(filter, link, self.hashes)

    @cached_property
    def known(self) -> RouterState:
        """The state that a sender keeps about the receivers."""
        return receiver_state(self.network)


MAX_HASHES = 16
_DRAW_BYTES = 4
_MAX_CACHED = 1 << 18  # ids of links, some 700 bytes each


class DirectedLink(NamedTuple):
    """A link from u to w at the hop with `left` hops left."""

    u: int
    w: int
    left: int


def filter_size(links: int, hashes: int) -> int:
    """Return the size in bytes of a filter in which `links` links set half of the bits."""
    return ceil(hashes * links / (8 * log(2)))


def link_filter(links: Iterable[DirectedLink], hashes: int, size: int) -> bytes:
    """Return the filter of these links, of `size` bytes."""
    filter = bytearray(size)
    for link in links:
        for draw in _draws(link)[:hashes]:
            bit = draw % (8 * size)
            filter[bit >> 3] |= 1 << (bit & 7)
    return bytes(filter)


def has_link(filter: bytes, link: DirectedLink, hashes: int) -> bool:
    """Return whether a filter contains a link, possibly as a false positive."""
    bits = 8 * len(filter)
    return bits > 0 and all(
        filter[bit >> 3] >> (bit & 7) & 1 for bit in (draw % bits for draw in _draws(link)[:hashes])
    )


def false_positive(links: int, hashes: int, size: int) -> float:
    """Return the false-positive probability of a filter of `size` bytes with `links` links."""
    if not size:
        return 0.0
    share = -expm1(links * hashes * log1p(-1 / (8 * size)))  # expected share of set bits
    return float(share**hashes)


@lru_cache(_MAX_CACHED)
def _draws(link: DirectedLink) -> tuple[int, ...]:
    """Return MAX_HASHES independent numbers, the same at every router."""
    digest = blake2b(repr(tuple(link)).encode(), digest_size=MAX_HASHES * _DRAW_BYTES).digest()
    return tuple(int.from_bytes(digest[start : start + _DRAW_BYTES]) for start in range(0, len(digest), _DRAW_BYTES))
