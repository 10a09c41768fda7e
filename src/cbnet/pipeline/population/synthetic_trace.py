"""Synthetic traces, for applications without a trace.

A set begins with a tag; each further tag is, with probability `together`, one of an earlier set that holds the first,
else any tag. "Any" tag is new with a probability that falls as tags become many, or one of those drawn before,
in proportion to their counts [Pitman and Yor 1997]: the vocabulary grows like (tags drawn)^growth, with a Zipf
popularity. Some sets repeat an earlier one.

Sizes are the paper's means where it gives them (3.18 tags per bookmark, 10 per topic) [2014 §4.2.1]; all other numbers
are those of public traces of the same kind.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from cbnet.errors import InputError
from cbnet.matching.storage.tag_sets import TagSets

_CONCENTRATION = 50  # drawn tags until which new ones are likely
_MAX_TAGS = 30  # of a set


@dataclass(frozen=True)
class Shape:
    """Statistics of the tag sets of an application."""

    tags: float  # per set, on average
    growth: float  # exponent of the vocabulary
    together: float  # share of further tags that come from a set with the first
    repeated: float  # share of sets equal to an earlier one
    topics: int = 0  # if not 0: sets are copies of this many topics of exactly `tags` tags


SHAPES = {
    "web": Shape(tags=3.18, growth=0.55, together=0.7, repeated=0.2),
    "blog": Shape(tags=10, growth=0.5, together=0.5, repeated=0.0, topics=400),
    "video": Shape(tags=9, growth=0.7, together=0.6, repeated=0.02),
    "social": Shape(tags=1.53, growth=0.57, together=0.6, repeated=0.4),
}


def synthetic_trace(app: str, count: int, seed: int = 0) -> TagSets:
    """Return `count` synthetic sets of an application; tags are numbered by falling frequency."""
    if app not in SHAPES:
        raise InputError(f"unknown application {app!r}", hint="use one of " + ", ".join(SHAPES))
    shape = SHAPES[app]
    rng = random.Random(f"{app} {seed}")
    if shape.topics:
        topics = _grow(shape, shape.topics, lambda: round(shape.tags), rng)
        chosen = rng.choices(topics, [1 / rank for rank in range(1, len(topics) + 1)], k=count)
    else:
        chosen = _grow(shape, count, lambda: _size(rng, shape.tags), rng)
    return TagSets.of(_by_frequency(chosen))


def _size(rng: random.Random, mean: float) -> int:
    """Return a geometrically distributed size with this mean, from 1 to the limit."""
    size = 1
    while size < _MAX_TAGS and rng.random() < 1 - 1 / mean:
        size += 1
    return size


def _grow(shape: Shape, count: int, size: Callable[[], int], rng: random.Random) -> list[list[int]]:
    sets: list[list[int]] = []
    drawn: list[int] = []  # every tag once for each draw
    holding: list[list[int]] = []  # for each tag, the sets that hold it

    def any_tag() -> int:
        is_new = rng.random() < (_CONCENTRATION + shape.growth * len(holding)) / (_CONCENTRATION + len(drawn))
        if is_new:
            holding.append([])
        drawn.append(len(holding) - 1 if is_new else rng.choice(drawn))
        return drawn[-1]

    def near_tag(tag: int) -> int:
        return rng.choice(sets[rng.choice(holding[tag])])

    def new_set() -> list[int]:
        tags = [any_tag()]
        target, tries = size(), _MAX_TAGS * _MAX_TAGS  # a tag may co-occur with few others
        while len(tags) < target and tries:
            tries -= 1
            is_near = holding[tags[0]] and rng.random() < shape.together
            tag = near_tag(tags[0]) if is_near else any_tag()
            if tag not in tags:
                tags.append(tag)
        return tags

    while len(sets) < count:
        tags = rng.choice(sets) if sets and rng.random() < shape.repeated else new_set()
        for tag in tags:
            holding[tag].append(len(sets))
        sets.append(tags)
    return sets


def _by_frequency(sets: list[list[int]]) -> list[list[int]]:
    counts: dict[int, int] = {}
    for tags in sets:
        for tag in tags:
            counts[tag] = counts.get(tag, 0) + 1
    ranked = sorted(counts, key=lambda tag: (-counts[tag], tag))
    numbers = {tag: number for number, tag in enumerate(ranked)}
    return [[numbers[tag] for tag in tags] for tags in sets]
