"""Containment: which sets of tags hold another one of their group? [2014 §3.2.1]

A descriptor that holds all tags of another one on the same interface is redundant: whatever matches it
matches the other. What is left are the minimal descriptors.

With several trees, a descriptor is behind an interface on some of them: its mask has a bit for each. On a tree, only
what is there on that tree makes it redundant.

On one tree, `matching.minimal` answers the same, as fast. But the jobs also cut the question into parts, and ask it for
several trees at once: so the work is done by `_kernels.set_trie`, and `reference` says the same in plain Python.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cbnet._kernels import set_trie as kernel
from cbnet.pipeline.tables.tag_sets import Places, Tags, TagSets

Masks: TypeAlias = NDArray[np.uint64]


def uncovered(groups: Tags, sets: TagSets, masks: Masks) -> Masks:
    """Return on which trees each set holds no other of its group: uint64[n]. No set may be empty.

    Of equal sets with a tree in common, the first has it. groups: int32[n], masks: uint64[n].
    """
    left = np.zeros(len(sets), dtype=np.uint64)
    order = np.argsort(sets.sizes, kind="stable")
    kernel.drop_covered(groups, sets.offsets, sets.tags, masks, order, left)
    return left


def covered(groups: Tags, sets: TagSets, masks: Masks, asked_groups: Tags, asked: TagSets, largest: Places) -> Masks:
    """Return on which trees each of `asked` holds one of `sets`, of at most `largest` tags: uint64[asked]."""
    found = np.zeros(len(asked), dtype=np.uint64)
    kernel.find_covered(groups, sets.offsets, sets.tags, masks, asked_groups, asked.offsets, asked.tags, largest, found)
    return found


def first_equal(sets: TagSets) -> Places:
    """Return for each set the first one that equals it: int64[n]."""
    firsts = np.empty(len(sets), dtype=np.int64)
    kernel.number_rows(one_group(sets), sets.offsets, sets.tags, firsts)
    return firsts


def one_group(sets: TagSets) -> Tags:
    """Return the groups of sets that are all compared: int32[n]."""
    return np.zeros(len(sets), dtype=np.int32)
