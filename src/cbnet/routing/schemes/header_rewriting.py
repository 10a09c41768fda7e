"""Header rewriting of iPS: routers that replace the source in the header, and the headers that arrive [2006 §3.2].

R_u is 1 if router u writes itself into the header as the source, because no node downstream can tell the difference.
The paper does not define it. Here it is 1 for the class of v iff at every node below u in T_v, u and the whole class
are indistinguishable from v. Comparing the sizes of the subtrees of the children of u is enough:

    R_u(v) = 1   iff   |T_v/w| = |T_u/w| for every child w of u in T_v

Proof. If x is below w in T_v, the path from v to x passes through u and follows T_u from there, through w. So T_v/w is
a subset of T_u/w, and equal to it if it has the same size. Suppose they are equal for all children. Let y be below the
child w in T_v, and x below y in T_u. Then x is in T_u/w = T_v/w, so the path from v to x passes through u and follows
T_u, through y: x is below y in T_v.
The class of v has the same nodes below u, hence below each of its children.
"""

from __future__ import annotations

from functools import lru_cache

from cbnet.routing.network import Network


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
