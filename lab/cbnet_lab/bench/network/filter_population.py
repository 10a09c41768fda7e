"""Filters of the clients of a network, one client per router, and messages that match some of them.

random      filters of the [2002] mix with 3 constraints
covered     as random, but 30 % are another filter, of any client, with one more constraint
tags        tag sets of the demo's web users
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np

from cbnet.errors import InputError
from cbnet.language.constraint import Constraint, Op
from cbnet.language.filter import Filter
from cbnet.language.relations.covering import FilterAnalysis, satisfiable
from cbnet.pipeline.population.default_models import default_models
from cbnet.pipeline.population.user_sets import user_sets
from cbnet_lab.bench.matching.oracle import Oracle
from cbnet_lab.bench.network.traffic import Traffic
from cbnet_lab.workload import Forwarding2002
from cbnet_lab.workload import filters as filter_table

_COVERED = 0.3  # share of the filters
_PER_SUBSCRIPTION = 50  # filters
_SETS_PER_USER = 67  # on average
_MIN_COMBINED, _MAX_COMBINED = 1, 3  # filters that a message is made from


def filter_population(kind: str, clients: int, filters: int, messages: int, seed: int) -> Traffic:
    """Return the subscriptions of clients with `filters` filters each, and messages."""
    if kind not in POPULATIONS:
        raise InputError(f"unknown population {kind!r}", hint=f"use one of {', '.join(POPULATIONS)}")
    total = clients * filters
    all_filters = POPULATIONS[kind](total, seed)
    random = Random(f"{kind} {seed}")
    random.shuffle(all_filters)
    own = [_predicates(all_filters[client::clients]) for client in range(clients)]
    contents = [_content(random, all_filters) for _ in range(messages)]
    return Traffic(own, contents, total)


def _predicates(filters: Sequence[Filter]) -> list[str]:
    firsts = range(0, len(filters), _PER_SUBSCRIPTION)
    return [" or ".join(map(str, filters[first : first + _PER_SUBSCRIPTION])) for first in firsts]


def _random(count: int, seed: int) -> list[Filter]:
    """Return distinct filters, each of which some message matches."""
    mix = Forwarding2002(F=2 * count, I=1, c_l=3, c_h=4, names=100, seed=seed)
    drawn = Oracle(filter_table(mix)).all_predicates()[0].filters
    return [filter for filter in drawn if satisfiable(filter)][:count]


def _covered(count: int, seed: int) -> list[Filter]:
    wide = _random(count - round(_COVERED * count), seed)
    random = Random(f"narrow {seed}")
    narrow = [
        Filter([*random.choice(wide).constraints, Constraint(f"extra{number}", Op.EQ, random.randrange(100))])
        for number in range(count - len(wide))
    ]
    return wide + narrow


def _tags(count: int, seed: int) -> list[Filter]:
    _, sets = user_sets(default_models(["web"])["web"], seed, 0, np.arange(count), 1 + _SETS_PER_USER)
    rows = sets.to_lists()[:count]
    return [Filter((), [f"t{tag}" for tag in row]) for row in rows]


POPULATIONS = {"random": _random, "covered": _covered, "tags": _tags}


def _content(random: Random, filters: Sequence[Filter]) -> dict[str, Any]:
    """Return a message made from a few filters: it matches at least one of them."""
    content: dict[str, Any] = {}
    tags: set[str] = set()
    for filter in random.choices(filters, k=random.randint(_MIN_COMBINED, _MAX_COMBINED)):
        values = {name: attribute.first for name, attribute in FilterAnalysis(filter).ranges.items()}
        content = {**values, **content}
        tags |= filter.tags
    return {**content, "#": sorted(tags)} if tags else content
