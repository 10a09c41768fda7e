"""Sizes of forwarding tables of very many descriptors, over the arrays of `DescriptorSets`."""

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
from cbnet.routing.sizing.entry_totals import total_entries
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
