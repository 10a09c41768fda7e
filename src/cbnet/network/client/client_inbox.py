"""The inbox of a client: frames from its router, and restoration of its state on a new connection.

It owns the client's link and everything that waits for frames: subscriptions and offers, traces, durable publications.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from cbnet.errors import CbnetError
from cbnet.network.client.async_pull import OfferAnswers
from cbnet.network.client.async_subscription import AsyncSubscription, Delivery, DurableDelivery
from cbnet.network.client.client_calls import Call
from cbnet.network.client.client_events import ClientEvent, EventHandler, EventKind, Interruption
from cbnet.network.client.client_link import TIMEOUT, ClientLink, Dial
from cbnet.network.client.durable.durable_publishing import DurablePublisher, DurablePublishing
from cbnet.network.client.registrations import Registrations
from cbnet.network.errors import NotConnected, Refused, TooSlow
from cbnet.network.protocol import frames
from cbnet.network.protocol.addresses import Address
from cbnet.network.protocol.frames import Frame, Hello, Hop, frame_number

_log = logging.getLogger("cbnet.network")


class Traced(NamedTuple):
    """The trace of a message: the steps of all routers that it reaches."""

    hops: list[Hop]
    missing: list[str]  # routers that the message was sent to but that did not report


def _ignore(_: int) -> None:
    """Do nothing: messages of a replay are acknowledged when they are received."""


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
        self._loop = asyncio.get_running_loop()
        self.link = ClientLink(self, hello, addresses, dial, follows=follows)
        self.registered = Registrations(self.link, self._report)
        self._hops: dict[int, list[Hop]] = {}  # of open traces, by the number of the message
        self.durable = DurablePublishing(self.link, publisher)
        self._answers = OfferAnswers(self.link.send_answer)

    @property
    def is_held(self) -> bool:
        """Whether reading is paused because a queue is full."""
        return self.link.is_held

    async def close(self) -> None:
        """Close the connection and end all subscriptions and offers."""
        for subscription in self.registered.subscriptions.values():
            subscription.send_acknowledgements()
        self.registered.end_subscriptions()
        self.registered.offers.clear()
        self.durable.fail(NotConnected("the client is closed; no receipt arrived"))
        await self._answers.close()
        await self.link.close()
        self.on_event = None  # it often refers to a subscription
        self.registered.home_search.release()

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

    # --- called by subscriptions

    async def unsubscribe(self, subscription: AsyncSubscription) -> None:
        """End a subscription."""
        if self.registered.remove(subscription.id) is None:
            return
        subscription.send_acknowledgements()
        subscription.end()
        self.release()
        if self.link.connection is not None and not subscription.waiting:
            await self.link.ask(frames.Unsubscribe(subscription.id), subscription.id, TIMEOUT)

    def release(self) -> None:
        """Resume reading if no queue is full."""
        if self.is_held and not any(each.is_full for each in self.registered.subscriptions.values()):
            self.link.is_held = False
            self.link.release()

    def soon(self, call: Callable[[], None]) -> None:
        """Schedule a call in the event loop of this client; may be called in any thread."""
        self._loop.call_soon_threadsafe(call)

    def acknowledge(self, id: int, offsets: list[int], up_to: int) -> None:
        """Acknowledge messages of a durable subscription; unacknowledged ones are redelivered."""
        self.link.send(frames.Acknowledge(id, offsets, up_to))

    # --- callbacks of the link

    def received(self, frame: Frame) -> None:
        """Handle a frame from the router."""
        match frame:
            case frames.HolderRequest():
                self._answers.start(frame, self.registered.offers.get(frame.offer))
            case frames.TracedFrame():
                self._hops.get(frame.number, []).append(frame.hop)
            case frames.RefusedFrame():
                self._refused(frame)
            case frames.Lost():
                self._lost(frame)
            case frames.Subscribed():
                self.registered.accepted(frame.id)
                self.link.calls.answer(frame)
            case frames.DurableDeliver():
                self._delivered_durable(frame)
            case frames.DurablePublished():
                self.durable.answered(frame)
            case frames.DurablePublishedRun():
                for each in frame.each():
                    self.durable.answered(each)
            case frames.Replaying() if frame.id in self.registered.subscriptions:
                self.registered.subscriptions[frame.id].begins(frame)
            case frames.DurableLost() if frame.id in self.registered.subscriptions:
                self._lost_durable(frame)
            case _:
                self.link.calls.answer(frame)

    def too_slow(self, reason: str = "messages arrived faster than they were read") -> None:
        """End all subscriptions and disconnect: a queue with the policy "disconnect" is full."""
        self.registered.end_subscriptions(TooSlow(reason))
        self.link.give_up("the client was too slow and is disconnected", "too slow", "connect again")

    def delivered(self, batches: Mapping[int, list[Delivery]]) -> None:
        """Queue messages for subscriptions."""
        if self.interruption.is_open:
            self._report_missed(batches)
        self._queue(batches)

    def _queue(self, batches: Mapping[int, list[Delivery]]) -> None:
        found = self.registered.put(batches)
        self.link.is_held = self.is_held or any(each.is_full for each in found)
        if any(each.is_too_slow for each in found):
            self.too_slow()

    def _delivered_durable(self, frame: frames.DurableDeliver) -> None:
        subscription = self.registered.subscriptions.get(frame.id)
        if subscription is not None:
            acknowledge = _ignore if subscription.is_replay else subscription.acknowledge
            self._queue({frame.id: [DurableDelivery(frame, acknowledge)]})

    def _lost_durable(self, frame: frames.DurableLost) -> None:
        self.registered.subscriptions[frame.id].lost += frame.messages
        limits = f"{frame.messages:,} messages dropped: the limits of a durable subscription, or of its disk"
        self._report(ClientEvent(EventKind.LOST, self.link.router, frame.cause or limits, frame.messages or None))
        if frame.number:
            self.link.send(frames.Acknowledge(frame.id, [], 0, frame.number))

    def connection_changed(self, event: ClientEvent) -> None:
        """Report that the client is disconnected, or connected again; missed messages are reported later."""
        self.interruption.begin(self.link.newest, self._loop.time())
        self._report(event)

    def _lost(self, frame: frames.Lost) -> None:
        self.lost += frame.messages
        text = frame.cause or f"{frame.messages:,} messages dropped: they arrived faster than they were read"
        if frame.cause:
            self.interruption.begin(self.link.newest, self._loop.time())
        self._report(ClientEvent(EventKind.LOST, self.link.router, text, frame.messages or None))

    def _report_missed(self, batches: Mapping[int, list[Delivery]]) -> None:
        for source, most in self.interruption.check(batches, self._loop.time()):
            text = f"{most:,} other messages were published at {source} meanwhile: those that match were missed"
            self._report(ClientEvent(EventKind.MISSED, self.link.router, text, most))

    def _report(self, event: ClientEvent) -> None:
        if self.on_event is not None:
            try:
                self.on_event(event)
            except Exception:  # an error in the application must not end the connection
                _log.exception("the handler of a client's events failed")

    def admitted(self) -> None:
        """Restore subscriptions and offers at a new router, and resend durable messages without a receipt."""
        self.registered.restore()
        self.durable.restore()

    def restored_calls(self) -> set[Call]:
        """Return the calls that are repeated on a new connection: subscriptions and offers."""
        return self.registered.calls()

    def rejected(self, error: CbnetError) -> None:
        """End all subscriptions and offers: no router accepts this client."""
        self.registered.fail(error)
        self.durable.fail(error)

    def _refused(self, frame: frames.RefusedFrame) -> None:
        if self.link.calls.refuse(frame):
            return
        if frame.frame == frame_number(frames.DurablePublish):
            self.durable.refused(frame.number, Refused(frame.reason, frame.code))
        elif frame.frame == frame_number(frames.Publish):
            self.refused += 1
            self.refusal = frame.reason
        else:
            self.registered.refuse(frame)
