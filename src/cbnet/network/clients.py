"""Clients: what does a router answer to those who subscribe, publish and trace?

A mistake of a client, such as a predicate with a wrong sign, is answered with `Refused`, and the link goes on.
"""

from __future__ import annotations

from cbnet.errors import InputError, LimitError
from cbnet.language.limits import Limits
from cbnet.language.parser import parse
from cbnet.language.predicate import Predicate
from cbnet.network.announced import Announced
from cbnet.network.confirmations import Confirmations
from cbnet.network.content import Content
from cbnet.network.filters import filter_to_bytes
from cbnet.network.flooding import MOST_NODE_BYTES, MOST_NODE_FILTERS
from cbnet.network.forwarding import Forwarder
from cbnet.network.frames import (
    MOST_PREDICATE,
    MOST_REASON,
    Publish,
    Published,
    Refused,
    Subscribe,
    Subscribed,
    Trace,
    Unsubscribe,
    Unsubscribed,
)
from cbnet.network.local import Local
from cbnet.network.origin import Origin
from cbnet.network.subscriptions import Subscriptions
from cbnet.network.traces import Traces

LIMITS = Limits(length=MOST_PREDICATE, filters=1_000, constraints=10_000)  # of one predicate
MOST_SUBSCRIPTIONS = 100_000  # of one client


class Clients:
    """The clients of one router."""

    def __init__(
        self,
        local: Local,
        subscriptions: Subscriptions,
        announced: Announced,
        origin: Origin,
        confirmations: Confirmations,
        forwarder: Forwarder,
        traces: Traces,
    ) -> None:
        self._local = local
        self._subscriptions = subscriptions
        self._announced = announced
        self._origin = origin
        self._confirmations = confirmations
        self._forwarder = forwarder
        self._traces = traces

    def subscribe(self, link: int, frame: Subscribe) -> None:
        """Take a subscription; if it is to be waited for, answer later."""
        try:
            predicate = self._checked(link, frame)
        except InputError as error:
            self._refuse(link, frame, frame.id, error)
            return
        self._subscriptions.set(link, frame.id, predicate)
        self._confirmations.forget(link, frame.id)
        if frame.wait:
            self._confirmations.wait(link, frame.id, self._origin.awaited(), frame.wait)
        else:
            self._local.outbox.send(link, Subscribed(frame.id, False, 1, []))

    def unsubscribe(self, link: int, frame: Unsubscribe) -> None:
        """Remove a subscription."""
        if self._subscriptions.remove(link, frame.id):
            self._confirmations.forget(link, frame.id)
            self._local.outbox.send(link, Unsubscribed(frame.id))
        else:
            self._refuse(link, frame, frame.id, InputError(f"there is no subscription {frame.id}"))

    def publish(self, link: int, frame: Publish) -> None:
        """Send a message on its way."""
        try:
            self._forwarder.publish(frame)
        except InputError as error:
            self._refuse(link, frame, frame.number, error)
            return
        if frame.wants_answer:
            self._local.outbox.send(link, Published(frame.number))

    def trace(self, link: int, frame: Trace) -> None:
        """Send a message on its way and tell the client what becomes of it."""
        try:
            Content(frame)  # refuses what is no message, before anything is begun
            self._forwarder.publish(frame, self._traces.begin(link, frame))
        except InputError as error:
            self._refuse(link, frame, frame.number, error)

    def closed(self, link: int) -> None:
        """Forget a client."""
        self._subscriptions.closed(link)
        self._confirmations.forget(link)
        self._traces.forget(link)

    def _checked(self, link: int, frame: Subscribe) -> Predicate:
        predicate = parse(frame.predicate, LIMITS)
        size = sum(len(filter_to_bytes(filter)) for filter in predicate.filters)  # refuses what is too long by itself
        for what, count, limit in (
            ("subscriptions of a client", self._subscriptions.count(link) + 1, MOST_SUBSCRIPTIONS),
            ("filters at a router", self._announced.distinct + len(predicate), MOST_NODE_FILTERS),
            ("bytes of filters at a router", self._subscriptions.size + size, MOST_NODE_BYTES),
        ):
            if count > limit:
                raise LimitError(what, count, limit)
        return predicate

    def _refuse(
        self, link: int, frame: Subscribe | Unsubscribe | Publish | Trace, number: int, error: InputError
    ) -> None:
        self._local.counters["refused"] += 1
        tag = frame.__struct_config__.tag
        assert isinstance(tag, int)
        self._local.outbox.send(link, Refused(tag, number, error.summary[:MOST_REASON]))
