"""Model: how do the sets of tags of a trace look, so that more of them can be made?

The model keeps the sets of the trace, or of a sample of it. A new set is a copy of one of them, in which each tag is
exchanged with the same probability, `mutation`, for a tag that occurs together with one of the set:

    a set of the trace      {jazz, vinyl}
    one of its tags         jazz                        any of them, with equal probability
    a set with that tag     {jazz, piano, 1959}         likewise
    one of its tags         piano          ─►  {jazz, piano}

A walk from a tag to a set and on to a tag favours none: every tag of every set is reached as often as it is left. So
popularity, sizes and co-occurrence stay as they are, while sets become new.

A tag that occurs once stands for all those that were not seen [Good 1953]: when it would be copied, it is drawn anew
from the tail of the vocabulary. Ranks behind the other tags follow a power law with the exponent that lets as many tags
be seen once as there are:

    once seen / all tags = d     p(rank) ~ rank^(-1/d)     distinct tags grow like (tags seen)^d

One number is fitted, `mutation`, so that the trace's share of distinct sets comes out at the trace's own size; that
the share of sets that hold no other is right as well then checks the model. (Tags drawn independently by popularity
give half as many distinct sets again as a trace of tweets has, and a sixth more that hold no other.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cbnet.errors import InputError
from cbnet.matching.minimal_sets import first_equal
from cbnet.matching.storage.tag_sets import Numbers, Tags, TagSets

_HALVINGS = 8
_STEEPEST = 0.9  # of d: above, nearly every tag would be new


@dataclass(frozen=True, eq=False)
class Model:
    """The sets of a trace, and how far new ones depart from them."""

    sets: TagSets
    mutation: float
    first_new: int  # tags from this number on are not in any trace
    stride: int = 1  # between two new tags: the numbers between them belong to other models

    @cached_property
    def counts(self) -> Numbers:
        """How many sets hold each tag: int64[tags]."""
        return np.bincount(self.sets.tags, minlength=1)

    @cached_property
    def owners(self) -> Tags:
        """The set that each tag of a set belongs to: int32."""
        return self.sets.rows.astype(np.int32)

    @cached_property
    def occurrences(self) -> tuple[Numbers, Tags]:
        """Where each tag occurs in `sets.tags`, tag by tag, and where those of each begin."""
        places = np.argsort(self.sets.tags, kind="stable").astype(np.int32)
        return np.concatenate([[0], np.cumsum(self.counts)]), places

    @cached_property
    def keys(self) -> Numbers:
        """Set and tag as one number, ascending: int64."""
        return pair_keys(self.owners, self.sets.tags)

    @cached_property
    def once(self) -> Tags:
        """The tags that occur once, ascending: int32."""
        return np.flatnonzero(self.counts == 1).astype(np.int32)

    @cached_property
    def vocabulary(self) -> int:
        """How many tags there are."""
        return int(np.count_nonzero(self.counts))

    @property
    def growth(self) -> float:
        """The d above: the exponent by which the vocabulary grows."""
        return min(_STEEPEST, len(self.once) / self.vocabulary) if self.vocabulary else 0.0


def pair_keys(sets: NDArray[np.integer], tags: Tags) -> Numbers:
    """Return pairs of a set and a tag as single numbers, in the same order."""
    return (sets.astype(np.int64) << 32) | tags


def fit(sets: TagSets, *, seed: int = 0, first_new: int | None = None, stride: int = 1) -> Model:
    """Return the model of a trace. No set may be empty."""
    from cbnet.pipeline.population.synthetic_sets import synthetic_rows

    if not len(sets) or not sets.sizes.all():
        raise InputError("the trace has no sets, or an empty one", hint="give at least one set, and a tag in each")
    if first_new is None:
        first_new = int(sets.tags.max()) + 1
    model = Model(sets, 0.0, first_new, stride)
    wanted = distinct_share(sets)
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        model = replace(model, mutation=(low + high) / 2)
        share = distinct_share(synthetic_rows(model, seed, np.arange(len(sets))))
        low, high = (model.mutation, high) if share < wanted else (low, model.mutation)
    return replace(model, mutation=low)


def distinct_share(sets: TagSets) -> float:
    """Return how many distinct sets there are, over all."""
    return np.count_nonzero(first_equal(sets) == np.arange(len(sets))) / len(sets)
