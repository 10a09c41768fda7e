"""Descriptors behind every edge of a tree in both directions, counted without building a table.

A set f is kept behind an edge if an owner of f is there, and no owner of a proper subset of f. Below v, the edges that
keep f are the paths up from its owners, each up to where it would join another:

          ·              o    an owner of f
         / \\             o'   the next owner of f in preorder: from their common ancestor up, o' counts the edges
        ·   o'           p    an owner of a subset of f: from the common ancestor of o and p up, f is redundant
       / \\
      o   p              +1 at o, −1 at the lowest of these ancestors; summed below v: 1 if f is kept behind v, else 0

Not below v, f is kept unless all owners of f and of its subsets are below v, or an owner of a subset is not. Let A be
the lowest common ancestor of all these owners, and B that of the subsets' owners: f is kept unless A is at v or below,
or B is not. So f gets +1 at A and -1 at B; summed over all positions not below v: 1 if f is kept there, else 0. The sum
over all positions is 1 for a set without subsets, else 0, on every tree: the marks below v suffice.

All positions are in preorder. The marks of different sets add up, so they may be computed in parts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cbnet._kernels import set_trie
from cbnet.matching.minimal_sets import TagSets, one_group
from cbnet.routing.sizing.descriptor_sets import DescriptorSets, Numbers
from cbnet.topology import Tree
from cbnet.topology.common_ancestors import CommonAncestors, subtree_sums

NONE = -1


class EdgeCounts(NamedTuple):
    """Counts behind every edge of a tree."""

    tree: Tree
    below: Numbers  # int64[n]: at the parent of each node, for the node
    above: Numbers  # int64[n]: at each node, for its parent; 0 at the root

    @classmethod
    def of_minimal(cls, tree: Tree, descriptors: DescriptorSets) -> EdgeCounts:
        """Count the minimal descriptors behind every edge."""
        ancestors, owners = CommonAncestors.of(tree), descriptors.owner_positions(tree)
        sets = descriptors.distinct
        inner = SubsetOwners.find(sets, owners, sets, owners, ancestors, sets.sizes - 1)
        return cls.from_marks(tree, edge_marks(owners, inner, ancestors))

    @classmethod
    def of_nodes(cls, tree: Tree, counts: Numbers) -> EdgeCounts:
        """Add up the counts of the nodes behind every edge: int64[n]."""
        below = subtree_sums(tree, counts)
        return cls(tree, below, below[tree.root] - below)

    @classmethod
    def from_marks(cls, tree: Tree, marks: Numbers) -> EdgeCounts:
        """Add up the marks of all sets: int64[2, positions]."""
        by_node = np.zeros((2, len(tree.parents)), dtype=np.int64)
        by_node[:, tree.preorder] = marks
        below, above = (subtree_sums(tree, row) for row in by_node)
        return cls(tree, below, np.where(tree.parents >= 0, above[tree.root] - above, 0))

    def at_routers(self) -> Numbers:
        """Return the sum over the interfaces of every router: int64[n]."""
        children = np.flatnonzero(self.tree.parents >= 0)
        counts = self.above.copy()
        np.add.at(counts, self.tree.parents[children], self.below[children])
        return counts

    def behind(self, u: Numbers, w: Numbers) -> Numbers:
        """Return the counts at routers u for their neighbours w on the tree."""
        counts: Numbers = np.where(self.tree.parents[w] == u, self.below[w], self.above[u])
        return counts


class SubsetOwners(NamedTuple):
    """The positions of the owners of the proper subsets of each query, relative to the query's own owners."""

    tops: NDArray[Any]  # int32 or int64: by owner of a query, the lowest common ancestor with one of these, or NONE
    firsts: NDArray[Any]  # by query, the smallest of these positions, or NONE
    lasts: NDArray[Any]  # by query, the largest of these positions, or NONE

    @classmethod
    def find(
        cls,
        sets: TagSets,
        owners: TagSets,
        queries: TagSets,
        query_owners: TagSets,
        ancestors: CommonAncestors,
        max_sizes: Numbers,
    ) -> SubsetOwners:
        """Find the owners of the sets, of at most `max_sizes` tags, that each query contains; equal sets occur once."""
        tops = np.empty(len(query_owners.tags), dtype=np.int32)
        firsts, lasts = np.empty((2, len(queries)), dtype=np.int32)
        set_trie.find_tops(
            one_group(sets), sets.offsets, sets.tags, owners.offsets, owners.tags,
            one_group(queries), queries.offsets, queries.tags, query_owners.offsets, query_owners.tags,
            max_sizes, ancestors.minima, tops, firsts, lasts,
        )  # fmt: skip
        return cls(tops, firsts, lasts)

    @classmethod
    def none(cls, owners: TagSets) -> SubsetOwners:
        """Return the value for sets without subsets."""
        return cls(*(np.full(count, NONE) for count in (len(owners.tags), len(owners), len(owners))))


