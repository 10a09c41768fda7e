"""TraceReporter: what did this router do with a traced packet, and why? [the live form of `matching.explain`]

For each neighbour: which nodes beyond it want the message and by which filter, or what came closest to matching. The
same for the subscriptions here. And why the packet was dropped, if it was. A trace may suppose that somebody with some
predicate were at some router.

What is beyond a neighbour is found by asking the scheme: where would it send this if one node alone wanted it?
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from cbnet.errors import InputError
from cbnet.language.predicate import Predicate
from cbnet.language.syntax.parser import parse
from cbnet.matching.explain import explain
from cbnet.network.announce.node_predicates import NodePredicates
from cbnet.network.announce.subscriptions import BEYOND, LOADED, Subscriptions
from cbnet.network.link.counters import DropReason
from cbnet.network.link.links import LinkTable
from cbnet.network.linkstate.view import View
from cbnet.network.protocol.content import Content
from cbnet.network.protocol.fields import CAME_FROM_THERE, MAX_BRANCHES, MAX_EXAMPLES, MAX_REASON_LENGTH, NOT_ON_PATH
from cbnet.network.protocol.frames import Branch, Hop, Packet, TraceMark
from cbnet.network.protocol.wire import WireError
from cbnet.routing.header import Header

_MOST_EXPLAINED = 20_000  # filters that are looked at for what came closest


class TraceStep(NamedTuple):
    """What a router has done with a traced packet."""

    view: View
    packet: Packet
    mark: TraceMark
    header: Header | None  # None: it went nowhere
    content: Content
    came_from: str
    sent: Sequence[int]
    dropped: DropReason | None
    matched: dict[int, list[int]]  # subscriptions here, by link


_OF_NO_CLIENT = {LOADED: "the loaded predicate", BEYOND: "other domains"}


class TraceReporter:
    """Says what one router did."""

    def __init__(self, name: str, predicates: NodePredicates, subscriptions: Subscriptions, links: LinkTable) -> None:
        self._name = name
        self._predicates = predicates
        self._subscriptions = subscriptions
        self._links = links

    def hop(self, step: TraceStep) -> Hop:
        """Return the report on a step; while the scheme still supposes what it did."""
        delivered, missed = self._local_matches(step)
        return Hop(
            router=self._name,
            came_from=step.came_from,
            hops=step.packet.hops,
            dropped="" if step.dropped is None else step.dropped.text,
            branches=[] if step.header is None else self._branches(step),
            delivered=delivered,
            missed=missed,
            supposed=self._about_supposed(step),
        )

    def _branches(self, step: TraceStep) -> list[Branch]:
        """Return what was done for each neighbour, those that it was sent to first."""
        wanting = step.view.interests.matched(step.content)
        beyond = _beyond(step)
        neighbours = sorted(step.view.neighbours(), key=lambda w: (w not in step.sent, w))
        return [
            self._branch(step, w, [x for x in beyond.get(w, ()) if wanting >> x & 1], beyond.get(w, ()))
            for w in neighbours[:MAX_BRANCHES]
        ]

    def _branch(self, step: TraceStep, w: int, wanting: Sequence[int], beyond: Sequence[int]) -> Branch:
        names = step.view.names
        shown = [names[x] for x in wanting[:MAX_EXAMPLES]]
        if names[w] == step.came_from:
            why = [CAME_FROM_THERE]
        elif wanting:
            why = [self._reason(name, step) for name in shown]
        elif beyond:
            why = closest(step.content, ((names[x], self._predicates.predicate(names[x])) for x in beyond))
        else:
            why = [NOT_ON_PATH]
        return Branch(names[w], w in step.sent, shown, len(wanting), why)

    def _reason(self, node: str, step: TraceStep) -> str:
        found = explain(step.content, node, self._predicates.predicate(node))
        return _short(f"{node}: {found.filter or 'is supposed to want it'}")

    def _local_matches(self, step: TraceStep) -> tuple[list[str], list[str]]:
        """Return which subscriptions here match, and what came closest among the others."""
        delivered: list[str] = []
        others: list[tuple[str, Predicate]] = []
        for link, id, predicate in self._subscriptions.all():
            name = _OF_NO_CLIENT.get(link) or f"subscription {id} of {self._links.name(link)}"
            if id in step.matched.get(link, ()):
                delivered.append(_short(f"{name}: {explain(step.content, name, predicate).filter}"))
            else:
                others.append((name, predicate))
        more = len(delivered) - MAX_EXAMPLES
        shown = delivered[:MAX_EXAMPLES] + ([f"… and {more:,} more"] if more > 0 else [])
        return shown, closest(step.content, others)

    def _about_supposed(self, step: TraceStep) -> list[str]:
        """Return what is to be said of the subscriber that is supposed: at its router, and at the source."""
        mark = step.mark
        if not mark.predicate or self._name not in (mark.at, step.packet.source):
            return []
        if mark.at not in step.view.ids:
            return [_short(f"no router {mark.at!r} can be reached")]
        predicate = supposed(mark)
        found = explain(step.content, mark.at, predicate)
        if found.filter is not None:
            return [_short(f"a subscriber at {mark.at}: {found.filter}")]
        return closest(step.content, [(f"a subscriber at {mark.at}", predicate)])


@contextmanager
def hypothetical_subscriber(view: View, mark: TraceMark, content: Content) -> Iterator[None]:
    """Let the scheme believe that whom a trace supposes were there."""
    at = view.ids.get(mark.at)
    wanting = view.interests.wanting(content)
    predicate = supposed(mark)  # also where nobody knows the router: what is wrong must not be passed on
    if at is not None and predicate.matches(content):
        wanting |= 1 << at
    view.interests.suppose(wanting)
    try:
        yield
    finally:
        view.interests.suppose(None)


def supposed(mark: TraceMark) -> Predicate:
    """Return the predicate of the subscriber that a trace supposes; the empty one if it supposes none."""
    try:
        return parse(mark.predicate) if mark.predicate else Predicate()
    except InputError as error:
        raise WireError(f"the predicate of a trace: {error.summary}") from None


def closest(content: Content, named: Iterable[tuple[str, Predicate]]) -> list[str]:
    """Return the filters that failed in the fewest places, with whose they are and what failed."""
    found: list[tuple[int, str]] = []
    looked_at = 0
    for name, predicate in named:
        looked_at += len(predicate)
        if looked_at > _MOST_EXPLAINED:
            break
        misses = explain(content, name, predicate).near_misses[:MAX_EXAMPLES]
        found += [(len(miss.failures), f"{name}: {miss}") for miss in misses]
    fewest = min((count for count, _ in found), default=0)
    return [_short(text) for count, text in found if count == fewest][:MAX_EXAMPLES]


def _beyond(step: TraceStep) -> dict[int, list[int]]:
    """Return the nodes beyond each neighbour, for a packet with this header."""
    view, interests = step.view, step.view.interests
    before = interests.matched(step.content)
    beyond: dict[int, list[int]] = {}
    for node in range(len(view)):
        if node != view.me:
            interests.suppose(1 << node)
            header = view.header_codec.toward(step.header, node, at_source=not step.came_from)
            for w in view.router.fwd(header, step.content):
                beyond.setdefault(w, []).append(node)
    interests.suppose(before)
    return beyond


def _short(text: str) -> str:
    return text if len(text) <= MAX_REASON_LENGTH else text[: MAX_REASON_LENGTH - 1] + "…"
