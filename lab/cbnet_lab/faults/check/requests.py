"""Check of requests.

A request must end with a matching reply, with the answer that there is no holder, or with a timeout, unless the
requester has lost its connection. In a settled network, a request with a reachable holder must end with a reply.
"""

from __future__ import annotations

from cbnet_lab.faults.check.findings import Findings
from cbnet_lab.faults.check.plain import NetworkState
from cbnet_lab.faults.check.subscription import SubscriptionCheck
from cbnet_lab.faults.record import AnswerEvent, FaultEvent, RequestEvent, SubscribeEvent


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
