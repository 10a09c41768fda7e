"""Reports of a router on traced packets: its decisions and their reasons (the live form of `matching.explain`).

For each neighbour: the receivers behind it with the filters that matched, or the nearest misses; the same for local
subscriptions; and the reason of a drop. A trace may assume a hypothetical subscriber at some router.

The nodes behind a neighbour are those for which the scheme would forward to it if each were the only receiver.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import NamedTuple

from cbnet.errors import InputError
from cbnet.language.binding import MAX_EXAMINED
from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate
from cbnet.language.syntax.parser import parse
from cbnet.matching.explain import explain
from cbnet.network.announce.node_predicates import NodePredicates
from cbnet.network.announce.subscriptions import (
    InternalSubscriber,
    Matches,
    Subscriber,
    Subscriptions,
)
from cbnet.network.link.counters import DropReason
from cbnet.network.link.links import LinkTable
from cbnet.network.linkstate.view import View
from cbnet.network.protocol.content import Content
from cbnet.network.protocol.fields import CAME_FROM_THERE, MAX_BRANCHES, MAX_EXAMPLES, MAX_REASON_LENGTH, NOT_ON_PATH
from cbnet.network.protocol.frames import Branch, Hop, Packet, TraceMark
from cbnet.network.protocol.wire import WireError
from cbnet.routing.header import Header

_MAX_EXPLAINED = 20_000  # filters searched for the nearest misses; more values of an attribute make it fewer
_TOO_MANY = "the message has too many values to be explained"


class TraceStep(NamedTuple):
    """How a router handled a traced packet."""

    view: View
    packet: Packet
    mark: TraceMark
    header: Header | None  # None: it was not forwarded
    content: Content
    came_from: str
    sent: Sequence[int]
    dropped: DropReason | None
    matches: Matches  # local subscriptions


class TraceReporter:
    """Creates the reports of one router."""

    def __init__(self, name: str, predicates: NodePredicates, subscriptions: Subscriptions, links: LinkTable) -> None:
        self._name = name
        self._predicates = predicates
        self._subscriptions = subscriptions
        self._links = links

    def hop(self, step: TraceStep) -> Hop:
        """Return the report on a step; call it while the hypothetical subscriber is still assumed."""
        delivered, missed = self._local_results(step)
        return Hop(
            router=self._name,
            came_from=step.came_from,
            hops=step.packet.hops,
            dropped="" if step.dropped is None else step.dropped.text,
            branches=[] if step.header is None else self._branches(step),
            delivered=delivered,
            missed=missed,
            supposed=self._hypothetical_results(step),
        )

    def _branches(self, step: TraceStep) -> list[Branch]:
        """Return the branches to all neighbours, those it was sent to first."""
        receivers = step.view.interests.matched(step.content)
        behind = _nodes_behind(step)
        neighbours = sorted(step.view.neighbours(), key=lambda w: (w not in step.sent, w))
        return [
            self._branch(step, w, [x for x in behind.get(w, ()) if receivers >> x & 1], behind.get(w, ()))
            for w in neighbours[:MAX_BRANCHES]
        ]

    def _branch(self, step: TraceStep, w: int, receivers: Sequence[int], behind: Sequence[int]) -> Branch:
        names = step.view.names
        shown = [names[x] for x in receivers[:MAX_EXAMPLES]]
        if names[w] == step.came_from:
            why = [CAME_FROM_THERE]
        elif receivers:
            why = [self._reason(name, step) for name in shown]
        elif behind:
            why = nearest_misses(step.content, ((names[x], self._predicates.predicate(names[x])) for x in behind))
        else:
            why = [NOT_ON_PATH]
        return Branch(names[w], w in step.sent, shown, len(receivers), why)

    def _reason(self, node: str, step: TraceStep) -> str:
        filter = _matching(step.content, node, self._predicates.predicate(node))
        return _short(f"{node}: {filter or 'hypothetical subscriber'}")

    def _local_results(self, step: TraceStep) -> tuple[list[str], list[str]]:
        """Return the local subscriptions that match, and the nearest misses among the others."""
        delivered: list[str] = []
        others: list[tuple[str, Predicate]] = []
        for subscriber, id, predicate in self._subscriptions.all():
            name = self._subscription_name(subscriber, id)
            if _is_matched(step.matches, subscriber, id):
                delivered.append(_short(f"{name}: {_matching(step.content, name, predicate)}"))
            else:
                others.append((name, predicate))
        more = len(delivered) - MAX_EXAMPLES
        shown = delivered[:MAX_EXAMPLES] + ([f"… and {more:,} more"] if more > 0 else [])
        return shown, nearest_misses(step.content, others)

    def _subscription_name(self, subscriber: Subscriber, id: int) -> str:
        if isinstance(subscriber, InternalSubscriber):
            return subscriber.value
        return f"subscription {id} of {self._links.name(subscriber)}"

    def _hypothetical_results(self, step: TraceStep) -> list[str]:
        """Return whether the hypothetical subscriber matches: reported at its router and at the source."""
        mark = step.mark
        if not mark.predicate or self._name not in (mark.at, step.packet.source):
            return []
        if mark.at not in step.view.ids:
            return [_short(f"router {mark.at!r} is not reachable")]
        predicate = hypothetical_predicate(mark)
        filter = _matching(step.content, mark.at, predicate)
        if filter is not None:
            return [_short(f"a subscriber at {mark.at}: {filter}")]
        return nearest_misses(step.content, [(f"a subscriber at {mark.at}", predicate)])


@contextmanager
def hypothetical_subscriber(view: View, mark: TraceMark, content: Content) -> Iterator[None]:
    """Make the scheme assume the hypothetical subscriber of a trace."""
    at = view.ids.get(mark.at)
    receivers = view.interests.receivers(content)
    predicate = hypothetical_predicate(mark)  # checked even if the router is unknown: errors are not passed on
    if at is not None and _effort(content, predicate) <= _MAX_EXPLAINED and predicate.matches(content):
        receivers |= 1 << at
    view.interests.assume(receivers)
    try:
        yield
    finally:
        view.interests.assume(None)


def hypothetical_predicate(mark: TraceMark) -> Predicate:
    """Return the predicate of a trace's hypothetical subscriber; empty if there is none."""
    try:
        return parse(mark.predicate) if mark.predicate else Predicate()
    except InputError as error:
        raise WireError(f"invalid predicate of a trace: {error.summary}") from None


