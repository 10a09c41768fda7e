"""Traces of messages: reports of the routers that one passes, collected for a client where it publishes.

    the reporter    at each router: its decisions and their reasons (the live form of `matching.explain`). For each
                    neighbour on the packet's tree: the filter of its side that matched, or the nearest misses; the same
                    for local subscriptions; and the reason for a drop
    the collector   at the router of the client

A trace may assume a hypothetical subscriber at some router.

Every router that a traced packet passes reports a `Hop`. The reports list the next hops, so the
collector knows which reports are missing; a trace ends when none is, or by timeout. In another domain the reports go to
the gateway that brought the packet there, which relays them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

from cbnet.errors import InputError, UndecidedError
from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate
from cbnet.language.search_budget import MAX_EXAMINED
from cbnet.language.syntax.byte_form import filter_from_bytes, predicate_to_bytes
from cbnet.language.syntax.parser import parse
from cbnet.matching.explain import explain
from cbnet.network.forwarding.forwarding_table import (
    InternalSubscriber,
    Matches,
    Subscriber,
    TreeInterface,
    predicate_of,
)
from cbnet.network.forwarding.router_core import RouterCore
from cbnet.network.link.counters import DropReason, drop_text
from cbnet.network.link.link import Link
from cbnet.network.linkstate.tree_view import TreeView
from cbnet.network.protocol.content import Content
from cbnet.network.protocol.fields import (
    CAME_FROM_THERE,
    LINK_DOWN,
    MAX_BRANCHES,
    MAX_EXAMPLES,
    MAX_REASON_LENGTH,
    NOT_KNOWN,
    PREDICATE_LIMITS,
)
from cbnet.network.protocol.frames import Branch, Hop, Packet, Trace, TracedFrame, TraceEnd, TraceMark, TraceReport
from cbnet.network.protocol.wire import WireError

_MAX_TRACES = 64


class _Relay(NamedTuple):
    relay: Callable[[Hop], None]
    deadline: float


@dataclass
class _Trace:
    link: int
    number: int  # chosen by the client
    deadline: float
    expected: Counter[tuple[str, str, str]] = field(
        default_factory=Counter
    )  # by network, sender and receiver: packets sent minus reports; both "" where it began, or entered the network

    def missing(self) -> list[str]:
        """Return the routers whose reports are missing, each with its network if it is in another one."""
        return sorted({_name(*key) for key, count in self.expected.items() if count > 0})


class Traces:
    """The running traces of this router's clients, and its reports on the packets of any trace."""

    def __init__(self, core: RouterCore) -> None:
        self._core = core
        core.links.on_closed.append(self._link_closed)
        self._traces: dict[int, _Trace] = {}
        self._relays: dict[int, _Relay] = {}
        self._count = 0

    def begin(self, link: int, frame: Trace) -> TraceMark:
        """Start collecting reports on a message; return the mark for its packet."""
        if len(self._traces) >= _MAX_TRACES:
            raise InputError("too many traces at once", hint="wait for one to end")
        if bool(frame.predicate) != bool(frame.at):
            raise InputError("a hypothetical subscriber needs a predicate and a router", hint="give both, or neither")
        predicate_to_bytes(frame.predicate or "true", PREDICATE_LIMITS)
        self._count += 1
        trace = _Trace(link, frame.number, self._core.now + self._core.settings.trace)
        trace.expected["", "", ""] += 1
        self._traces[self._count] = trace
        return TraceMark(self._count, frame.is_dry, frame.predicate, frame.at)

    def relay(self, relay: Callable[[Hop], None]) -> int:
        """Return the number for the mark of a packet from another domain; relay: called with each report on it."""
        self._count += 1
        self._relays[self._count] = _Relay(relay, self._core.now + self._core.settings.trace)
        return self._count

    def report(self, frame: TraceReport) -> None:
        """Handle the report of a router."""
        if frame.number in self._relays:
            self._relays[frame.number].relay(frame.hop)
            return
        trace = self._traces.get(frame.number)
        if trace is None:  # it has timed out
            return
        hop = frame.hop
        self._core.outbox.send(trace.link, TracedFrame(trace.number, hop))
        trace.expected[hop.network, hop.came_from, hop.router if hop.came_from else ""] -= 1
        for branch in hop.branches:
            trace.expected[hop.network, hop.router, branch.neighbour] += branch.is_sent
        for passed in hop.passed_to:
            trace.expected[passed.neighbour, "", ""] += 1
        if not trace.missing():
            self._end(frame.number)

    def check(self) -> None:
        """End the traces that have timed out."""
        for number, trace in list(self._traces.items()):
            if self._core.now >= trace.deadline:
                self._end(number)
        for number in [each for each, relay in self._relays.items() if self._core.now >= relay.deadline]:
            del self._relays[number]

    def _link_closed(self, link: Link) -> None:
        self._traces = {number: trace for number, trace in self._traces.items() if trace.link != link.id}

    def _end(self, number: int) -> None:
        trace = self._traces.pop(number)
        self._core.outbox.send(trace.link, TraceEnd(trace.number, trace.missing()))

    # --- reports of this router

    def hop(self, step: TraceStep) -> Hop:
        """Return the report on a step."""
        delivered, passed_over, missed = self._local_results(step)
        return Hop(
            router=self._core.name,
            came_from=step.came_from,
            hops=step.packet.hops,
            dropped="" if step.dropped is None else drop_text(step.dropped),
            tree=step.packet.tree if step.tree is None else step.tree.number,
            root="" if step.tree is None else step.tree.root,
            branches=self._branches(step),
            delivered=delivered,
            missed=missed,
            hypothetical=self._hypothetical_results(step),
            passed_to=self._passed(step),
            passed_over=passed_over,
        )

    def _branches(self, step: TraceStep) -> list[Branch]:
        """Return the branches that the packet was sent to, then the others of its tree, each in order of neighbours."""
        sent = {branch.to.neighbour: branch for branch in step.sent}
        others = {
            branch.to.neighbour: branch for branch in self._tree_branches(step) if branch.to.neighbour not in sent
        }
        ordered = [*sorted(sent.items()), *sorted(others.items())][:MAX_BRANCHES]
        return [
            Branch(name, name in sent, len(each.to.behind), self._reasons(step, each, is_sent=name in sent))
            for name, each in ordered
        ]

    def _tree_branches(self, step: TraceStep) -> Sequence[TreeInterface]:
        return () if step.tree is None else self._core.fib.interfaces(step.tree)

    def _reasons(self, step: TraceStep, branch: TreeInterface, *, is_sent: bool) -> list[str]:
        """Return the filter of a side that matches, or the nearest misses, or the reason why neither applies."""
        if branch.to.neighbour == step.came_from and not is_sent:
            return [CAME_FROM_THERE]
        if branch.sources is None:
            return [LINK_DOWN if branch.link is None else NOT_KNOWN]
        predicate = self._predicate(branch)
        filter = _matching(step.content, "", predicate)
        is_wanted = filter is not None or wants_hypothetically(step.mark, branch.to.behind, step.content)
        if is_wanted and not is_sent and branch.link is None:
            return [LINK_DOWN]
        if is_wanted:
            return [_short(f"hypothetical subscriber at {step.mark.at}" if filter is None else str(filter))]
        return nearest_misses(step.content, [("", predicate)])

    def _predicate(self, branch: TreeInterface) -> Predicate:
        """Return the predicate of the side behind a branch, as far as it is searched."""
        filters = self._core.fib.filters(branch.to)
        return Predicate(filter_from_bytes(each) for each in sorted(filters)[: _MAX_EXPLAINED + 1])

    def _local_results(self, step: TraceStep) -> tuple[list[str], list[str], list[str]]:
        """Return the local subscriptions that match, those that others of their group represent, and nearest misses."""
        delivered: list[str] = []
        passed: list[str] = []
        others: list[tuple[str, Predicate]] = []
        for subscriber, id, filters in self._core.fib.local():
            name = self._subscription_name(subscriber, id)
            if subscriber is InternalSubscriber.OTHER_DOMAINS and id in step.domains:
                continue
            predicate = predicate_of(filters)
            if isinstance(subscriber, int) and (subscriber, id) in step.matches.passed_over:
                passed.append(_short(f"{name}: {step.matches.passed_over[subscriber, id]}"))
            elif _is_matched(step.matches, subscriber, id):
                delivered.append(_short(f"{name}: {_matching(step.content, name, predicate)}"))
            else:
                others.append((name, predicate))
        return _examples(delivered), _examples(passed), nearest_misses(step.content, others)

    def _passed(self, step: TraceStep) -> list[Branch]:
        """Return the other networks that the packet was passed to."""
        wanted = (
            (id, predicate_of(filters))
            for subscriber, id, filters in self._core.fib.local()
            if subscriber is InternalSubscriber.OTHER_DOMAINS and id in step.domains
        )
        return [
            Branch(step.domains[id], True, 0, [_short(str(_matching(step.content, "", predicate)))])
            for id, predicate in wanted
        ]

    def _subscription_name(self, subscriber: Subscriber, id: int) -> str:
        if isinstance(subscriber, InternalSubscriber):
            return subscriber.value
        return f"subscription {id} of {self._core.links.name(subscriber)}"

    def _hypothetical_results(self, step: TraceStep) -> list[str]:
        """Return whether the hypothetical subscriber matches: reported at its router and at the source."""
        mark = step.mark
        if not mark.predicate or self._core.name not in (mark.at, step.packet.source):
            return []
        behind = {self._core.name}.union(*(branch.to.behind for branch in self._tree_branches(step)))
        if mark.at not in behind:
            return [_short(f"router {mark.at!r} is not reachable")]
        predicate = hypothetical_predicate(mark)
        filter = _matching(step.content, mark.at, predicate)
        if filter is not None:
            return [_short(f"a subscriber at {mark.at}: {filter}")]
        return nearest_misses(step.content, [(f"a subscriber at {mark.at}", predicate)])


