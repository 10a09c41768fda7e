"""Gateways, which forward messages and requests between domains [2014 §3.1].

    domain A  ─ router ─┐         ┌─ router ─  domain B
    trees of A          │ gateway │            trees of B
                        └─────────┘

A gateway has a router in each of its domains, which are separate networks with their own names, schemes and trees. The
subscriptions and offers of one domain are registered at the gateway's routers in the others, exactly or as a summary
(`outside`), and announced there. A change is acknowledged in its own domain once the others have confirmed it. Filters
that other gateways have registered in a domain are part of it, so announcements reach any number of domains. Messages
and requests that match cross over (`crossings`).

The gateways agree on a tree (`gateway_tree`): in a cycle of domains, withdrawn filters would never expire, and
acknowledgements would wait for each other. A gateway that is not active announces nothing and delays nothing.

When the tree changes, a gateway stays active on its previous sides for some seconds, until the registrations that the
new tree needs are known in all domains. The temporary cycle ends with this overlap, and duplicates are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from cbnet.errors import InputError
from cbnet.network.announce.exports import ExportChange
from cbnet.network.protocol.fields import check_name
from cbnet.network.router.crossings import Crossings, Side
from cbnet.network.router.gateway_port import FilterChange, GatewayPort
from cbnet.network.router.gateway_tree import TreePosition, tree_position
from cbnet.network.router.outside import Outside

_OVERLAP = 4.0  # seconds for which a gateway stays active on sides where the tree no longer needs it


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
        for number in range(len(sides)):
            self._port(number).exports.on_change = partial(self._changed, number)
        self._crossings = Crossings(name, sides, self._post, lambda of, on: (of, on) in self._registrations)

    def tick(self) -> None:
        """Update the position in the tree, and register the changes that are due."""
        ports = [self._port(number) for number in range(len(self._sides))]
        position = tree_position(self.name, [port.paths() for port in ports])
        active = self._overlapped(position.active, self._sides[0].now)
        self.position = (
            TreePosition((), self.position.active) if self._is_leaving else TreePosition(position.path, active)
        )
        for port in ports:
            port.announce(self.position.path)
        for of in range(len(ports)):
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

    def _port(self, number: int) -> GatewayPort:
        return self._sides[number].router.gateway_port

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
            self._post(on, partial(self._port(on).withdraw, of))
        self._registrations.update({(of, on): _Registration() for on in others - before})
        self._post(of, partial(self._port(of).export, is_exporting=bool(others)))

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
        self._post(on, partial(self._port(on).register, of, changes))
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
            self._post(of, partial(self._port(of).confirm, least))
            self._watch(of, on)

        self._post(on, partial(self._port(on).watch, confirmed))