class SetMarks(NamedTuple):
    """The marks of single sets that are not 0: one row for each set and position."""

    sets: Numbers
    positions: Numbers
    below: Numbers
    above: Numbers

    @classmethod
    def of(cls, owners: TagSets, inner: SubsetOwners, ancestors: CommonAncestors) -> SetMarks:
        """Return the marks of sets, by set and position; owners: the positions of the owners of each set."""
        places, count = _Places.of(owners, inner, ancestors), len(ancestors)
        is_stop, has_parts = places.stops != NONE, places.parts != NONE
        each = np.arange(len(owners))
        terms = [  # sets, positions, below, above
            (owners.rows, owners.tags.astype(np.int64), 1, 0),
            (owners.rows[is_stop], places.stops[is_stop], -1, 0),
            (each, places.whole, 0, 1),
            (each[has_parts], places.parts[has_parts], 0, -1),
        ]
        keys = np.concatenate([sets * count + positions for sets, positions, _, _ in terms])
        keys, index = np.unique(keys, return_inverse=True)
        sums, sizes = np.zeros((2, len(keys)), dtype=np.int64), [len(sets) for sets, *_ in terms]
        for side in (0, 1):
            np.add.at(sums[side], index, np.repeat([term[2 + side] for term in terms], sizes))
        marked = sums.any(axis=0)
        return cls(*np.divmod(keys[marked], count), *sums[:, marked])


def edge_marks(owners: TagSets, inner: SubsetOwners, ancestors: CommonAncestors) -> Numbers:
    """Return the marks of all sets together for below and above, by position: int64[2, positions].

    owners: the positions of the owners of each set, at least one.
    """
    places, count = _Places.of(owners, inner, ancestors), len(ancestors)
    stops, parts = (each[each != NONE] for each in (places.stops, places.parts))
    below = np.bincount(owners.tags, minlength=count) - np.bincount(stops, minlength=count)
    above = np.bincount(places.whole, minlength=count) - np.bincount(parts, minlength=count)
    return np.array([below, above])


class _Places(NamedTuple):
    """The positions of the marks of sets, in addition to those of their owners."""

    stops: Numbers  # int64[owners]: where the path up from an owner ends: -1 below; or NONE
    whole: Numbers  # int64[sets]: the lowest common ancestor of the owners of the set and of its subsets: +1 above
    parts: Numbers  # int64[sets]: the lowest common ancestor of the owners of its subsets: -1 above; or NONE

    @classmethod
    def of(cls, owners: TagSets, inner: SubsetOwners, ancestors: CommonAncestors) -> _Places:
        positions = owners.tags.astype(np.int64)
        followed = np.flatnonzero(np.diff(owners.rows) == 0)
        stops = inner.tops.astype(np.int64)
        stops[followed] = np.maximum(stops[followed], ancestors.of_pairs(positions[followed], positions[followed + 1]))
        first, last = positions[owners.offsets[:-1]], positions[owners.offsets[1:] - 1]
        has_inner = inner.lasts != NONE
        whole = ancestors.of_pairs(
            np.minimum(first, np.where(has_inner, inner.firsts, first)), np.maximum(last, inner.lasts)
        )
        parts = np.full(len(whole), NONE, dtype=np.int64)
        parts[has_inner] = ancestors.of_pairs(inner.firsts[has_inner], inner.lasts[has_inner])
        return cls(stops, whole, parts)
