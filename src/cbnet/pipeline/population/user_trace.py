"""The tag sets of the users of a trace, and what is measured of them by user."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cbnet.errors import InputError
from cbnet.matching.minimal_sets import Numbers, TagSets, minimal_masks
from cbnet.pipeline.population.counter_random import words

_SHUFFLE = 32  # stream of random numbers


class VocabularyCurve(NamedTuple):
    """Different tags of growing numbers of users: int64[n] each."""

    users: Numbers
    pairs: Numbers  # of a user and a tag
    tags: Numbers


@dataclass(frozen=True, eq=False)
class UserTrace:
    """Sets, and the user of each: int64[n], ascending, from 0 without gaps."""

    users: Numbers
    sets: TagSets

    def __post_init__(self) -> None:
        if not len(self.sets) or not self.sets.sizes.all():
            raise InputError("the trace has no sets, or an empty set", hint="each set needs at least one tag")

    def __len__(self) -> int:
        return int(self.users[-1]) + 1

    @cached_property
    def set_counts(self) -> Numbers:
        """Sets of each user: int64[users]."""
        return np.bincount(self.users)

    @cached_property
    def one_tag(self) -> NDArray[np.float64]:
        """The share of one-tag sets of each user: float64[users]."""
        share: NDArray[np.float64] = np.bincount(self.users, self.sets.sizes == 1) / self.set_counts
        return share

    @cached_property
    def assigned(self) -> Numbers:
        """Tags assigned by each user, repetitions included: int64[users]."""
        return np.bincount(self.users[self.sets.rows])

    @cached_property
    def pairs(self) -> Numbers:
        """User and tag as one number, each pair once, ascending: int64."""
        return np.unique(self._keys)

    @cached_property
    def tag_counts(self) -> Numbers:
        """Different tags of each user: int64[users]."""
        return np.bincount(self.pairs >> 32)

    @cached_property
    def vocabulary(self) -> int:
        """Number of different tags."""
        return len(np.unique(self.sets.tags))

    @cached_property
    def curve(self) -> VocabularyCurve:
        """The vocabulary of a half, a quarter, … of the users, drawn at random."""
        count = len(self)
        places = np.argsort(np.argsort(words(0, _SHUFFLE, np.arange(count))[0], kind="stable"))
        of_pair = places[self.pairs >> 32]
        tags = (self.pairs & 0xFFFFFFFF)[np.argsort(of_pair, kind="stable")]
        firsts = np.sort(np.unique(tags, return_index=True)[1])
        users = np.unique(np.maximum(1, count >> np.arange(8)))
        pairs = np.cumsum(np.bincount(of_pair, minlength=count))[users - 1]
        return VocabularyCurve(users, pairs, np.searchsorted(firsts, pairs))

    @cached_property
    def mixed(self) -> float:
        """Share of sets with a shared tag among multi-tag sets with a private one, in no other set of the user."""
        _, pair, counts = np.unique(self._keys, return_inverse=True, return_counts=True)
        private = np.add.reduceat(counts[pair] == 1, self.sets.offsets[:-1], dtype=np.int64)
        chosen = (self.sets.sizes > 1) & (private > 0)
        return float((private < self.sets.sizes)[chosen].mean()) if chosen.any() else 1.0

    @property
    def _keys(self) -> Numbers:
        return (self.users[self.sets.rows] << 32) | self.sets.tags


def minimal_of_groups(groups: Numbers, sets: TagSets) -> NDArray[np.bool_]:
    """Return whether each set is minimal among those of its group, the first of equal ones: bool[n]."""
    kept: NDArray[np.bool_] = minimal_masks(groups.astype(np.int32), sets, np.ones(len(sets), dtype=np.uint64)) > 0
    return kept
