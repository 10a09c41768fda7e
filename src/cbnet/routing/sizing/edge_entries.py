"""Edge entries: how many minimal descriptors are behind every edge of a tree, in both directions? Without a table.

A set f is kept behind an edge if an owner of f is there, and none of a part of f. Below v, the edges that keep f are
the ways up from its owners, each up to where it would join another:

          ·              o    an owner of f
         / \\             o'   the next owner of f in preorder: from where they join, the edges are counted with o'
        ·   o'           p    an owner of a part of f: from where they join, nothing is kept
       / \\
      o   p              +1 at o, −1 at the lowest join; added up below v, f makes 1 if it is kept behind v, else 0

Not below v, f is kept unless all owners of f and its parts are below v, or some owner of a part is not: that is, unless
all of the former join at v or below, or all of the latter do not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cbnet.routing.multitree.grouping import sums_below
from cbnet.routing.sizing.descriptor_sets import Descriptors, Ids, Numbers
from cbnet.routing.sizing.lowest_common_ancestor import Joins
from cbnet.topology import Tree


class EdgeEntries(NamedTuple):
    """The entries behind every edge of a tree."""

    tree: Tree
    below: Numbers  # int64[n]: at the parent of each node, for the node
    above: Numbers  # int64[n]: at each node, for its parent; 0 at the root

    @classmethod
    def of(cls, tree: Tree, descriptors: Descriptors) -> EdgeEntries:
        """Count the entries of a tree."""
        owned = _Owned(tree, descriptors)
        below = sums_below(tree, owned.marks_below())
        wholes, parts = owned.joined()
        above = wholes.sum() - parts.sum() - sums_below(tree, wholes) + sums_below(tree, parts)
        return cls(tree, below, np.where(tree.parents >= 0, above, 0))

    def at_routers(self) -> Numbers:
        """Return the entries of every router: int64[n]."""
        children = np.flatnonzero(self.tree.parents >= 0)
        entries = self.above.copy()
        np.add.at(entries, self.tree.parents[children], self.below[children])
        return entries

    def behind(self, u: Numbers, w: Numbers) -> Numbers:
        """Return the entries of routers u for their neighbours w on the tree."""
        entries: Numbers = np.where(self.tree.parents[w] == u, self.below[w], self.above[u])
        return entries


class _Owned:
    """The places of the owners of every set, ascending, one set's behind the other's."""

    def __init__(self, tree: Tree, descriptors: Descriptors) -> None:
        self._tree = tree
        self._descriptors = descriptors
        self._joins = Joins(tree)
        self._bits = len(tree.preorder).bit_length()
        self._keys = np.sort(descriptors.sets.astype(np.int64) << self._bits | tree.positions[descriptors.owners])
        self._sets, self._places = self._keys >> self._bits, self._keys & (1 << self._bits) - 1

    def marks_below(self) -> Numbers:
        """Return +1 and -1 by node, for what is below: int64[n]."""
        counts, parts = self._descriptors.subsets(self._sets)
        owner = np.repeat(np.arange(len(self._sets)), counts)
        stops = np.full(
            len(self._sets), -1, dtype=np.int64
        )  # the place of the lowest join: ancestors have rising places
        is_next = np.flatnonzero(self._sets[1:] == self._sets[:-1])
        stops[is_next] = self._joins.places(self._places[is_next], self._places[is_next + 1])
        np.maximum.at(stops, owner, self._lowest_join(self._places[owner], parts))
        return self._by_node(self._places) - self._by_node(stops[stops >= 0])

    def _lowest_join(self, places: Numbers, sets: Ids) -> Numbers:
        """Return where each place joins the nearest owner of a set, the one before or the one after."""
        after = np.searchsorted(self._keys, sets.astype(np.int64) << self._bits | places)
        lowest = np.full(len(places), -1, dtype=np.int64)
        for found, is_before in ((np.maximum(after - 1, 0), True), (np.minimum(after, len(self._keys) - 1), False)):
            other = self._places[found]
            fits = np.flatnonzero((self._sets[found] == sets) & ((other < places) == is_before))
            pair = (other[fits], places[fits]) if is_before else (places[fits], other[fits])
            lowest[fits] = np.maximum(lowest[fits], self._joins.places(*pair))
        return lowest

    def joined(self) -> tuple[Numbers, Numbers]:
        """Return of how many sets the owners, with those of their parts, join at each node; and those of parts only."""
        starts = np.flatnonzero(np.append(True, self._sets[1:] != self._sets[:-1]))  # every set has an owner
        first, last = self._places[starts], self._places[np.append(starts[1:], len(self._places)) - 1]
        counts, parts = self._descriptors.subsets(np.arange(len(starts)))
        wide = np.repeat(np.arange(len(starts)), counts)
        lowest, highest = np.full(len(starts), len(self._tree.preorder)), np.full(len(starts), -1)
        np.minimum.at(lowest, wide, first[parts])
        np.maximum.at(highest, wide, last[parts])
        has_parts = counts > 0
        wholes = self._joins.places(np.minimum(first, lowest), np.maximum(last, highest))
        return self._by_node(wholes), self._by_node(self._joins.places(lowest[has_parts], highest[has_parts]))

    def _by_node(self, places: Numbers) -> Numbers:
        counts = np.bincount(places, minlength=len(self._tree.preorder))
        by_node = np.empty_like(counts)
        by_node[self._tree.preorder] = counts
        return by_node