def _name(network: str, came_from: str, router: str) -> str:
    if not came_from:
        return f"the gateway to {network}"
    return f"{network}/{router}" if network else router


_MAX_EXPLAINED = 20_000  # filters searched for the nearest misses; fewer if attributes have several values
_TOO_MANY = "the message has too many values to be explained"


class TraceStep(NamedTuple):
    """A router's handling of a traced packet."""

    tree: TreeView | None  # None: this router knows no such tree
    packet: Packet
    mark: TraceMark
    content: Content
    came_from: str
    sent: Sequence[TreeInterface]  # of this tree, or of the one that the packet was committed to again
    dropped: DropReason | None
    matches: Matches
    domains: Mapping[int, str]  # domains that it was passed to: their networks, by the side of the gateway


def wants_hypothetically(mark: TraceMark, nodes: frozenset[str], content: Content) -> bool:
    """Return whether the hypothetical subscriber of a trace is at one of these nodes, and wants the message."""
    if mark.at not in nodes:
        return False
    predicate = hypothetical_predicate(mark)
    return isinstance(_matching(content, "", predicate), Filter)


def hypothetical_predicate(mark: TraceMark) -> Predicate:
    """Return the predicate of a trace's hypothetical subscriber; empty if there is none."""
    try:
        return parse(mark.predicate) if mark.predicate else Predicate()
    except InputError as error:
        raise WireError(f"invalid predicate of a trace: {error.summary}") from None


