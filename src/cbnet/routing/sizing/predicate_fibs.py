"""Sizes of forwarding tables of a multi-tree scheme, for any predicates of a moderate number of nodes."""

from __future__ import annotations

from collections.abc import Collection

from cbnet.language.relations.reduction import size
from cbnet.matching import Table
from cbnet.routing.multitree.folding import FoldedFib
from cbnet.routing.multitree.multitree import MultiTree
from cbnet.routing.sizing.fib_size import Entries, Fibs, FibSize, destinations


class PredicateFibs(Fibs):
    """The tables of a scheme."""

    def __init__(self, scheme: MultiTree) -> None:
        self.trees = scheme.trees
        self.scheme = scheme

    def sizes(self, u: int, tree: int) -> dict[int, FibSize]:
        """Return the size of each interface; subscriptions and offers are counted together, as in the paper."""
        sizes: dict[int, FibSize] = {}
        for each in (self.scheme.subscriptions, self.scheme.offers):
            kept = each.disjunctions(u, tree)
            for w, nodes in each.behind(u, tree).items():
                predicates = [each.predicates[x] for x in nodes]
                size_behind = FibSize(0, 0, sum(map(size, predicates)), sum(map(len, predicates)), len(kept[w]))
                sizes[w] = sizes.get(w, FibSize(1, destinations(self.trees[tree], u, w))) + size_behind
        return dict(sorted(sizes.items()))

    def table(self, u: int, tree: int, neighbours: Collection[int]) -> Table[int]:
        """Return the compiled table, with tags for message kinds where both subscriptions and offers are registered.

        It uses the exact tag engine if no filter has a constraint.
        """
        fib = self.scheme.router(u).fib(tree)
        entries = FoldedFib([{w: fib[w] for w in neighbours}]).entries
        filters = (filter for predicate in entries.values() for filter in predicate)
        has_constraints = any(filter.constraints or filter.conditions for filter in filters)
        return Table.build(entries, engine="pivot" if has_constraints else "tags", reduce=False)

    def entries(self, u: int) -> Entries:
        """Return the entries of a router."""
        router = self.scheme.router(u)
        fibs = [router.fib(tree) for tree in range(len(self.trees))]
        counts = [sum(len(each.subscriptions) + len(each.offers) for each in fib.values()) for fib in fibs]
        first = sorted(set(self.scheme.classes.of(u)))
        return Entries(
            per_tree=sum(counts),
            grouped=sum(counts[tree] for tree in first),
            folded=len(FoldedFib(fibs)),
            grouped_and_folded=len(FoldedFib([fibs[tree] for tree in first])),
        )

    def total(self) -> Entries:
        """Return the entries of all routers together."""
        return sum(map(self.entries, range(len(self.scheme.network))), Entries())
