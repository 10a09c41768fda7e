"""iPS, improved per-source forwarding: sources that a router cannot distinguish share a table [2006 §3.2].

The header is the source v, or a router that replaced it. Router u has

    I_u    maps each header that arrives to the representative of its class
    F_u    for each representative, a table as in PSF
    R_u    for each representative, whether to write u into the header as the source

    fwd(v, m) = the neighbours w with m in F_u(I_u(v), w)
    hdr(v)    = u if R_u(I_u(v)) = 1, else v

Erratum: in the paper's formula for Fwd, I_v should be I_u. On a tree the classes at u are the sides of its neighbours,
as stated there, and one more for u's own messages.

**Classes.** Two sources v1 and v2 are indistinguishable at u if u has the same children in both trees, and each child
the same nodes below it. Trees are suffix-consistent (`topology.shortest_paths`): below u both follow the tree of u, so
it is enough that the same nodes are below u:

    v1 ~ v2 at u   iff   T_v1/u = T_v2/u

Children are in order of rising id, so equal sets have the same preorder.

**Header rewriting.** R_u is 1 if router u writes itself into the header as the source, because no node downstream
distinguishes the two. The paper does not define it. Here it is 1 for the class of v iff at every node below u in T_v, u
and the whole class are indistinguishable from v. Comparing the sizes of the subtrees of the children of u is enough:

    R_u(v) = 1   iff   |T_v/w| = |T_u/w| for every child w of u in T_v

Proof. If x is below w in T_v, the path from v to x passes through u and follows T_u from there, through w. So T_v/w is
a subset of T_u/w, and equal to it if it has the same size. Suppose they are equal for all children. Let y be below the
child w in T_v, and x below y in T_u. Then x is in T_u/w = T_v/w, so the path from v to x passes through u and follows
T_u, through y: x is below y in T_v.
The class of v has the same nodes below u, hence below each of its children.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b

from cbnet.errors import InputError
from cbnet.language.message import Message
from cbnet.routing.forwarding_table import ForwardingTable
from cbnet.routing.network import Network
from cbnet.routing.router_state import WORD_BITS, RouterState, alpha, total
from cbnet.routing.scheme import Header, Scheme, SchemeRouter, SourceRouter
from cbnet.topology import Graph, Tree, shortest_path_trees

_MAX_NODES = 5_000  # the tree of every node is stored: 32 bytes per node of it


class IpsRouter(SourceRouter):
    """A router with a table for each class of sources."""

    def __init__(self, network: Network, u: int, rewriting: Rewriting) -> None:
        super().__init__(network, u)
        self._rewriting = rewriting
        self._classes: dict[int, bytes] = {}
        self._tables: dict[bytes, ForwardingTable] = {}

    def hdr(self, header: Header, neighbour: int) -> Header:  # noqa: ARG002
        """Return this node if R_u is 1, or else the header unchanged."""
        return self.u if self._rewriting.rewrites(header, self.u) else header

    def fwd(self, header: Header, message: Message) -> list[int]:
        """Return the neighbours with interested receivers behind them in the trees of the header's class."""
        return self.table(header).match(message)

    def table(self, v: int) -> ForwardingTable:
        """Return F_u(I_u(v), ·): one table for all headers of a class."""
        own_class = self._class_of(v)
        if own_class not in self._tables:
            branches = self.network.branches(v).behind(self.u)
            self._tables[own_class] = ForwardingTable(self.network.interests, branches)
        return self._tables[own_class]

    def representatives(self) -> dict[int, int]:
        """Return I_u: the smallest header of the class of each header that arrives."""
        headers = map(self._rewriting.arriving, self.network.senders)
        arriving = {own[self.u] for own in headers if self.u in own}
        smallest: dict[bytes, int] = {}
        return {v: smallest.setdefault(self._class_of(v), v) for v in sorted(arriving)}

    def state(self) -> RouterState:
        """Return the size of I_u, F_u and R_u, and of the router's own identifier at a sender.

        I_u is stored where it is not the identity; R_u, one bit for each class, is stored unless all bits are 1.
        """
        mapped = self.representatives()
        classes = sorted(set(mapped.values()))
        own = int(self.network.is_sender(self.u))
        replaced = len(mapped) - len(classes)
        has_flags = not all(self._rewriting.rewrites(v, self.u) for v in classes)
        state = RouterState(identifiers=own + 2 * replaced + len(classes), flags=len(classes) if has_flags else 0)
        return state + total(self.table(v).state() for v in classes)

    def _class_of(self, v: int) -> bytes:
        if v not in self._classes:
            self._classes[v] = class_of(self.network.tree(v), self.u)
        return self._classes[v]


class Ips(Scheme):
    """Improved per-source forwarding."""

    name = "ips"

    def __init__(self, network: Network) -> None:
        if len(network) > _MAX_NODES:
            problem = f"iPS supports up to {_MAX_NODES:,} nodes, not {len(network):,}"
            raise InputError(problem, hint="use another scheme")
        super().__init__(network)
        self._rewriting = Rewriting(network)

    def _new_router(self, u: int) -> SchemeRouter:
        return IpsRouter(self.network, u, self._rewriting)

    def formula(self) -> float | None:
        """Return n·r·M_p·α(r/Δ) on a tree; the paper has no formula for other graphs."""
        network = self.network
        if network.graph.edge_count >= len(network):
            return None
        return len(network) * int(network.unreduced_words.sum()) * WORD_BITS * alpha(network)


def class_of(tree: Tree, u: int) -> bytes:
    """Return the class of a tree's root at u: a digest of the nodes below u, instead of the set."""
    return blake2b(tree.descendants(u).tobytes(), digest_size=16).digest()


def classes_at(graph: Graph, routers: Sequence[int], sources: Iterable[int]) -> dict[int, list[list[int]]]:
    """Return the classes of sources at each of these routers; each tree is built once and not stored."""
    at_routers: dict[int, dict[bytes, list[int]]] = {u: {} for u in routers}
    for tree in shortest_path_trees(graph, sources):
        for u, classes in at_routers.items():
            classes.setdefault(class_of(tree, u), []).append(tree.root)
    return {u: list(classes.values()) for u, classes in at_routers.items()}


class Rewriting:
    """The header rewriting of all routers of a network."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self.rewrites = lru_cache(None)(self._rewrites)
        self.arriving = lru_cache(None)(self._arriving)

    def _rewrites(self, v: int, u: int) -> bool:
        """Return R_u for the class of v."""
        tree, own = self._network.tree(v), self._network.tree(u)
        children = tree.children(u)
        return bool((tree.sizes[children] == own.sizes[children]).all())

    def _arriving(self, v: int) -> dict[int, int]:
        """Return the header with which a message from v arrives at every node that forwards it toward a receiver."""
        branches = self._network.branches(v).at
        headers = {v: v} if v in branches else {}
        for u in self._network.tree(v).preorder.tolist():
            if u in branches:
                sent = u if self.rewrites(v, u) else headers[u]
                headers.update((w, sent) for w, *_ in branches[u] if w in branches)
        return headers
