"""Reports of a router on traced packets: its decisions and their reasons (the live form of `matching.explain`).

For each neighbour on the packet's tree: the filter of its side that matched, or the nearest misses; the same for local
subscriptions; and the reason of a drop. A trace may assume a hypothetical subscriber at some router.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import NamedTuple

from cbnet.errors import InputError
from cbnet.language.binding import MAX_EXAMINED
from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate
from cbnet.language.syntax.parser import parse
from cbnet.matching.explain import explain
from cbnet.network.announce.stream_table import Branch as TreeBranch
from cbnet.network.announce.stream_table import StreamTable
from cbnet.network.announce.subscriptions import (
    InternalSubscriber,
    Matches,
    Subscriber,
    Subscriptions,
)
from cbnet.network.link.counters import DropReason
from cbnet.network.link.links import LinkTable
from cbnet.network.protocol.content import Content
from cbnet.network.protocol.fields import CAME_FROM_THERE, MAX_BRANCHES, MAX_EXAMPLES, MAX_REASON_LENGTH
from cbnet.network.protocol.filter_codec import filter_from_bytes
from cbnet.network.protocol.frames import Branch, Hop, Packet, TraceMark
from cbnet.network.protocol.wire import WireError

_MAX_EXPLAINED = 20_000  # filters searched for the nearest misses; more values of an attribute make it fewer
_TOO_MANY = "the message has too many values to be explained"
_NOT_KNOWN = "what its side wants is not known yet"


class TraceStep(NamedTuple):
    """How a router handled a traced packet."""

    branches: Sequence[TreeBranch]  # of the tree; none if it was not forwarded
    packet: Packet
    mark: TraceMark
    content: Content
    came_from: str
    sent: Sequence[str]  # neighbours
    dropped: DropReason | None
    matches: Matches


class TraceReporter:
    """Creates the reports of one router."""

    def __init__(self, name: str, streams: StreamTable, subscriptions: Subscriptions, links: LinkTable) -> None:
        self._name = name
        self._streams = streams
        self._subscriptions = subscriptions
        self._links = links

    def hop(self, step: TraceStep) -> Hop:
        """Return the report on a step."""
        delivered, missed = self._local_results(step)
        return Hop(
            router=self._name,
            came_from=step.came_from,
            hops=step.packet.hops,
            dropped="" if step.dropped is None else step.dropped.text,
            branches=self._branches(step),
            delivered=delivered,
            missed=missed,
            supposed=self._hypothetical_results(step),
        )

    def _branches(self, step: TraceStep) -> list[Branch]:
        """Return the branches to the neighbours on the tree, those it was sent to first."""
        ordered = sorted(step.branches, key=lambda each: (each.to.neighbour not in step.sent, each.to.neighbour))
        return [self._branch(step, branch) for branch in ordered[:MAX_BRANCHES]]

    def _branch(self, step: TraceStep, branch: TreeBranch) -> Branch:
        neighbour = branch.to.neighbour
        if neighbour == step.came_from:
            why = [CAME_FROM_THERE]
        elif branch.subscriptions is None:
            why = [_NOT_KNOWN]
        else:
            why = self._reasons(step, branch)
        return Branch(neighbour, neighbour in step.sent, len(branch.to.behind), why)

    def _reasons(self, step: TraceStep, branch: TreeBranch) -> list[str]:
        """Return the filter of a side that matches, or the nearest misses."""
        predicate = self._predicate(branch)
        name = f"the side of {branch.to.neighbour}"
        filter = _matching(step.content, name, predicate)
        if filter is not None:
            return [_short(str(filter))]
        if wants_hypothetically(step.mark, branch.to.behind, step.content):
            return [_short(f"hypothetical subscriber at {step.mark.at}")]
        return nearest_misses(step.content, [(name, predicate)])

    def _predicate(self, branch: TreeBranch) -> Predicate:
        """Return what the side behind a branch wants, as far as it is searched."""
        filters = self._streams.filters(branch.to)
        return Predicate(filter_from_bytes(each) for each in sorted(filters)[: _MAX_EXPLAINED + 1])

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
        behind = {self._name}.union(*(branch.to.behind for branch in step.branches))
        if mark.at not in behind:
            return [_short(f"router {mark.at!r} is not reachable")]
        predicate = hypothetical_predicate(mark)
        filter = _matching(step.content, mark.at, predicate)
        if filter is not None:
            return [_short(f"a subscriber at {mark.at}: {filter}")]
        return nearest_misses(step.content, [(f"a subscriber at {mark.at}", predicate)])


def wants_hypothetically(mark: TraceMark, nodes: frozenset[str], content: Content) -> bool:
    """Return whether the hypothetical subscriber of a trace is at one of these nodes, and wants the message."""
    predicate = hypothetical_predicate(mark)  # checked even if the router is another: errors are not passed on
    return mark.at in nodes and _effort(content, predicate) <= _MAX_EXPLAINED and predicate.matches(content)


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


def _short(text: str) -> str:
    return text if len(text) <= MAX_REASON_LENGTH else text[: MAX_REASON_LENGTH - 1] + "…"