def nearest_misses(content: Content, named: Iterable[tuple[str, Predicate]]) -> list[str]:
    """Return the filters with the fewest failures, each with its owner, if it has a name, and the failures."""
    misses: list[tuple[int, str]] = []
    searched = 0
    for name, predicate in named:
        searched += _effort(content, predicate)
        if searched > _MAX_EXPLAINED:
            break
        nearest = explain(content, name, predicate).near_misses[:MAX_EXAMPLES]
        misses += [(len(miss.failures), f"{name}: {miss}" if name else str(miss)) for miss in nearest]
    fewest = min((count for count, _ in misses), default=0)
    return [_short(text) for count, text in misses if count == fewest][:MAX_EXAMPLES]


def _matching(content: Content, name: str, predicate: Predicate) -> Filter | str | None:
    """Return the filter of a predicate that a message matches, if any."""
    return _TOO_MANY if _effort(content, predicate) > _MAX_EXPLAINED else explain(content, name, predicate).filter


def _effort(content: Content, predicate: Predicate) -> int:
    """Return how many combinations of values an explanation may examine: one per filter, unless some have several.

    Patterns count as the combinations that take as long.
    """
    try:
        return sum(
            min(MAX_EXAMINED, prod(len(content.leaves_of(name)) or 1 for name in filter.names)) * filter.effort(content)
            for filter in predicate.filters
        )
    except UndecidedError:  # of an attribute computed from an array
        return MAX_EXAMINED


def _is_matched(matches: Matches, subscriber: Subscriber, id: int) -> bool:
    if isinstance(subscriber, int):
        return id in matches.clients.get(subscriber, ())
    if subscriber is InternalSubscriber.INITIAL:
        return matches.is_initial
    return id in (matches.durable if subscriber is InternalSubscriber.DURABLE else matches.domains)


def _examples(texts: Sequence[str]) -> list[str]:
    more = len(texts) - MAX_EXAMPLES
    return [*texts[:MAX_EXAMPLES], *([f"… and {more:,} more"] if more > 0 else [])]


def _short(text: str) -> str:
    return text if len(text) <= MAX_REASON_LENGTH else text[: MAX_REASON_LENGTH - 1] + "…"
