"""Gateways, which forward messages between domains [2014 §3.1].

    domain A  ─ router ─┐         ┌─ router ─  domain B
    trees of A          │ gateway │            trees of B
                        └─────────┘

A gateway has a router in each of its domains, which are separate networks: other names, another scheme, other trees.
Each router announces in its domain a summary of the interests on the other sides. A message that reaches a router
because of that enters the other domains with matching interests, and follows their trees from then on. It keeps its
identity (source, life and number), so that no router takes it twice, whichever path it takes.

The interests of a side are those of all its routers, other gateways included: so they reach any number of domains. If
they exceed the limit of one router, "everything" is announced instead. The gateways agree on a tree (`gateway_tree`):
in a circle of domains, interests would never expire.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from cbnet.errors import InputError
from cbnet.language.predicate import Predicate
from cbnet.network.link.actions import Action
from cbnet.network.logs import log
from cbnet.network.protocol.fields import check_name
from cbnet.network.protocol.filter_codec import filter_to_bytes
from cbnet.network.protocol.frames import Deliver
from cbnet.network.router.clients import MAX_NODE_BYTES, MAX_NODE_FILTERS
from cbnet.network.router.gateway_tree import TreePosition, tree_position
from cbnet.network.router.router import Router
from cbnet.routing.domains.summary import summary

_FILTERS_PER_SECOND = 50_000  # that a gateway summarises, with a quarter of a processor
MAX_SUMMARY_FILTERS = MAX_NODE_FILTERS // 4  # of one side
MAX_SUMMARY_BYTES = MAX_NODE_BYTES // 4


class Side(Protocol):
    """A router in one of the domains, and its driver."""

    @property
    def router(self) -> Router:
        """The router."""

    @property
    def now(self) -> float:
        """The time."""

    def perform(self, actions: Iterable[Action]) -> None:
        """Perform actions of the router."""


class Gateway:
    """A gateway between domains; call `tick` several times per second, and `leave` some time before it stops."""

    def __init__(self, name: str, sides: Sequence[Side], outside: str = "exact") -> None:
        """Join routers of several domains; `name` is unique among gateways, `outside` the kind of summary."""
        check_name("gateway", name)
        if len(sides) < 2:
            raise InputError(f"the gateway {name} has fewer than two domains", hint="configure at least two")
        self.name = name
        self.position = TreePosition((name,), frozenset())
        self._sides = sides
        self._is_leaving = False
        self._summary = summary(outside)
        self._seen: list[tuple[object, ...]] = [()] * len(sides)  # states of the ports at the last summary
        self._due = [float("-inf")] * len(sides)  # time of the next summary
        self._interests = [Predicate()] * len(sides)  # summaries
        self._registered: dict[tuple[int, int], Predicate] = {}  # on one side, of another
        for number, side in enumerate(sides):
            side.router.gateway_port.on_message = self._crossing(number)

    def tick(self) -> None:
        """Update the position in the tree, and the interests registered in each domain."""
        ports = [side.router.gateway_port for side in self._sides]
        position = tree_position(self.name, [port.paths() for port in ports])
        self.position = TreePosition((), self.position.active) if self._is_leaving else position
        for number, port in enumerate(ports):
            port.announce(self.position.path)
            if self._is_due(number):
                self._summarise(number)
            self._register(number)

    def _is_due(self, number: int) -> bool:
        """Return whether the interests of a side may have changed, and a new summary is due."""
        side = self._sides[number]
        return side.now >= self._due[number] and side.router.gateway_port.state() != self._seen[number]

    def _summarise(self, number: int) -> None:
        side = self._sides[number]
        self._seen[number] = side.router.gateway_port.state()
        interests = side.router.gateway_port.interests()
        self._interests[number] = self._bounded_summary(number, interests)
        self._due[number] = side.now + len(interests) / _FILTERS_PER_SECOND

    def _bounded_summary(self, number: int, interests: Predicate) -> Predicate:
        """Return the summary of the interests of a side; everything if it is too large for a record."""
        summarised = self._summary(interests)
        if (
            len(summarised) <= MAX_SUMMARY_FILTERS
            and sum(len(filter_to_bytes(filter)) for filter in summarised) <= MAX_SUMMARY_BYTES
        ):
            return summarised
        log(
            logging.WARNING,
            "summary too large",
            network=self._sides[number].router.settings.network,
            filters=len(summarised),
        )
        return summary("all")(interests)

    def leave(self) -> None:
        """Withdraw from the tree, so that other gateways take over; messages are still forwarded until the end."""
        self._is_leaving = True
        self.tick()

    def _register(self, of: int) -> None:
        """Register the interests of one side on the others."""
        active = self.position.active
        for on, side in enumerate(self._sides):
            interests = self._interests[of] if {on, of} <= active else Predicate()
            if on != of and self._registered.get((on, of), Predicate()) != interests:
                self._registered[on, of] = interests
                side.router.gateway_port.register(of, interests)

    def _crossing(self, number: int) -> Callable[[Deliver], None]:
        """Return a callback that takes messages from one side to the others."""

        def cross(frame: Deliver) -> None:
            for target in frame.subscriptions:
                if {number, target} <= self.position.active:
                    side = self._sides[target]
                    side.perform(side.router.enter(frame, side.now))

        return cross
