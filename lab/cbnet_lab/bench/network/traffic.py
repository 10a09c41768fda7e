"""Subscriptions and messages of the network benchmarks, the expected deliveries, and the check of those received.

Filters are those of a workload mix of the papers, or one of these populations, one client per router, with messages
that match some of them:

random      filters of the [2002] mix with 3 constraints
covered     as random, but 30 % are another filter, of any client, with one more constraint
tags        tag sets of the demo's web users
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbnet.errors import CbnetError, InputError
from cbnet.language.constraint import Constraint, Op
from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet.language.predicate import Predicate
from cbnet.language.relations.covering import FilterAnalysis, satisfiable
from cbnet.language.syntax.parser import parse
from cbnet.matching import Table, reference
from cbnet.pipeline.population.application_models import default_models
from cbnet.pipeline.population.user_model import user_sets
from cbnet_lab.bench.matching.oracle import Oracle
from cbnet_lab.bench.network.load_clients import Order
from cbnet_lab.workload import Forwarding2002, as_messages, messages, mix
from cbnet_lab.workload import filters as filter_table
from cbnet_lab.workload import filters as table_of

_MAX_REFERENCE_PAIRS = 1_000_000  # filters × messages matched by the reference, at up to 4 µs each
_COVERED = 0.3  # share of the filters
_PER_SUBSCRIPTION = 50  # filters
_SETS_PER_USER = 67  # on average
_MIN_COMBINED, _MAX_COMBINED = 1, 3  # filters that a message is made from


@dataclass(frozen=True)
class Traffic:
    """The subscriptions and messages of a run."""

    subscribers: Sequence[Sequence[str]]  # the predicates of each
    contents: Sequence[dict[str, Any]]  # of the messages, in turn
    filters: int

    @property
    def predicates(self) -> list[tuple[int, str]]:
        """All predicates, each with its subscriber."""
        return [(subscriber, text) for subscriber, own in enumerate(self.subscribers) for text in own]


def mixed_traffic(name: str, subscribers: int, filters: int, contents: int, seed: int) -> Traffic:
    """Return the traffic of a workload mix of the papers, with `filters` filters per subscriber."""
    parameters = mix(name, filters=subscribers * filters, interfaces=subscribers, messages=contents, seed=seed)
    predicates = Oracle(table_of(parameters)).all_predicates()
    texts = [[str(predicates[subscriber])] for subscriber in sorted(predicates)]
    return Traffic(texts, as_messages(messages(parameters)), subscribers * filters)


@dataclass(frozen=True)
class DeliveryCheck:
    """Deliveries compared with the expected ones."""

    expected: int  # deliveries
    deliveries: int  # expected ones that arrived
    missing: int
    twice: int  # surplus copies of expected deliveries
    spurious: int  # to clients without a matching subscription

    @property
    def problem(self) -> str | None:
        """The wrong deliveries, if any."""
        if not (self.missing or self.twice or self.spurious):
            return None
        return f"{self.missing:,} missing, {self.twice:,} duplicate, {self.spurious:,} spurious"


@dataclass(frozen=True)
class ExpectedDeliveries:
    """How often a message of each content must reach each subscriber."""

    counts: NDArray[np.uint16]  # uint16[contents, subscribers]
    checked: int  # contents matched by the reference; a table matched the rest

    @property
    def deliveries(self) -> list[int]:
        """The number of deliveries that a message of each content causes."""
        found: list[int] = self.counts.sum(axis=1).tolist()
        return found

    def required(self, order: Order) -> NDArray[np.int64]:
        """Return how often each message of an order must reach each subscriber."""
        contents = np.arange(order.first, order.first + order.count) % len(self.counts)
        return self.counts[contents].astype(np.int64)

    def check(self, order: Order, subscribers: NDArray[np.int64], numbers: NDArray[np.int64]) -> DeliveryCheck:
        """Compare the deliveries of an order with the expected ones; each has a subscriber and a message number."""
        required = self.required(order)
        delivered = np.zeros_like(required)
        inside = (numbers >= order.first) & (numbers < order.first + order.count)
        np.add.at(delivered, (numbers[inside] - order.first, subscribers[inside]), 1)
        surplus = np.maximum(delivered - required, 0)
        return DeliveryCheck(
            int(required.sum()),
            int(np.minimum(required, delivered).sum()),
            int(np.maximum(required - delivered, 0).sum()),
            int(surplus[required > 0].sum()),
            int(surplus[required == 0].sum() + np.sum(~inside)),  # also messages of another order
        )


def expected_deliveries(traffic: Traffic) -> ExpectedDeliveries:
    """Return the expected deliveries, by the reference as far as time allows, the rest by a table that agrees."""
    parsed = [(subscriber, parse(text)) for subscriber, text in traffic.predicates]
    predicates: dict[int, Predicate] = {index: predicate for index, (_, predicate) in enumerate(parsed)}
    owners = [subscriber for subscriber, _ in parsed]
    counts = np.zeros((len(traffic.contents), len(traffic.subscribers)), np.uint16)
    checked = min(len(traffic.contents), max(1, _MAX_REFERENCE_PAIRS // max(1, traffic.filters)))
    table = None if checked == len(traffic.contents) else Table.build(predicates, engine="counting")
    for row, members in enumerate(traffic.contents):
        matched = [] if table is None else table.match(members)
        if row < checked:
            expected = reference.match(predicates, Message.from_dict(members))
            if table is not None and set(expected) != set(matched):
                raise CbnetError("internal error: the table and the reference differ; please report this")
            matched = expected
        for index in matched:
            counts[row, owners[index]] += 1
    return ExpectedDeliveries(counts, checked)


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
