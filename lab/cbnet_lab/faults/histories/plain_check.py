"""The check of a plain subscription, for which nothing is stored: what is promised while nothing fails, and notices.

Messages may be lost while parts of the network fail. A client that stays connected to a router without faults is told.
"""

from __future__ import annotations

from math import inf

from cbnet_lab.faults.histories.history import (
    FaultEvent,
    LostEvent,
    PublishEvent,
    ReceiptEvent,
    ReceiveEvent,
    SubscribeEvent,
)
from cbnet_lab.faults.histories.history_findings import HistoryFindings, Identity
from cbnet_lab.faults.histories.subscription_check import SubscriptionCheck

_DELAY = 2.0  # seconds until a message has passed the network, at most


class NetworkState:
    """When the network was without faults: before the first one, and since all was mended and has recovered."""

    def __init__(self, recovery: float) -> None:
        self.recovery = recovery
        self.first_fault = inf
        self.recovered = inf

    def was_calm(self, since: float, until: float) -> bool:
        """Return whether nothing failed in some time."""
        return until < self.first_fault or since >= self.recovered


class PlainCheck(SubscriptionCheck):
    """The check of one plain subscription of one client."""

    def __init__(self, first: SubscribeEvent, findings: HistoryFindings, state: NetworkState) -> None:
        super().__init__(first, findings)
        self._state = state
        self._failed = inf  # time of the first fault of its router or client since it was confirmed
        self._is_told = False
        self._received: dict[Identity, float] = {}  # first time
        self._faults: dict[str, float] = {}  # time of the last one, of its router and of publishers
        self._last: dict[str, int] = {}  # number, by publisher

    def fault(self, event: FaultEvent) -> None:
        """Handle a fault."""
        self._faults[event.of] = event.at
        if event.of in self.parts and self.confirmed < inf:
            self._failed = min(self._failed, event.at)

    def lost(self, event: LostEvent) -> None:
        """Handle that messages may be lost."""
        self._is_told = True
        if self._state.was_calm(event.at, event.at):
            self.findings.violate("spurious", f"{self.name}: {event.cause}, at {event.at:.2f}, and nothing has failed")

    def receive(self, event: ReceiveEvent, publish: PublishEvent | None) -> None:
        """Handle a message."""
        if not self.is_due(event, publish) or publish is None:
            return
        identity, last = (event.publisher, event.number), self._last.get(event.publisher, 0)
        if identity in self._received and not self._may_repeat(publish):
            self.findings.violate("repeated", self.text(event))
        elif event.number < last and self._state.was_calm(publish.at, event.at):
            self.findings.violate("order", f"{self.text(event)}, after {last}")
        self._received.setdefault(identity, event.at)
        self._last[event.publisher] = max(event.number, last)

    def _may_repeat(self, publish: PublishEvent) -> bool:
        """Return whether its router has restarted, and the publisher may have sent a message over two routers.

        The router does not know that the message was delivered, and for the client it is another one.
        """
        received = self._received[publish.publisher, publish.number]
        return self._faults.get(self.home, -inf) > received and self._faults.get(publish.publisher, -inf) > publish.at

    def check_receipt(self, publish: PublishEvent, receipt: ReceiptEvent) -> None:
        """Check that a message was received that was published for sure, or that the client knows of a loss."""
        if (publish.publisher, publish.number) in self._received or not self.matches(publish):
            return
        state, text = self._state, f"{self.name}: {publish.publisher} {publish.number}, published at {publish.at:.2f}"
        is_confirmed = self.confirmed < publish.at
        if publish.at >= state.recovered or (is_confirmed and state.was_calm(publish.at, receipt.at + _DELAY)):
            self.findings.violate("lost", text)
        elif is_confirmed and receipt.at + state.recovery < self._failed and not self._is_told:
            self.findings.violate("gap", text)
