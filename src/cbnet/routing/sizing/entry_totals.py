"""Total entries of all routers of a network, per tree, grouped and folded.

Building every table would take hours for 40,000 routers; `edge_counts` counts without tables. Folding is computed only
for links that all trees have with different destinations behind them. If the destinations are the same, one tree's
entries are kept; if a tree lacks the link, nothing is saved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from cbnet.routing.sizing.descriptor_sets import Numbers
from cbnet.routing.sizing.edge_counts import EdgeCounts
from cbnet.routing.sizing.fib_size import Entries
from cbnet.topology import Tree

if TYPE_CHECKING:
    from cbnet.routing.sizing.descriptor_fibs import DescriptorFibs


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
