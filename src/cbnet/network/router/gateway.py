"""Gateways, which forward messages and requests between domains [2014 §3.1].

    domain A  ─ router ─┐         ┌─ router ─  domain B
    trees of A          │ gateway │            trees of B
                        └─────────┘

A gateway has a router in each of its domains, which are separate networks with their own names, schemes and trees. The
subscriptions and offers of one domain are registered at the gateway's routers in the others, exactly or as a summary
(`outside`), and announced there. A change is acknowledged in its own domain once the others have confirmed it. Filters
that other gateways have registered in a domain are part of it, so announcements reach any number of domains. Messages
and requests that match cross over:

    message    matches a subscription of another domain; it enters that domain and follows its trees. It keeps its
               identity (source, incarnation and number), so no router handles it twice, whichever path it takes
    request    matches an offer of another domain; the gateway makes the request there, and returns the answer. If there
               is no item, the next domain that offers it is tried, and then the rest of the domain it came from
    report     of a traced message in another domain; it goes to the gateway there, and on to the domain that the
               message came from

The gateways agree on a tree (`tree_position`): in a cycle of domains, withdrawn filters would never expire, and
acknowledgements would wait for each other. A gateway that is not active announces nothing and delays nothing.

When the tree changes, a gateway stays active on its previous sides for some seconds, until the registrations that the
new tree needs are known in all domains. The temporary cycle ends with this overlap, and duplicates are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol, TypeAlias

from msgspec.structs import replace

from cbnet.errors import InputError
from cbnet.network.announce.exports import ExportChange
from cbnet.network.forwarding.forwarding_table import InternalSubscriber
from cbnet.network.link.context import Action
from cbnet.network.protocol.fields import MAX_GATEWAYS, check_name
from cbnet.network.protocol.frames import Hop, NoItem, Packet, ReplyFrame, Request, TraceReport
from cbnet.network.protocol.message_frames import Steps, with_step
from cbnet.network.router.outside import FilterChange, Outside
from cbnet.network.router.router import Router

Path: TypeAlias = tuple[str, ...]  # of gateways: from the root of the gateway tree to the one that announces it


class TreePosition(NamedTuple):
    """The path of a gateway in the tree, and the sides where it is active."""

    path: Path
    active: frozenset[int]


def tree_position(me: str, received: Sequence[Collection[Path]]) -> TreePosition:
    """Return the position of a gateway in the tree, given the paths announced on each of its sides.

    Gateways agree on a tree as the bridges of a local network do, with two differences: a path is announced in the
    gateway's link record, so it is valid while the gateway is reachable; and it lists all gateways, so a path over a
    dead one is never accepted back by a gateway that announced it. Of two paths the one with the smaller root is
    better, then the shorter one, then the one with smaller names.

    A gateway adopts the best path that it receives and appends itself; if none has a smaller root than itself, it is
    the root. It is active in the domain its path comes from, and in each domain where no other gateway announces a
    better path than its own. So in every domain one gateway leads to the root, and one that would close a cycle is
    active on one side only: it forwards nothing, until another gateway disappears.
    """
    others = [[path for path in paths if me not in path] for paths in received]  # else it depends on this one
    candidates = [
        (_rank(path), side)
        for side, paths in enumerate(others)
        for path in paths
        if path[0] < me and len(path) < MAX_GATEWAYS
    ]
    own: Path = (me,)
    to_root: set[int] = set()
    if candidates:
        (_, _, path), side = min(candidates)
        own, to_root = (*path, me), {side}
    leads = {side for side, paths in enumerate(others) if all(_rank(own) < _rank(path) for path in paths)}
    return TreePosition(own, frozenset(to_root | leads))


def _rank(path: Path) -> tuple[str, int, Path]:
    return path[0], len(path), path


_OVERLAP = 4.0  # seconds for which a gateway stays active on sides where the tree no longer needs it


class Side(Protocol):
    """A router in one of the domains, and its driver."""

    @property
    def router(self) -> Router:
        """The router."""

    @property
    def now(self) -> float:
        """The current time."""

    def perform(self, actions: Iterable[Action]) -> None:
        """Perform actions of the router."""


@dataclass
class _Registration:
    """The registration of one side on another: numbers of changes."""

    registered: int = 0
    confirmed: int = 0
    is_watched: bool = False  # whether it waits for a confirmation


class Gateway:
    """A gateway between domains; call `tick` several times per second, and `leave` some time before it stops."""

    def __init__(
        self,
        name: str,
        sides: Sequence[Side],
        outside: str = "exact",
        *,
        soon: Callable[[Callable[[], None]], object],
    ) -> None:
        """Join routers of several domains.

        name: unique among gateways. outside: the kind of summary. soon: calls a function when no router is in a turn.
        """
        check_name("gateway", name)
        if len(sides) < 2:
            raise InputError(f"the gateway {name} has fewer than two domains", hint="configure at least two")
        self.name = name
        self.position = TreePosition((name,), frozenset())
        self._sides = sides
        self._is_leaving = False
        self._active: dict[int, tuple[float, float]] = {}  # by side: active since, and needed until
        self._outsides = [Outside(side.router.settings.network, outside) for side in sides]
        self._registrations: dict[tuple[int, int], _Registration] = {}  # of one side, on another
        self._soon = soon
        self._calls: list[tuple[int, Callable[[], None]]] = []  # for turns of the routers, by side
        self._is_scheduled = False
        for number, side in enumerate(sides):
            side.router.announcements.exports.on_change = partial(self._changed, number)
            side.router.forwarder.on_leave = partial(self._message, number)
            side.router.pulls.on_leave = partial(self._request, number)

    def tick(self) -> None:
        """Update the position in the tree, and register the changes that are due."""
        position = tree_position(self.name, [_other_paths(side.router) for side in self._sides])
        active = self._overlapped(position.active, self._sides[0].now)
        self.position = (
            TreePosition((), self.position.active) if self._is_leaving else TreePosition(position.path, active)
        )
        for side in self._sides:
            side.router.announce_gateway(self.position.path)
        for of in range(len(self._sides)):
            self._join(of)
            self._register_changes(of)

    def leave(self) -> None:
        """Withdraw from the tree, so that other gateways take over; messages are still forwarded until the end."""
        self._is_leaving = True
        self.tick()

    def _overlapped(self, active: frozenset[int], now: float) -> frozenset[int]:
        """Return the active sides; one that is no longer needed stays as long as it was active, at most `_OVERLAP`."""
        for side in active:
            self._active[side] = self._active.get(side, (now, now))[0], now
        for side, (since, until) in list(self._active.items()):
            if now - until > min(until - since, _OVERLAP):
                del self._active[side]
        return frozenset(self._active)

    # --- turns of the routers

    def _router(self, number: int) -> Router:
        return self._sides[number].router

    def _network(self, number: int) -> str:
        return self._router(number).settings.network

    def _post(self, number: int, call: Callable[[], None]) -> None:
        """Make a call in a turn of the router of one side: not at once, as another router may be in its turn."""
        self._calls.append((number, call))
        if not self._is_scheduled:
            self._is_scheduled = True
            self._soon(self._run)

    def _run(self) -> None:
        try:
            while self._calls:
                calls, self._calls = self._calls, []
                for number, side in enumerate(self._sides):
                    own = [call for at, call in calls if at == number]
                    if own:
                        side.perform(side.router.turn(own, side.now))
        finally:
            self._is_scheduled = False

    # --- registrations of the sides on each other

    def _join(self, of: int) -> None:
        """Register one side on the other sides where this gateway is active, and only there."""
        active = self.position.active
        others = active - {of} if of in active else frozenset()
        before = {on for each, on in self._registrations if each == of}
        if others == before:
            return
        for on in before - others:
            del self._registrations[of, on]
            self._post(on, partial(_withdraw, self._router(on), of))
        self._registrations.update({(of, on): _Registration() for on in others - before})
        self._post(of, partial(self._router(of).announcements.export, is_exporting=bool(others)))

    def _changed(self, of: int, change: ExportChange) -> None:
        """Handle a change to the subscriptions or offers of a side."""
        self._outsides[of].change(change)
        self._register_changes(of)

    def _register_changes(self, of: int) -> None:
        """Register the changes of one side on the others, if they are due."""
        outside, now = self._outsides[of], self._sides[of].now
        if outside.is_due(now):
            changes = outside.take_changes(now)
            for (each, on), registration in self._registrations.items():
                if each == of:
                    self._register(of, on, changes if registration.registered else outside.announced)

    def _register(self, of: int, on: int, changes: tuple[FilterChange, FilterChange]) -> None:
        self._registrations[of, on].registered = self._outsides[of].sequence
        self._post(on, partial(_register, self._router(on), of, changes))
        self._watch(of, on)

    def _watch(self, of: int, on: int) -> None:
        """Wait until one side has confirmed the registration of another; one wait at a time, as changes may be many."""
        registration = self._registrations.get((of, on))
        if registration is None or registration.is_watched or registration.confirmed == registration.registered:
            return
        registration.is_watched = True
        sequence = registration.registered

        def confirmed() -> None:
            registration.is_watched, registration.confirmed = False, sequence
            least = min((each.confirmed for (side, _), each in self._registrations.items() if side == of), default=0)
            self._post(of, partial(self._router(of).announcements.confirm_export, least))
            self._watch(of, on)

        self._post(on, partial(self._router(on).announcements.confirmations.watch, confirmed))

    # --- messages

    def _message(self, of: int, packet: Packet, to: Sequence[int]) -> dict[int, str]:
        """Send a packet to other sides; return their networks."""
        entered = [on for on in to if (of, on) in self._registrations]
        for on in entered:
            self._post(on, partial(self._router(on).forwarder.enter, packet, partial(self._report, of, on, packet)))
        return {on: self._network(on) for on in entered}

    def _report(self, of: int, on: int, packet: Packet, hop: Hop) -> None:
        """Send the report of a traced packet on one side to the side that it came from."""
        assert packet.mark is not None
        named = replace(hop, network=hop.network or self._network(on))
        report = TraceReport(packet.source, 0, packet.mark.number, named)
        self._post(of, partial(self._router(of).forwarder.report, report))

    # --- requests

    def _request(self, of: int, request: Request, to: Sequence[int]) -> bool:
        """Send a request to the other sides that offer it, one after the other; return whether there are any."""
        if self.name in request.gateways or len(request.gateways) >= MAX_GATEWAYS:
            return False
        offering = [on for on in to if (of, on) in self._registrations]
        if offering:
            self._ask(of, request, offering)
        return bool(offering)

    def _ask(self, of: int, request: Request, sides: Sequence[int]) -> None:
        router = self._router(of)
        if not sides:
            self._post(of, partial(router.pulls.go_on, request))
            return
        on, *others = sides
        asked = with_step(request, router.settings.name, f"passed to {self._network(on)}, which offers it")
        answer = partial(self._answer, of, on, asked, others, self._sides[of].now)
        sent = replace(asked, gateways=[*request.gateways, self.name])
        self._post(on, partial(self._router(on).pulls.enter, sent, answer))

    def _answer(
        self, of: int, on: int, request: Request, others: Sequence[int], start: float, answer: ReplyFrame | NoItem
    ) -> None:
        """Return the answer to a request; if there is no item, try other sides."""
        steps = self._named_steps(on, request, answer)
        if isinstance(answer, ReplyFrame):
            incarnation, number = request.incarnation, request.number
            reply = replace(answer, to=request.source, hops=0, incarnation=incarnation, number=number, steps=steps)
            self._post(of, partial(self._router(of).pulls.handle_reply, reply))
            return
        left = request.timeout - round((self._sides[of].now - start) * 1000)
        if left > 0:  # else the requester has given up
            tried = replace(request, tried=answer.tried, asked=answer.asked, timeout=left, steps=steps)
            self._ask(of, tried, others)

    def _named_steps(self, on: int, request: Request, answer: ReplyFrame | NoItem) -> Steps:
        """Return the steps of a request and its answer, with the network of those on another side."""
        if request.steps is None or answer.steps is None:
            return None
        network, there = self._network(on), answer.steps[len(request.steps) :]
        return [*request.steps, *(replace(step, network=step.network or network) for step in there)]


# --- the routers


def _other_paths(router: Router) -> list[Path]:
    """Return the paths of the other reachable gateways of a domain."""
    names = sorted(router.version.names - {router.settings.name})
    return [path for name in names if (path := router.database.gateway_path(name))]


def _register(router: Router, of: int, changes: tuple[FilterChange, FilterChange]) -> None:
    """Change the subscriptions and offers of another side of the gateway in this router's domain."""
    for kind, change in zip((router.subscriptions, router.offers), changes, strict=True):
        if change.added or change.removed:
            kind.change(InternalSubscriber.OTHER_DOMAINS, of, *change)
            if not kind.fib.local_filters(InternalSubscriber.OTHER_DOMAINS, of):
                kind.remove(InternalSubscriber.OTHER_DOMAINS, of)


def _withdraw(router: Router, of: int) -> None:
    for kind in (router.subscriptions, router.offers):
        kind.remove(InternalSubscriber.OTHER_DOMAINS, of)
