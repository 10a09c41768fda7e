"""Subscriptions and offers of a client, which are registered again at each router that it connects to."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import TypeVar

from cbnet.errors import CbnetError
from cbnet.network.client.async_pull import AsyncOffer
from cbnet.network.client.async_subscription import AsyncSubscription, Confirmation, Delivery
from cbnet.network.client.client_calls import Call
from cbnet.network.client.client_events import ClientEvent
from cbnet.network.client.client_link import ClientLink
from cbnet.network.client.durable.home_search import HomeSearch
from cbnet.network.errors import NotConfirmed, Refused
from cbnet.network.protocol import frames
from cbnet.network.protocol.fields import MAX_SECONDS
from cbnet.network.protocol.frames import Frame, frame_number
from cbnet.network.protocol.reasons import ReasonCode

Entry = TypeVar("Entry", AsyncSubscription, AsyncOffer)
_log = logging.getLogger("cbnet.network")


def _kind_of(subscription: AsyncSubscription) -> type[Frame]:
    if subscription.durable is not None:
        return frames.DurableSubscribe
    return frames.Replay if subscription.is_replay else frames.Subscribe


def _is_elsewhere(subscription: AsyncSubscription, code: int) -> bool:
    """Return whether a refusal means that another router has the durable subscription, or the history of a replay."""
    if subscription.durable is not None:
        return code == ReasonCode.OTHER_HOME
    has_begun = subscription.since is not None and subscription.since.journal != 0
    return has_begun and code in (ReasonCode.OTHER_HISTORY, ReasonCode.NO_HISTORY)


class Registrations:
    """The subscriptions and offers of one client, by id."""

    def __init__(self, link: ClientLink, report: Callable[[ClientEvent], None]) -> None:
        self.subscriptions: dict[int, AsyncSubscription] = {}
        self.offers: dict[int, AsyncOffer] = {}
        self._link = link
        self.home_search = HomeSearch(link, self._send_subscription, report)
        self._loop = asyncio.get_running_loop()
        self._deadlines: dict[int, float] = {}  # by id, of entries that wait for confirmation

    async def subscribe(self, subscription: AsyncSubscription, timeout: float, *, wait: bool) -> None:
        """Register a subscription; wait: raise `NotConfirmed` if it is not confirmed in time, and keep it."""

        def send() -> None:
            self._send_subscription(subscription)

        await self._register(self.subscriptions, subscription, _kind_of(subscription), send, timeout, wait=wait)

    async def offer(self, offer: AsyncOffer, timeout: float, *, wait: bool) -> None:
        """Register an offer; wait: as in `subscribe`."""
        await self._register(
            self.offers, offer, frames.OfferFrame, lambda: self._send_offer(offer), timeout, wait=wait
        )  # fmt: skip

    async def _first_answer(
        self, entries: dict[int, Entry], entry: Entry, kind: type[Frame], send: Callable[[], None], end: float
    ) -> frames.Subscribed | frames.Offered:
        """Register an entry, at another router if this one states that it must be registered there."""
        while True:
            entries[entry.id] = entry
            left = max(0.0, end - self._loop.time())
            try:
                answer: frames.Subscribed | frames.Offered = await self._link.call(
                    kind, entry.id, send, left, is_restored=True
                )
            except Refused as error:
                del entries[entry.id]
                is_elsewhere = isinstance(entry, AsyncSubscription) and _is_elsewhere(entry, error.code)
                if not is_elsewhere or self._loop.time() >= end or not self._link.leave(str(error)):
                    raise
            else:
                return answer

    async def _register(
        self,
        entries: dict[int, Entry],
        entry: Entry,
        kind: type[Frame],
        send: Callable[[], None],
        timeout: float,
        *,
        wait: bool,
    ) -> None:
        end = self._loop.time() + timeout
        if wait:
            self._deadlines[entry.id] = end
        try:
            answer = await self._first_answer(entries, entry, kind, send, end)
        except BaseException as error:
            entries.pop(entry.id, None)
            if not isinstance(error, Refused):  # the router may have registered it
                self._link.send(
                    frames.Withdraw(entry.id) if isinstance(entry, AsyncOffer) else frames.Unsubscribe(entry.id)
                )
            raise
        finally:
            self._deadlines.pop(entry.id, None)
        entry.confirmation = Confirmation(answer.is_confirmed, answer.routers, answer.missing)
        if isinstance(entry, AsyncSubscription):
            entry.is_registered = True
        if wait and not answer.is_confirmed:
            raise NotConfirmed(entry, answer.routers, answer.missing, timeout)

    # --- at a new router

    def restore(self) -> None:
        """Send all subscriptions and offers to a router that has just accepted the client."""
        self.home_search.connected()
        if any(each.when_full == "disconnect" for each in self.subscriptions.values()):
            self._link.send(frames.SlowPolicy("disconnect"))
        for subscription in self.subscriptions.values():
            if subscription.durable is not None or subscription.is_replay:
                subscription.clear()
            self._send_subscription(subscription)
        for offer in self.offers.values():
            self._send_offer(offer)

    def calls(self) -> set[Call]:
        """Return the calls that are repeated on a new connection."""
        offers = {(frame_number(frames.OfferFrame), id) for id in self.offers}
        subscriptions = {(frame_number(_kind_of(each)), id) for id, each in self.subscriptions.items()}
        return offers | subscriptions

    def _send_subscription(self, subscription: AsyncSubscription) -> None:
        if subscription.when_full == "disconnect":
            self._link.send(frames.SlowPolicy("disconnect"))
        self._link.send(self._frame_of(subscription))

    def _frame_of(self, subscription: AsyncSubscription) -> Frame:
        id, predicate, wait = subscription.id, subscription.predicate, self._wait(subscription.id)
        if subscription.durable is not None:
            name, ack_wait, limits = subscription.durable
            return frames.DurableSubscribe(
                id=id,
                name=name,
                predicate=predicate,
                wait=wait,
                window=subscription.window,
                ack_wait=ack_wait,
                limits=limits,
                start=subscription.since,
                is_restored=subscription.is_registered,
            )
        if subscription.since is not None:
            return frames.Replay(id, predicate, wait, subscription.window, subscription.since)
        return frames.Subscribe(id, predicate, wait, subscription.is_initial, subscription.group)

    def _send_offer(self, offer: AsyncOffer) -> None:
        self._link.send(frames.OfferFrame(offer.id, offer.predicate, self._wait(offer.id)))

    def _wait(self, id: int) -> float:
        """Return the seconds left to confirm a subscription or an offer."""
        deadline = self._deadlines.get(id)
        return 0.0 if deadline is None else min(max(0.001, deadline - self._loop.time()), MAX_SECONDS)

    # --- deliveries

    def put(self, batches: Mapping[int, list[Delivery]]) -> list[AsyncSubscription]:
        """Queue messages for subscriptions, by id; return those that still exist."""
        found = [(self.subscriptions[id], batch) for id, batch in batches.items() if id in self.subscriptions]
        for subscription, deliveries in found:
            subscription.put(deliveries)
        return [subscription for subscription, _ in found]

    # --- end

    def accepted(self, id: int) -> None:
        """Record that a router has accepted a subscription."""
        subscription = self.subscriptions.get(id)
        if subscription is not None and subscription.durable is not None:
            self.home_search.accepted(subscription)

    def remove(self, id: int) -> AsyncSubscription | None:
        """Remove a subscription that ends; return it, if there is one."""
        self.home_search.removed(id)
        return self.subscriptions.pop(id, None)

    def _goes_elsewhere(self, subscription: AsyncSubscription, frame: frames.RefusedFrame) -> bool:
        if subscription.durable is None:
            return self._link.leave(frame.reason)
        return self.home_search.refused(subscription, frame.reason, frame.address)

    def refuse(self, frame: frames.RefusedFrame) -> None:
        """End an entry that was accepted before and is refused now, by another router or after a change of rights."""
        subscription = self.subscriptions.get(frame.number)
        if subscription is not None and frame.frame == frame_number(_kind_of(subscription)):
            if _is_elsewhere(subscription, frame.code) and self._goes_elsewhere(subscription, frame):
                return
            self.remove(frame.number)
            subscription.end(Refused(frame.reason, frame.code))
        elif frame.frame == frame_number(frames.OfferFrame) and frame.number in self.offers:
            self.offers.pop(frame.number).failure = Refused(frame.reason, frame.code)
            _log.warning("%s refuses an offer that was accepted before: %s", self._link.router, frame.reason)

    def fail(self, error: CbnetError) -> None:
        """End all subscriptions and offers: no router accepts this client."""
        self.home_search.close()
        for subscription in self.subscriptions.values():
            subscription.end(error)
        for offer in self.offers.values():
            offer.failure = error

    def end_subscriptions(self, error: CbnetError | None = None) -> None:
        """End and remove all subscriptions; the error, if any, is raised after their last message."""
        for subscription in self.subscriptions.values():
            subscription.end(error)
        self.home_search.close()
        self.subscriptions.clear()
