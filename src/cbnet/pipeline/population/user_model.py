"""The model of the users of an application, from which any number of users is generated.

A user has a number of tag sets, and draws the tags one after another [Pitman and Yor 1997]. With n draws so far, of
which k were new, the next one is new with the probability (concentration + discount · k) / (concentration + n); else
it repeats an earlier draw. So users repeat their own tags, and never stop having new ones.

A new tag comes from a law that all users share:

    p(rank) ~ (rank + head)^(-1 / growth)        different tags of all users grow like (new tags of users)^growth

Tags of a set belong together. With the probability `cohesion` a further tag has the origin of the one before:

    the one before was new         a neighbour of a tag of the set: a step of a walk over tags that occur together
    it was from an earlier set     another tag of that set

Neighbours are the same for all users, and about as popular as the tag; the walk leaves the popularity of tags as it is.

Numbers of sets are lognormal. The share of one-tag sets differs from user to user; sizes of other sets do not.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from math import lgamma

import numpy as np
from numpy.typing import NDArray

from cbnet.matching.storage.tag_sets import Tags, TagSets

MAX_TAG = 2**31 - 1
NO_LIMIT = 2**62
_GRID = 400  # points of an integral

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TagLaw:
    """The parameters above."""

    growth: float
    head: float
    discount: float
    concentration: float
    cohesion: float

    def array(self) -> Floats:
        """Return the parameters: float64[5]."""
        return np.array(astuple(self))

    def expected_vocabulary(self, draws: Floats) -> Floats:
        """Return the expected number of different tags among independent draws of the common law."""
        ranks = np.concatenate([[0.0], np.geomspace(0.1, MAX_TAG, _GRID)])
        tail = 1 / self.growth - 1
        chances = tail / self.head * (1 + ranks / self.head) ** -(tail + 1)
        seen = -np.expm1(-np.outer(draws, chances))
        expected: Floats = np.trapezoid(seen, ranks, axis=1)
        return expected

    def expected_user_tags(self, draws: Floats) -> Floats:
        """Return the expected number of new tags among the draws of a user [Pitman 2006, §3.2]."""
        c, d = self.concentration, self.discount
        fixed = lgamma(c + 1) - lgamma(c + d)
        logs = np.array([lgamma(c + n + d) - lgamma(c + n) + fixed for n in draws.tolist()])
        expected: Floats = (np.exp(logs) - c) / d
        return expected


@dataclass(frozen=True, eq=False)
class Activity:
    """How much users tag."""

    deviation: float  # of the logarithm of the number of sets
    one_tag: Floats  # share of one-tag sets: quantiles over the users, from the smallest to the largest
    sizes: Floats  # cumulative shares of the sizes 2, 3, …
    limit: int = NO_LIMIT  # tags of a user, if the trace has no more


@dataclass(frozen=True, eq=False)
class UserModel:
    """A law of tags, the activity of users, and the numbers of tags."""

    law: TagLaw
    activity: Activity
    known: Tags  # numbers of the first ranks, ascending
    first_new: int = 0  # the number of the rank after them
    stride: int = 1  # of these: the numbers between belong to other models
    topics: TagSets | None = None  # if given: ranks are topics, each a set of tags

    @property
    def last(self) -> int:
        """The largest rank."""
        if self.topics is not None:
            return len(self.topics) - 1
        return len(self.known) + (MAX_TAG - self.first_new) // self.stride - 1

    def numbered(self, ranks: TagSets) -> TagSets:
        """Return sets of ranks as sets of tag numbers."""
        if self.topics is not None:
            return self.topics.take(ranks.tags)  # a topic is a set of its own
        known = len(self.known)
        new = self.first_new + (ranks.tags.astype(np.int64) - known) * self.stride
        if not known:
            return TagSets(ranks.offsets, new.astype(np.int32))
        old = self.known[np.minimum(ranks.tags, known - 1)]
        return TagSets(ranks.offsets, np.where(ranks.tags < known, old, new).astype(np.int32))
