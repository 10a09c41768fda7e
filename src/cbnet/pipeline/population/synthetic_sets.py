"""Synthetic sets: what more would the users of a trace have said?

Row i of the sets that a model makes is a function of model, seed and i alone: any partition makes any row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cbnet.matching.storage.tag_sets import Numbers, Tags, TagSets
from cbnet.pipeline.population.counter_random import below, units, wide_units, words
from cbnet.pipeline.population.model import Model, pair_keys

_ROWS, _TAGS, _TAIL = 0, 1, 2  # streams of random numbers
_LAST_TAG = 2**31 - 1


def synthetic_rows(model: Model, seed: int, rows: NDArray[np.integer]) -> TagSets:
    """Return the sets of these rows, which need not be neighbours."""
    high, low, _, _ = words(seed, _ROWS, rows)
    copied = below(wide_units(high, low), len(model.sets))
    sets = model.sets.take(copied)
    of_row = sets.rows
    slots = np.arange(len(of_row)) - sets.offsets[of_row]
    tags = _mutated(model, seed, rows, copied, sets, slots)
    once = np.flatnonzero(model.counts[tags] == 1)
    tags[once] = _from_tail(model, wide_units(*words(seed, _TAIL, rows[of_row[once]], slots[once])[:2]))
    return _as_sets(len(rows), of_row, tags)


def _mutated(
    model: Model, seed: int, rows: NDArray[np.integer], copied: Numbers, sets: TagSets, slots: Numbers
) -> Tags:
    """Return the tags of the copied sets, some exchanged."""
    of_row, tags = sets.rows, sets.tags.copy()
    chance, *walk = words(seed, _TAGS, rows[of_row], slots)
    changed = np.flatnonzero(units(chance) < model.mutation)
    to_own, to_set, to_tag = (units(word[changed]) for word in walk)
    row = of_row[changed]
    starts, places = model.occurrences
    via = sets.tags[sets.offsets[row] + below(to_own, sets.sizes[row])]
    other = model.owners[places[starts[via] + below(to_set, model.counts[via])]]
    found = model.sets.tags[model.sets.offsets[other] + below(to_tag, model.sets.sizes[other])]
    is_new = ~_holds(model, copied[row], found)  # a tag that is there already would make the set smaller
    tags[changed[is_new]] = found[is_new]
    return tags


def _holds(model: Model, sets: Numbers, tags: Tags) -> NDArray[np.bool_]:
    wanted = pair_keys(sets, tags)
    places = np.searchsorted(model.keys, wanted)
    return np.asarray(model.keys[np.minimum(places, len(model.keys) - 1)] == wanted)


def _from_tail(model: Model, unit: NDArray[np.float64]) -> Tags:
    """Return tags drawn from those that occur once, and from the unseen ones behind them.

    P(rank > r) = (r / first)^(1 - 1/d), cut where numbers would not fit.
    """
    if not len(unit):
        return np.zeros(0, dtype=np.int32)
    seen = len(model.once)
    first = max(1, model.vocabulary - seen)
    power = 1 / (1 / model.growth - 1)
    last = first + seen + (_LAST_TAG - model.first_new) // model.stride
    rest = (first / last) ** (1 / power)
    ranks = np.minimum(first * (1 - unit * (1 - rest)) ** -power, last).astype(np.int64) - first
    new = model.first_new + (ranks - seen) * model.stride
    tags: Tags = np.where(ranks < seen, model.once[np.minimum(ranks, seen - 1)], new).astype(np.int32)
    return tags


def _as_sets(count: int, of_row: Numbers, tags: Tags) -> TagSets:
    """Return the tags of each row in order, and once."""
    keys = np.sort(pair_keys(of_row, tags))
    keys = keys[np.diff(keys, prepend=-1) != 0]
    sizes = np.bincount(keys >> 32, minlength=count)
    return TagSets(np.concatenate([[0], np.cumsum(sizes)]), (keys & 0xFFFFFFFF).astype(np.int32))
