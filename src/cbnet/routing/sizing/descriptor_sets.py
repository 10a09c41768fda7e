"""Very many descriptors of nodes as arrays, and the minimal sets among some of them [2014 §3.2.1].

Equal descriptors share one distinct set of tags; sets are numbered by their first descriptor.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cbnet.errors import InputError
from cbnet.matching.minimal_sets import TagSets, encode_sets, first_equal, minimal_masks, one_group, subset_masks
from cbnet.topology import Tree

Ids: TypeAlias = NDArray[np.int32]
Numbers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]


class DescriptorSets:
    """Sets of tags, each registered at a node."""

    def __init__(self, owners: Ids, tags: pa.ListArray) -> None:
        """Build the arrays; owners: int32[n], the node of each descriptor; tags: its strings or ints."""
        if (
            len(owners) != len(tags)
            or not len(tags)
            or tags.null_count
            or not pc.min(pc.list_value_length(tags)).as_py()
        ):
            raise InputError("every descriptor needs a node and a tag", hint="leave out those without tags")
        self.owners = owners
        self.tags = tags
        sets = encode_sets(tags)
        # examples: int64[s], the first descriptor of each set; sets: int64[n], the set of each descriptor
        self.examples, self.sets = np.unique(first_equal(sets), return_inverse=True)
        self.distinct = sets.take(self.examples)
        self._by_size = np.argsort(self.sizes, kind="stable")
        self._groups, self._masks = one_group(self.distinct), np.ones(len(self.distinct), dtype=np.uint64)
        self._is_present = np.zeros(len(self.distinct), dtype=np.bool_)  # all False between calls

    def __len__(self) -> int:
        return len(self.owners)

    @property
    def sizes(self) -> Numbers:
        """The number of tags of each set: int64[s]."""
        return self.distinct.sizes

    def present(self, rows: Numbers) -> Numbers:
        """Return the distinct sets of these descriptors, ascending."""
        self._is_present[self.sets[rows]] = True
        present = np.flatnonzero(self._is_present)
        self._is_present[present] = False
        return present

    def minimal(self, sets: Numbers) -> Numbers:
        """Return the distinct sets that contain no other one of `sets`, ascending."""
        self._is_present[sets] = True
        by_size = self._by_size[self._is_present[self._by_size]]
        self._is_present[sets] = False
        return np.flatnonzero(minimal_masks(self._groups, self.distinct, self._masks, by_size))

    def has_subset(self, sets: Numbers, among: Numbers) -> Flags:
        """Return for each set whether it has a proper subset in `among`: bool[sets]."""
        chosen, others = self.distinct.take(sets), self.distinct.take(among)
        masks = subset_masks(
            one_group(others), others, self._masks[: len(among)], one_group(chosen), chosen, chosen.sizes - 1
        )
        return masks > 0

    def owner_positions(self, tree: Tree) -> TagSets:
        """Return the positions of the owners of each set in the preorder of a tree, ascending."""
        bits = len(tree.preorder).bit_length()
        keys = np.unique(self.sets << bits | tree.positions[self.owners])
        offsets = np.searchsorted(keys >> bits, np.arange(len(self.distinct) + 1))
        return TagSets(offsets, (keys & (1 << bits) - 1).astype(np.int32))
