"""Sizes of forwarding tables of very many descriptors, over the arrays of `DescriptorSets`.

To build the tables of 40,000 routers would take hours: `edge_counts` counts their entries without tables. Folding is
computed only for links that all trees have with different destinations behind them. If the destinations are the same,
one tree's entries are kept; if a tree lacks the link, nothing is saved.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cbnet.matching import Table
from cbnet.routing.multitree.grouping import TreeClasses
from cbnet.routing.multitree.tree_sides import TreeSides
from cbnet.routing.sizing.descriptor_sets import DescriptorSets, Flags, Numbers
from cbnet.routing.sizing.edge_counts import EdgeCounts
from cbnet.routing.sizing.fib_size import Entries, Fibs, FibSize, destinations
from cbnet.topology import Tree


class FoldedSets(NamedTuple):
    """The folded table of one interface."""

    sets: Numbers  # the sets that are minimal on some tree, ascending
    has: NDArray[np.bool_]  # bool[trees, sets]: whether the set is minimal on the tree
    everywhere: Flags  # bool[sets]: whether every tree has the set or a subset of it there

    def count(self, weights: NDArray[np.integer | np.floating]) -> int:
        """Return the number of entries; weights: the number of trees that each tree stands for."""
        return int(np.where(self.everywhere, 1, weights @ self.has).sum())


class DescriptorFibs(Fibs):
    """The tables of descriptors of all routers."""

    def __init__(self, trees: Sequence[Tree], descriptors: DescriptorSets) -> None:
        self.trees = trees
        self.descriptors = descriptors
        self.sides = [TreeSides(tree, descriptors.owners) for tree in trees]
        self.classes = TreeClasses(trees, np.unique(descriptors.owners))

    def kept(self, u: int, tree: int) -> dict[int, Numbers]:
        """Return the minimal sets behind each neighbour of a router on a tree."""
        descriptors = self.descriptors
        return {w: descriptors.minimal(descriptors.present(rows)) for w, rows in self.sides[tree].behind(u).items()}

    def sizes(self, u: int, tree: int) -> dict[int, FibSize]:
        """Return the size of each interface of a router on a tree."""
        descriptors, kept = self.descriptors, self.kept(u, tree)
        return {
            w: FibSize(
                interfaces=1,
                destinations=destinations(self.trees[tree], u, w),
                tags=int(descriptors.sizes[descriptors.sets[rows]].sum()),
                descriptors=len(rows),
                kept=len(kept[w]),
            )
            for w, rows in self.sides[tree].behind(u).items()
        }

    def folded(self, u: int, trees: Sequence[int]) -> dict[int, FoldedSets]:
        """Return the folded table of a router for these trees."""
        behind = [self.sides[tree].behind(u) for tree in trees]
        neighbours = sorted({w for sides in behind for w in sides})
        nothing = np.empty(0, dtype=np.int64)
        return {w: self.fold([sides.get(w, nothing) for sides in behind]) for w in neighbours}

    def fold(self, behind: Sequence[Numbers]) -> FoldedSets:
        """Fold the table of one interface; behind: the rows of the descriptors behind it on each tree."""
        kept = [self.descriptors.minimal(self.descriptors.present(rows)) for rows in behind]
        sets = np.unique(np.concatenate(kept))
        has = np.array([np.isin(sets, each, assume_unique=True) for each in kept])
        everywhere = np.ones(len(sets), dtype=np.bool_)
        for own, each in sorted(zip(has, kept, strict=True), key=lambda tree: len(tree[1])):  # smallest tree first
            unknown = np.flatnonzero(everywhere & ~own)  # not minimal: absent, or a subset is present
            everywhere[unknown] = self.descriptors.has_subset(sets[unknown], each)
        return FoldedSets(sets, has, everywhere)

    def entries(self, u: int) -> Entries:
        """Return the entries of a router."""
        first, sizes = np.unique(self.classes.of(u), return_counts=True)  # trees of a class have the same table
        folded = self.folded(u, first.tolist()).values()
        counts = sum((each.has.sum(axis=1) for each in folded), np.zeros(len(first), dtype=np.int64))
        one_each = np.ones(len(first), dtype=np.int64)
        return Entries(
            per_tree=int(sizes @ counts),
            grouped=int(counts.sum()),
            folded=sum(each.count(sizes) for each in folded),
            grouped_and_folded=sum(each.count(one_each) for each in folded),
        )

    def table(self, u: int, tree: int, neighbours: Collection[int]) -> Table[int]:
        """Return the compiled table of minimal descriptors."""
        kept = {w: sets for w, sets in self.kept(u, tree).items() if w in neighbours}
        interfaces = np.repeat([*kept], [*map(len, kept.values())])
        tags = self.descriptors.tags.take(pa.array(self.descriptors.examples[np.concatenate([*kept.values()])]))
        filters = np.repeat(np.arange(len(tags)), tags.value_lengths().to_numpy())
        names = tags.flatten().cast(pa.string())
        rows = {"rule": interfaces[filters], "filter": filters, "name": names, "op": ["#"] * len(names)}
        return Table.from_arrow(pa.table(rows), engine="tags", reduce=False)

    def total(self) -> Entries:
        """Return the entries of all routers together, counted without their tables."""
        return total_entries(self)


def total_entries(fibs: DescriptorFibs) -> Entries:
    """Return the entries of all routers together."""
    behind = [EdgeCounts.of_minimal(tree, fibs.descriptors) for tree in fibs.trees]
    at = np.array([each.at_routers() for each in behind])
    first = fibs.classes.is_first()
    links = _shared_links(fibs.trees)
    shared = np.array([each.behind(*links) for each in behind])
    folded, grouped_and_folded = _folded(fibs, links, shared)
    return Entries(
        per_tree=int(at.sum()),
        grouped=int(at[first].sum()),
        folded=int(at.sum() - shared.sum()) + folded,
        grouped_and_folded=int(at[first].sum() - shared[first[:, links[0]]].sum()) + grouped_and_folded,
    )


def _shared_links(trees: Sequence[Tree]) -> Numbers:
    """Return the links that all trees have, in both directions: int64[2, links]."""
    nodes = len(trees[0].parents)
    links = []
    for tree in trees:
        children = np.flatnonzero(tree.parents >= 0)
        parents = tree.parents[children].astype(np.int64)
        links.append(np.minimum(children, parents) * nodes + np.maximum(children, parents))
    distinct, counts = np.unique(np.concatenate(links), return_counts=True)
    ends = np.stack(np.divmod(distinct[counts == len(trees)], nodes))
    return np.concatenate([ends, ends[::-1]], axis=1)


def _folded(fibs: DescriptorFibs, links: Numbers, entries: Numbers) -> tuple[int, int]:
    """Return the folded entries for links that all trees have, without tree grouping and with it."""
    keys = np.array([fibs.classes.behind(tree, *links) for tree in range(len(fibs.trees))])
    first = fibs.classes.is_first()[:, links[0]]
    is_same = (keys == keys[0]).all(axis=0)
    folded = grouped_and_folded = int(entries[0, is_same].sum())
    for link in np.flatnonzero(~is_same).tolist():
        _, trees, group = np.unique(keys[:, link], return_index=True, return_inverse=True)
        folded_sets = fibs.fold([fibs.sides[tree].side(*links[:, link].tolist()) for tree in trees.tolist()])
        folded += folded_sets.count(np.bincount(group))
        grouped_and_folded += folded_sets.count(np.bincount(group, weights=first[:, link]))
    return folded, grouped_and_folded
