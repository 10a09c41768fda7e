"""Gateway: how do messages come from one domain into another? Over a router that is in both [2014 §3.1].

    domain A  ─ router ─┐         ┌─ router ─  domain B
    trees of A          │ gateway │            trees of B
                        └─────────┘

A gateway has a router in each of its domains, which are networks of their own: other names, another scheme, other
trees. Each tells its domain a summary of what is wanted on the other sides. A message that comes to one because of that
enters the other domains, if somebody wants it there, and takes their trees from then on. It keeps what makes it
unlike all others (source, life and number), so that no router takes it twice, whichever way it comes.

What is wanted on a side is what all its routers ask for, other gateways too: so it is known beyond any number of
domains. If it is more than a router may ask for, the others are told that everything is. The gateways agree on a tree
(`border_tree`), for in a circle what was wanted once would be wanted for ever.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from cbnet.errors import InputError
from cbnet.language.predicate import Predicate
from cbnet.network.link.actions import Action
from cbnet.network.linkstate.flooding import MAX_NODE_BYTES, MAX_NODE_FILTERS
from cbnet.network.logs import log
from cbnet.network.protocol.fields import check_name
from cbnet.network.protocol.filter_codec import filter_to_bytes
from cbnet.network.protocol.frames import Deliver
from cbnet.network.router.gateway_tree import TreePosition, tree_position
from cbnet.network.router.router import Router
from cbnet.routing.domains.summary import summary

_LOOKED_AT = 50_000  # filters in a second, which take a quarter of a processor
MAX_SUMMARY_FILTERS = MAX_NODE_FILTERS // 4  # filters of one side
MAX_SUMMARY_BYTES = MAX_NODE_BYTES // 4


class Side(Protocol):
    """A router in one of the domains, with who runs it."""

    @property
    def router(self) -> Router:
        """The router."""

    @property
    def now(self) -> float:
        """The time."""

    def perform(self, actions: Iterable[Action]) -> None:
        """Do what the router says."""


class Gateway:
    """A gateway between domains; call `tick` some times in a second, and `leave` some time before it ends."""

    def __init__(self, name: str, sides: Sequence[Side], outside: str = "exact") -> None:
        """Take a name that no other gateway has, the routers, and the summary that domains are told of the others."""
        check_name("gateway", name)
        if len(sides) < 2:
            raise InputError(f"the gateway {name} is in one domain alone", hint="name at least two")
        self.name = name
        self.place = TreePosition((name,), frozenset())
        self._sides = sides
        self._is_leaving = False
        self._summary = summary(outside)
        self._seen: list[tuple[object, ...]] = [()] * len(sides)  # when what is wanted was last looked at
        self._due = [float("-inf")] * len(sides)  # when it may be looked at again
        self._wanted = [Predicate()] * len(sides)
        self._told: dict[tuple[int, int], Predicate] = {}  # on which side, of which side
        for number, side in enumerate(sides):
            side.router.gateway_port.on_message = self._crossing(number)

    def tick(self) -> None:
        """Take the present place in the tree, and tell each domain what is wanted in the others."""
        borders = [side.router.gateway_port for side in self._sides]
        heard = tree_position(self.name, [border.paths() for border in borders])
        self.place = TreePosition((), self.place.active) if self._is_leaving else heard
        for number, border in enumerate(borders):
            border.tell(self.place.path)
            if self._is_due(number):
                self._look(number)
            self._tell(number)

    def _is_due(self, number: int) -> bool:
        """Return whether something else may be wanted on a side, and it is time to look."""
        side = self._sides[number]
        return side.now >= self._due[number] and side.router.gateway_port.state() != self._seen[number]

    def _look(self, number: int) -> None:
        side = self._sides[number]
        self._seen[number] = side.router.gateway_port.state()
        wanted = side.router.gateway_port.wanted()
        self._wanted[number] = self._told_of(number, wanted)
        self._due[number] = side.now + len(wanted) / _LOOKED_AT

    def _told_of(self, number: int, wanted: Predicate) -> Predicate:
        """Return the summary of what is wanted on a side; if that is too large for a record, everything."""
        told = self._summary(wanted)
        if (
            len(told) <= MAX_SUMMARY_FILTERS
            and sum(len(filter_to_bytes(filter)) for filter in told) <= MAX_SUMMARY_BYTES
        ):
            return told
        log(logging.WARNING, "too much", network=self._sides[number].router.settings.network, filters=len(told))
        return summary("all")(wanted)

    def leave(self) -> None:
        """From now on stand in nobody's way: others take over, and until the end this one passes messages on too."""
        self._is_leaving = True
        self.tick()

    def _tell(self, of: int) -> None:
        """Tell the other sides what is wanted on one."""
        active = self.place.active
        for on, side in enumerate(self._sides):
            wanted = self._wanted[of] if {on, of} <= active else Predicate()
            if on != of and self._told.get((on, of), Predicate()) != wanted:
                self._told[on, of] = wanted
                side.router.gateway_port.want(of, wanted)

    def _crossing(self, number: int) -> Callable[[Deliver], None]:
        """Return what takes a message from one side to those that want it."""

        def cross(frame: Deliver) -> None:
            for wanting in frame.subscriptions:
                if {number, wanting} <= self.place.active:
                    side = self._sides[wanting]
                    side.perform(side.router.enter(frame, side.now))

        return cross