def nearest_misses(content: Content, named: Iterable[tuple[str, Predicate]]) -> list[str]:
    """Return the filters with the fewest failures, each with its owner and the failures."""
    misses: list[tuple[int, str]] = []
    searched = 0
    for name, predicate in named:
        searched += _effort(content, predicate)
        if searched > _MAX_EXPLAINED:
            break
        nearest = explain(content, name, predicate).near_misses[:MAX_EXAMPLES]
        misses += [(len(miss.failures), f"{name}: {miss}") for miss in nearest]
    fewest = min((count for count, _ in misses), default=0)
    return [_short(text) for count, text in misses if count == fewest][:MAX_EXAMPLES]


def _matching(content: Content, name: str, predicate: Predicate) -> Filter | str | None:
    """Return the filter of a predicate that a message matches, if any."""
    return _TOO_MANY if _effort(content, predicate) > _MAX_EXPLAINED else explain(content, name, predicate).filter


def _effort(content: Content, predicate: Predicate) -> int:
    """Return how many combinations of values an explanation may examine: one per filter, unless some have several."""
    if not content.is_nested:
        return len(predicate)
    counts = {name: len(leaves) for name, leaves in content.leaves.items()}
    combinations = (prod(counts.get(name, 1) for name in filter.names) for filter in predicate.filters)
    return sum(min(MAX_EXAMINED, count) for count in combinations)


def _is_matched(matches: Matches, subscriber: Subscriber, id: int) -> bool:
    if isinstance(subscriber, int):
        return id in matches.clients.get(subscriber, ())
    return matches.is_loaded if subscriber is InternalSubscriber.LOADED else id in matches.domains


def _nodes_behind(step: TraceStep) -> dict[int, list[int]]:
    """Return the nodes behind each neighbour, for a packet with this header."""
    view, interests = step.view, step.view.interests
    before = interests.matched(step.content)
    behind: dict[int, list[int]] = {}
    for node in range(len(view)):
        if node != view.me:
            interests.assume(1 << node)
            header = view.header_codec.toward(step.header, node, at_source=not step.came_from)
            for w in view.router.fwd(header, step.content):
                behind.setdefault(w, []).append(node)
    interests.assume(before)
    return behind


def _short(text: str) -> str:
    return text if len(text) <= MAX_REASON_LENGTH else text[: MAX_REASON_LENGTH - 1] + "…"
