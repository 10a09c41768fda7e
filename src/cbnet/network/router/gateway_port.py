"""GatewayPort: what does a router that belongs to a gateway tell its domain, and what does it hand over?

told        what is wanted in other domains, as subscriptions of nobody here; the gateway's path in the tree between
            domains, in its record of links
heard       what is wanted in this domain by all but the gateway itself; the paths of the other gateways here
handed over a message that matches what is wanted beyond, as if it were delivered to a client
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate
from cbnet.network.announce.subscriptions import BEYOND, Subscriptions
from cbnet.network.link.actions import Action, Send
from cbnet.network.link.context import RouterContext
from cbnet.network.linkstate.database import Database
from cbnet.network.linkstate.view import ViewHistory
from cbnet.network.protocol.filter_codec import filter_from_bytes
from cbnet.network.protocol.frames import Deliver

GatewayPath = tuple[str, ...]  # the gateways from the root of the tree between domains to the one that tells it


class GatewayPort:
    """The part of a router that a gateway uses; idle in all other routers."""

    def __init__(
        self, context: RouterContext, views: ViewHistory, database: Database, subscriptions: Subscriptions
    ) -> None:
        self._context = context
        self._views = views
        self._database = database
        self._subscriptions = subscriptions
        self._read: dict[bytes, Filter] = {}  # what was wanted when it was last asked
        self.on_message: Callable[[Deliver], None] | None = None  # called with what is wanted beyond

    # --- lookup

    def paths(self) -> list[GatewayPath]:
        """Return the paths of the other gateways that can be reached in this domain."""
        names = self._views.current().names
        return [path for name in names if name != self._context.name and (path := self._database.gateway_path(name))]

    def state(self) -> tuple[object, ...]:
        """Return something that is another when something else may be wanted here."""
        return self._views.current(), self._database.predicates.changes, self._subscriptions.changes

    def wanted(self) -> Predicate:
        """Return what is wanted in this domain, by whoever can be reached and by the clients of this router."""
        predicates, before = self._database.predicates, self._read
        others = (name for name in self._views.current().names if name != self._context.name)
        told = dict.fromkeys(written for name in others for written in predicates.written(name))
        self._read = {written: before.get(written) or filter_from_bytes(written) for written in told}
        own = (each for link, _, predicate in self._subscriptions.all() if link != BEYOND for each in predicate)
        return Predicate([*self._read.values(), *own])

    # --- changes; they are told at the next tick

    def tell(self, path: GatewayPath) -> None:
        """Tell this domain the path to the gateway."""
        self._context.gateway_path = path

    def want(self, side: int, predicate: Predicate) -> None:
        """Ask here for what is wanted on another side of the gateway."""
        if predicate.filters:
            self._subscriptions.set(BEYOND, side, predicate)
        else:
            self._subscriptions.remove(BEYOND, side)

    # --- what is to be done

    def passed_on(self, actions: list[Action]) -> list[Action]:
        """Hand over the messages that are wanted beyond; return the other actions."""
        if self.on_message is None:
            return actions
        for action in actions:
            if action.link == BEYOND and isinstance(action, Send) and isinstance(action.frame, Deliver):
                self.on_message(action.frame)
        return self.kept(actions)

    def kept(self, actions: Iterable[Action]) -> list[Action]:
        """Return the actions that are for this domain."""
        return [action for action in actions if action.link != BEYOND]
