"""Checks of plain subscriptions, for which nothing is stored, and of requests.

Promised messages arrive once, in order and unaltered:

    settled ──► published ──► received by all matching subscriptions that can be reached       else lost
    confirmed ──► published ──► received by the subscription                                   else unkept
        └──────── no change ────────┘

A promise ends with the next change, also for messages that may be in flight at that time. Messages may be missed during
changes; the loss of a message with a receipt is reported to clients that stay connected to a router without faults. A
message must never be received twice, or by a subscription that does not match.

A request must end with a matching reply, with the answer that there is no holder, or with a timeout, unless the
requester has lost its connection. In a settled network, a request with a reachable holder must end with a reply.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from math import inf

import msgspec

from cbnet_lab.faults import record
from cbnet_lab.faults.check.findings import Findings, Identity
from cbnet_lab.faults.check.subscription import SubscriptionCheck, matches
from cbnet_lab.faults.record import AnswerEvent, FaultEvent, RequestEvent, SubscribeEvent

LOST, UNKEPT = "lost", "unkept"  # kinds of violation by a lost message that was promised


class NetworkState:
    """Whether the network is free of faults: before the first one, and once it has settled or recovered."""

    def __init__(self, begin: record.BeginEvent) -> None:
        self.begin = begin
        self.is_settled = False
        self.first_fault = inf
        self.recovered = inf  # time by which it recovers after the heal

    def is_change(self, event: record.FaultEvent) -> bool:
        """Return whether messages may be missed after a fault."""
        return event.kind not in self.begin.harmless

    def is_calm(self, at: float) -> bool:
        """Return whether the network is free of faults at a time."""
        return self.is_settled or at < self.first_fault


class PlainSubscription(SubscriptionCheck):
    """A subscription of one client, which may replace it by another."""

    def __init__(self, first: record.SubscribeEvent, findings: Findings) -> None:
        super().__init__(first, findings)
        self.promise = ""  # LOST or UNKEPT, if it must receive all matching messages from now on
        self.received: dict[Identity, float] = {}  # by message: time of its first delivery
        self.is_told = False
        self.failed = inf  # time of the first fault of its router or client since it was confirmed
        self._ever = [first.predicate]
        self._faults: dict[str, float] = {}  # by router or client: time of its last fault
        self._last: dict[str, int] = {}  # by publisher: highest number received

    def replace(self, event: record.SubscribeEvent) -> None:
        """Handle a new predicate; messages for the previous one may be in flight."""
        self.since, self.predicate, self.promise, self.is_live = event.at, event.predicate, "", True
        self._ever.append(event.predicate)

    def fault(self, event: record.FaultEvent) -> None:
        """Handle a fault."""
        super().fault(event)
        self._faults[event.of] = event.at
        if event.of in self.parts and self.confirmed < inf:
            self.failed = min(self.failed, event.at)

    def receive(self, event: record.ReceiveEvent, message: _Message | None) -> None:
        """Handle a message."""
        if message is None or not self._was_wanted(message.publish):
            self.is_due(event, None if message is None else message.publish)
            return
        publish, text = message.publish, self.text(event)
        identity, last = (event.publisher, event.number), self._last.get(event.publisher, 0)
        if event.message is not None and (event.message, event.payload) != (publish.message, publish.payload):
            self.findings.violate("altered", f"{text}: {event.message}")
        is_again = identity in self.received
        if is_again and not self._may_repeat(publish):
            self.findings.violate("repeated", text)
        elif event.number < last and message.is_calm and not is_again:
            self.findings.violate("order", f"{text}, after {last}")
        elif message.is_settled and self.name not in message.due and (self.promise or not self.is_live):
            self.findings.violate("spurious", f"{text}, does not match, has ended or cannot be reached")
        self.received.setdefault(identity, event.at)
        self._last[event.publisher] = max(event.number, last)

    def _was_wanted(self, publish: record.PublishEvent) -> bool:
        """Return whether a current or former predicate matches a message."""
        encoded = msgspec.json.encode(publish.message)
        return any(matches(each, encoded) for each in reversed(self._ever))

    def _may_repeat(self, publish: record.PublishEvent) -> bool:
        """Return whether its router restarted, and the publisher may have sent the message through two routers.

        The restarted router does not know that the message was delivered, and to the client it is a different message.
        """
        if publish.timeout is None:
            return False
        received = self.received[publish.publisher, publish.number]
        return self._faults.get(self.home, -inf) > received and self._faults.get(publish.publisher, -inf) > publish.at


@dataclass
class _Message:
    """A message, and the subscriptions that should receive it."""

    publish: record.PublishEvent
    is_calm: bool  # whether the network has been free of faults since it was published
    is_settled: bool
    sent: float  # time of publishing; if it waits for a receipt, time of the receipt, inf until then
    due: dict[str, str] = field(default_factory=dict)  # by subscription: the kind of promise, or empty


class PlainCheck:
    """The check of all plain subscriptions."""

    def __init__(self, state: NetworkState, findings: Findings) -> None:
        self._state = state
        self._findings = findings
        self.subscriptions: dict[str, PlainSubscription] = {}
        self._messages: dict[Identity, _Message] = {}
        self._open: dict[Identity, _Message] = {}
        self._deadlines: list[tuple[float, Identity]] = []  # a heap

    def subscribe(self, event: record.SubscribeEvent) -> None:
        """Handle a subscription, which may replace another of the same name."""
        own = self.subscriptions.get(event.subscription)
        if own is None:
            own = self.subscriptions[event.subscription] = PlainSubscription(event, self._findings)
            own.parts.add(event.client)
        elif not own.is_live or event.predicate != own.predicate:
            self._end_promise(own)
            own.replace(event)

    def unsubscribe(self, name: str) -> None:
        """Handle the end of a subscription."""
        own = self.subscriptions[name]
        self._end_promise(own)
        own.is_live = False

    def _end_promise(self, own: PlainSubscription) -> None:
        own.promise = ""
        for message in self._open.values():
            if message.due.get(own.name):
                message.due[own.name] = ""

    def confirm(self, own: PlainSubscription, event: record.ConfirmEvent) -> None:
        """Handle a confirmation: it is a promise if all reachable routers have confirmed."""
        if event.reached is None:
            if event.routers == self._state.begin.routers and event.at < self._state.first_fault:
                own.promise = LOST
        elif event.routers == event.reached:
            own.promise = own.promise or UNKEPT

    def settle(self) -> None:
        """Start promises, since the network has settled."""
        for own in self.subscriptions.values():
            own.promise = LOST if own.is_live else ""

    def publish(self, event: record.PublishEvent) -> None:
        """Handle a message."""
        state, identity = self._state, (event.publisher, event.number)
        sent = event.at if event.timeout is None else inf
        message = _Message(event, state.is_calm(event.at), state.is_settled, sent)
        for name, own in self.subscriptions.items():
            is_reached = event.reach is None or own.home in event.reach
            if own.is_live and not own.is_away and is_reached and own.matches(event.message):
                message.due[name] = own.promise
        self._messages[identity] = self._open[identity] = message
        if sent < inf:
            heapq.heappush(self._deadlines, (sent + state.begin.delay, identity))

    def receipt(self, event: record.ReceiptEvent) -> None:
        """Handle a receipt; a message that is not stored may be missed."""
        message = self._open.get((event.publisher, event.number))
        if message is None:
            return
        if event.outcome == "stored":
            message.sent = event.at
            deadline = event.at + self._state.begin.delay
            heapq.heappush(self._deadlines, (deadline, (event.publisher, event.number)))
        else:
            del self._open[event.publisher, event.number]

    def receive(self, event: record.ReceiveEvent) -> None:
        """Handle a delivery."""
        self.subscriptions[event.subscription].receive(event, self._messages.get((event.publisher, event.number)))

    def lost(self, event: record.LostEvent) -> None:
        """Handle a report that messages may be lost."""
        own = self.subscriptions[event.subscription]
        own.is_told = True
        if self._state.is_calm(event.at):
            self._findings.violate("spurious", f"{own.name}: {event.cause}, at {event.at:.2f}, and nothing has failed")

    def fault(self, event: record.FaultEvent) -> None:
        """Handle a fault, or the end of one."""
        for own in self.subscriptions.values():
            own.fault(event)
        if not self._state.is_change(event):
            return
        for own in self.subscriptions.values():
            own.promise = ""
        in_flight = self._state.begin.delay if event.in_flight is None else event.in_flight
        for identity, message in [*self._open.items()]:
            if all(identity in self.subscriptions[name].received for name in message.due):
                if message.sent < inf:
                    self._judge(identity)
            elif message.sent >= event.at - in_flight:
                message.is_calm = message.is_settled = False
                message.due = {
                    name: kind if identity in self.subscriptions[name].received else ""
                    for name, kind in message.due.items()
                }

    def advance(self, now: float) -> None:
        """Check the messages whose deadline has passed."""
        while self._deadlines and self._deadlines[0][0] < now:
            _, identity = heapq.heappop(self._deadlines)
            if identity in self._open:
                self._judge(identity)

    def _judge(self, identity: Identity) -> None:
        message, counts = self._open.pop(identity), self._findings.counts
        counts["settled"] += message.is_settled
        counts["expected"] += len(message.due)
        lost = missed = 0
        for name, promise in message.due.items():
            counts["checked"] += bool(promise)
            counts["confirmed"] += promise == UNKEPT
            if identity not in self.subscriptions[name].received:
                lost += bool(promise)
                missed += not promise
                if promise:
                    self._findings.violate(promise, self._text(name, message.publish))
        counts["missed"] += missed
        for count, is_promised in ((lost, True), (missed, False)):
            if count:
                self._findings.missed.append((message.publish.at, count, is_promised))

    def _text(self, name: str, publish: record.PublishEvent) -> str:
        return f"{name}: {publish.publisher} {publish.number}, published at {publish.at:.2f}"

    def end(self) -> None:
        """Check the remaining messages, and find losses that were not reported."""
        for identity, message in [*self._open.items()]:
            if message.sent < inf:
                self._judge(identity)
        for identity, message in self._messages.items():
            publish, is_stored = message.publish, message.sent < inf and message.publish.timeout is not None
            for own in self.subscriptions.values() if is_stored else ():
                is_safe = own.confirmed < publish.at and message.sent + self._state.begin.recovery < own.failed
                is_missed = identity not in own.received and not message.due.get(own.name)
                if is_safe and is_missed and not own.is_told and own.matches(publish.message):
                    self._findings.violate("gap", self._text(own.name, publish))


class RequestCheck:
    """The check of all requests."""

    def __init__(self, state: NetworkState, findings: Findings) -> None:
        self._state = state
        self._findings = findings
        self._offers: dict[str, tuple[str, SubscriptionCheck]] = {}  # by name, with the client
        self._open: dict[int, RequestEvent] = {}
        self._promised: set[int] = set()  # numbers of the requests that must get a reply

    def offer(self, event: SubscribeEvent) -> None:
        """Handle an offer."""
        own = SubscriptionCheck(event, self._findings)
        own.parts.add(event.client)
        self._offers[event.subscription] = event.client, own

    def request(self, event: RequestEvent) -> None:
        """Handle a request."""
        self._findings.counts["requests"] += 1
        is_held = any(
            client != event.client and not own.is_away and own.home in event.reach and own.matches(event.request)
            for client, own in self._offers.values()
        )
        self._open[event.number] = event
        if is_held and self._state.is_settled:
            self._promised.add(event.number)

    def answer(self, event: AnswerEvent) -> None:
        """Handle the end of a request."""
        request = self._open.pop(event.number, None)
        self._findings.counts[event.outcome] += 1
        if request is None:
            self._findings.violate("wrong reply", f"request {event.number} was not sent, or has ended")
        elif "reply" in event.outcome:
            if not event.message.items() >= request.request.items():
                self._findings.violate("wrong reply", f"request {event.number}: {event.message} does not match")
        elif event.outcome != "gone" and event.number in self._promised:
            self._findings.violate("no reply", f"request {event.number}, sent at {request.at:.2f}")

    def fault(self, event: FaultEvent) -> None:
        """Handle a fault, or the end of one."""
        for _, own in self._offers.values():
            own.fault(event)
        if self._state.is_change(event):
            self._promised.clear()

    def advance(self, now: float) -> None:
        """Report the requests that should have ended; the slack allows for stalled clients."""
        while self._open:
            number, request = next(iter(self._open.items()))
            if now - request.at <= request.timeout + self._state.begin.slack:
                break
            del self._open[number]
            self._findings.violate("endless", f"request {number}, sent at {request.at:.2f}")
