"""The inbox of a client: its subscriptions and offers, the frames from its router, and restoration at a new router.

It owns the client's link and everything that waits for frames: subscriptions and offers, traces, durable publications.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from cbnet.errors import CbnetError
from cbnet.network.client.async_pull import AsyncOffer, OfferAnswers
from cbnet.network.client.async_subscription import AsyncSubscription, Confirmation, Delivery, DurableDelivery
from cbnet.network.client.client_calls import Call
from cbnet.network.client.client_events import ClientEvent, EventHandler, EventKind, Interruption
from cbnet.network.client.client_link import TIMEOUT, ClientLink, Dial
from cbnet.network.client.durable.durable_publishing import DurablePublisher, DurablePublishing
from cbnet.network.client.durable.home_search import HomeSearch
from cbnet.network.errors import NotConfirmed, NotConnected, Refused, TooSlow
from cbnet.network.protocol import frames
from cbnet.network.protocol.addresses import Address
from cbnet.network.protocol.fields import MAX_SECONDS
from cbnet.network.protocol.frames import Frame, Hello, Hop, frame_number
from cbnet.network.protocol.reasons import ReasonCode

Entry: TypeAlias = AsyncSubscription | AsyncOffer
_log = logging.getLogger("cbnet.network")


class Traced(NamedTuple):
    """The trace of a message: the steps of all routers that it reaches."""

    hops: list[Hop]
    missing: list[str]  # routers that the message was sent to but that did not report


def _kind_of(entry: Entry) -> type[Frame]:
    if isinstance(entry, AsyncOffer):
        return frames.OfferFrame
    if entry.durable is not None:
        return frames.DurableSubscribe
    return frames.Replay if entry.is_replay else frames.Subscribe


def _is_elsewhere(entry: Entry, code: int) -> bool:
    """Return whether a refusal means that another router has the durable subscription, or the history of a replay."""
    if isinstance(entry, AsyncOffer):
        return False
    if entry.durable is not None:
        return code == ReasonCode.OTHER_HOME
    has_begun = entry.since is not None and entry.since.journal != 0
    return has_begun and code in (ReasonCode.OTHER_HISTORY, ReasonCode.NO_HISTORY)


class ClientInbox:
    """The owner of the link of one client."""

    def __init__(
        self, hello: Hello, addresses: Sequence[Address], dial: Dial, publisher: DurablePublisher, *, follows: bool
    ) -> None:
        """Start dialling; dial, follows: as in `ClientLink`. publisher: numbers the durable messages."""
        self.lost = 0  # messages that a router dropped because this client read too slowly
        self.refused = 0  # messages published without `wait` that the router refused
        self.refusal = ""  # the reason for the last of them
        self.on_event: EventHandler | None = None
        self.interruption = Interruption()
        self.loop = asyncio.get_running_loop()
        self.link = ClientLink(self, hello, addresses, dial, follows=follows)
        self.subscriptions: dict[int, AsyncSubscription] = {}  # by id, as the offers: all ids of a client differ
        self.offers: dict[int, AsyncOffer] = {}
        self._deadlines: dict[int, float] = {}  # by id, of entries that wait for confirmation
        self._home_search = HomeSearch(self.link, self._send, self._report)
        self._hops: dict[int, list[Hop]] = {}  # of open traces, by the number of the message
        self.durable = DurablePublishing(self.link, publisher)
        self._answers = OfferAnswers(self.link.send_if_connected)

    async def close(self) -> None:
        """Close the connection and end all subscriptions and offers."""
        for subscription in self.subscriptions.values():
            subscription.send_acknowledgements()
        self._end_subscriptions()
        self.offers.clear()
        self.durable.fail(NotConnected("the client is closed; no receipt arrived"))
        await self._answers.close()
        await self.link.close()
        self.on_event = None  # it often refers to a subscription

    async def trace(self, number: int, data: bytes, timeout: float) -> Traced:
        """Send an encoded `Trace`, and return the trace when it ends."""
        hops = self._hops[number] = []
        try:
            end: frames.TraceEnd = await self.link.call(
                frames.Trace, number, lambda: self.link.send_bytes(data), timeout
            )
            return Traced(hops, end.missing)
        finally:
            del self._hops[number]

    # --- subscriptions and offers

    async def register(self, entry: Entry, timeout: float, *, wait: bool) -> None:
        """Register an entry; wait: raise `NotConfirmed` if it is not confirmed in time, and keep it."""
        end = self.loop.time() + timeout
        if wait:
            self._deadlines[entry.id] = end
        try:
            answer = await self._first_answer(entry, end)
        except BaseException as error:
            self._entries(entry).pop(entry.id, None)
            if not isinstance(error, Refused):  # the router may have registered it
                is_offer = isinstance(entry, AsyncOffer)
                self.link.send(frames.Withdraw(entry.id) if is_offer else frames.Unsubscribe(entry.id))
            raise
        finally:
            self._deadlines.pop(entry.id, None)
        entry.confirmation = Confirmation(answer.is_confirmed, answer.routers, answer.missing)
        entry.is_registered = True
        if wait and not answer.is_confirmed:
            raise NotConfirmed(entry, answer.routers, answer.missing, timeout)

    async def _first_answer(self, entry: Entry, end: float) -> frames.Subscribed | frames.Offered:
        """Register an entry, at another router if this one states that it must be registered there."""
        while True:
            self._entries(entry)[entry.id] = entry
            left = max(0.0, end - self.loop.time())
            try:
                answer: frames.Subscribed | frames.Offered = await self.link.call(
                    _kind_of(entry), entry.id, lambda: self._send(entry), left, is_restored=True
                )
            except Refused as error:
                del self._entries(entry)[entry.id]
                is_elsewhere = _is_elsewhere(entry, error.code)
                if not is_elsewhere or self.loop.time() >= end or not self.link.leave(str(error)):
                    raise
            else:
                return answer

    def _entries(self, entry: Entry) -> dict[int, Any]:
        return self.offers if isinstance(entry, AsyncOffer) else self.subscriptions

    def _send(self, entry: Entry) -> None:
        if isinstance(entry, AsyncSubscription) and entry.when_full == "disconnect":
            self.link.send(frames.SlowPolicy("disconnect"))
        self.link.send(self._frame_of(entry))

    def _frame_of(self, entry: Entry) -> Frame:
        id, predicate, wait = entry.id, entry.predicate, self._wait(entry.id)
        if isinstance(entry, AsyncOffer):
            return frames.OfferFrame(id, predicate, wait)
        if entry.durable is not None:
            name, ack_wait, limits = entry.durable
            return frames.DurableSubscribe(
                id=id,
                name=name,
                predicate=predicate,
                wait=wait,
                window=entry.window,
                ack_wait=ack_wait,
                limits=limits,
                start=entry.since,
                is_restored=entry.is_registered,
            )
        if entry.since is not None:
            return frames.Replay(id, predicate, wait, entry.window, entry.since)
        return frames.Subscribe(id, predicate, wait, entry.is_initial, entry.group)

    def _wait(self, id: int) -> float:
        """Return the seconds left to confirm a subscription or an offer."""
        deadline = self._deadlines.get(id)
        return 0.0 if deadline is None else min(max(0.001, deadline - self.loop.time()), MAX_SECONDS)

    async def unsubscribe(self, subscription: AsyncSubscription) -> None:
        """End a subscription."""
        if self._remove(subscription.id) is None:
            return
        subscription.send_acknowledgements()
        subscription.end()
        self.release()
        if self.link.connection is not None and not subscription.waiting:
            await self.link.ask(frames.Unsubscribe(subscription.id), subscription.id, TIMEOUT)

    async def withdraw(self, offer: AsyncOffer) -> None:
        """End an offer."""
        if self.offers.pop(offer.id, None) is not None and self.link.connection is not None:
            await self.link.ask(frames.Withdraw(offer.id), offer.id, TIMEOUT)

    def _remove(self, id: int) -> AsyncSubscription | None:
        """Remove a subscription that ends; return it, if there is one."""
        self._home_search.removed(id)
        return self.subscriptions.pop(id, None)

    def _end_subscriptions(self, error: CbnetError | None = None) -> None:
        """End and remove all subscriptions; the error, if any, is raised after their last message."""
        for subscription in self.subscriptions.values():
            subscription.end(error)
        self._home_search.close()
        self.subscriptions.clear()

    def release(self) -> None:
        """Resume reading if no queue is full."""
        if self.link.is_held and not any(each.is_full for each in self.subscriptions.values()):
            self.link.is_held = False
            self.link.release()

    # --- callbacks of the link

    def received(self, frame: Frame) -> None:
        """Handle a frame from the router."""
        match frame:
            case frames.HolderRequest():
                self._answers.start(frame, self.offers.get(frame.offer))
            case frames.TracedFrame():
                self._hops.get(frame.number, []).append(frame.hop)
            case frames.RefusedFrame():
                self._refused(frame)
            case frames.Lost():
                self._lost(frame)
            case frames.Subscribed():
                subscription = self.subscriptions.get(frame.id)
                if subscription is not None and subscription.durable is not None:
                    self._home_search.accepted(subscription)
                self.link.calls.answer(frame)
            case frames.DurableDeliver():
                self._delivered_durable(frame)
            case frames.DurablePublished():
                self.durable.answered(frame)
            case frames.DurablePublishedRun():
                for each in frame.each():
                    self.durable.answered(each)
            case frames.Replaying() if frame.id in self.subscriptions:
                self.subscriptions[frame.id].begins(frame)
            case frames.DurableLost() if frame.id in self.subscriptions:
                self._lost_durable(frame)
            case _:
                self.link.calls.answer(frame)

    def too_slow(self, reason: str = "messages arrived faster than they were read") -> None:
        """End all subscriptions and disconnect: a queue with the policy "disconnect" is full."""
        self._end_subscriptions(TooSlow(reason))
        self.link.give_up("the client was too slow and is disconnected", "too slow", "connect again")

    def delivered(self, batches: Mapping[int, list[Delivery]]) -> None:
        """Queue messages for subscriptions."""
        if self.interruption.is_open:
            for source, most in self.interruption.check(batches, self.loop.time()):
                text = f"{most:,} other messages were published at {source} meanwhile: those that match were missed"
                self._report(ClientEvent(EventKind.MISSED, self.link.router, text, most))
        self._queue(batches)

    def _queue(self, batches: Mapping[int, list[Delivery]]) -> None:
        found = [(self.subscriptions[id], batch) for id, batch in batches.items() if id in self.subscriptions]
        for subscription, deliveries in found:
            subscription.put(deliveries)
        self.link.is_held = self.link.is_held or any(each.is_full for each, _ in found)
        if any(each.is_too_slow for each, _ in found):
            self.too_slow()

    def _delivered_durable(self, frame: frames.DurableDeliver) -> None:
        subscription = self.subscriptions.get(frame.id)
        if subscription is not None:
            # Messages of a replay are acknowledged when they are received.
            acknowledge = (lambda _: None) if subscription.is_replay else subscription.acknowledge
            self._queue({frame.id: [DurableDelivery(frame, acknowledge)]})

    def _lost_durable(self, frame: frames.DurableLost) -> None:
        self.subscriptions[frame.id].lost += frame.messages
        limits = f"{frame.messages:,} messages dropped: the limits of a durable subscription, or of its disk"
        self._report(ClientEvent(EventKind.LOST, self.link.router, frame.cause or limits, frame.messages or None))
        if frame.number:
            self.link.send(frames.Acknowledge(frame.id, [], 0, frame.number))

    def connection_changed(self, event: ClientEvent) -> None:
        """Report that the client is disconnected, or connected again; missed messages are reported later."""
        self.interruption.begin(self.link.newest, self.loop.time())
        self._report(event)

    def _lost(self, frame: frames.Lost) -> None:
        self.lost += frame.messages
        text = frame.cause or f"{frame.messages:,} messages dropped: they arrived faster than they were read"
        if frame.cause:
            self.interruption.begin(self.link.newest, self.loop.time())
        self._report(ClientEvent(EventKind.LOST, self.link.router, text, frame.messages or None))

    def _report(self, event: ClientEvent) -> None:
        if self.on_event is not None:
            try:
                self.on_event(event)
            except Exception:  # an error in the application must not end the connection
                _log.exception("the handler of a client's events failed")

    def admitted(self) -> None:
        """Restore subscriptions and offers at a new router, and resend durable messages without a receipt."""
        self._home_search.connected()
        if any(each.when_full == "disconnect" for each in self.subscriptions.values()):
            self.link.send(frames.SlowPolicy("disconnect"))
        entries: list[Entry] = [*self.subscriptions.values(), *self.offers.values()]
        for entry in entries:
            if isinstance(entry, AsyncSubscription) and (entry.durable is not None or entry.is_replay):
                entry.clear()
            self._send(entry)
        self.durable.restore()

    def restored_calls(self) -> set[Call]:
        """Return the calls that are repeated on a new connection: subscriptions and offers."""
        return {(frame_number(_kind_of(each)), id) for id, each in (self.subscriptions | self.offers).items()}

    def rejected(self, error: CbnetError) -> None:
        """End all subscriptions and offers: no router accepts this client."""
        self._home_search.close()
        for subscription in self.subscriptions.values():
            subscription.end(error)
        for offer in self.offers.values():
            offer.failure = error
        self.durable.fail(error)

    def _refused(self, frame: frames.RefusedFrame) -> None:
        if self.link.calls.refuse(frame):
            return
        if frame.frame == frame_number(frames.DurablePublish):
            self.durable.settle(frame.number, Refused(frame.reason, frame.code))
        elif frame.frame == frame_number(frames.Publish):
            self.refused += 1
            self.refusal = frame.reason
        else:
            self._refused_later(frame)

    def _refused_later(self, frame: frames.RefusedFrame) -> None:
        """End an entry that was accepted before and is refused now, by another router or after a change of rights."""
        subscription = self.subscriptions.get(frame.number)
        if subscription is not None and frame.frame == frame_number(_kind_of(subscription)):
            if _is_elsewhere(subscription, frame.code) and self._goes_elsewhere(subscription, frame):
                return
            self._remove(frame.number)
            subscription.end(Refused(frame.reason, frame.code))
        elif frame.frame == frame_number(frames.OfferFrame) and frame.number in self.offers:
            self.offers.pop(frame.number).failure = Refused(frame.reason, frame.code)
            _log.warning("%s refuses an offer that was accepted before: %s", self.link.router, frame.reason)

    def _goes_elsewhere(self, subscription: AsyncSubscription, frame: frames.RefusedFrame) -> bool:
        if subscription.durable is None:
            return self.link.leave(frame.reason)
        return self._home_search.refused(subscription, frame.reason, frame.address)
