"""The check of one durable subscription."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from cbnet_lab.faults import record
from cbnet_lab.faults.check.findings import Findings, Identity
from cbnet_lab.faults.check.subscription import SubscriptionCheck


@dataclass
class _Stored:
    """A message of a subscription, and its last delivery."""

    identity: Identity
    received: float
    acknowledged: float = inf  # time of the acknowledgement


class DurableCheck(SubscriptionCheck):
    """The check of one durable subscription."""

    def __init__(self, first: record.SubscribeEvent, findings: Findings, slack: float) -> None:
        super().__init__(first, findings)
        self._slack = slack
        self._ack_wait = first.ack_wait - slack
        self.is_past = first.age is not None  # whether it starts in the past
        self.start: int | None = None  # offset in the log of its home where it starts, if known
        self.is_told = False  # whether missing messages were reported to clients
        self._offsets: dict[int, _Stored] = {}
        self._faults = -inf  # time of the last fault of its home or a client
        self._home_faults = -inf
        self._highest: dict[tuple[str, str], tuple[int, float]] = {}  # by client and publisher: offset, time

    @property
    def messages(self) -> dict[int, Identity]:
        """The messages received, by offset."""
        return {offset: stored.identity for offset, stored in self._offsets.items()}

    def fault(self, event: record.FaultEvent) -> None:
        """Handle a fault, or the end of one."""
        super().fault(event)
        if event.of in self.parts:
            self._faults = event.at
        if event.of == self.home:
            self._home_faults = event.at
            if self.confirmed == inf and not self._offsets:
                self.start = None  # it may not be on disk yet, and may start elsewhere when created again

    def lost(self, event: record.LostEvent) -> None:
        """Handle a report of missing messages; a report without a number excuses no missing stored message."""
        self.is_told |= event.messages > 0

    def receive(self, event: record.ReceiveEvent, publish: record.PublishEvent | None) -> None:
        """Handle a message."""
        if not self.is_due(event, publish):
            return
        stored, text = self._offsets.get(event.offset), self.text(event)
        if stored is None:
            self._check_order(event, text)
            self._offsets[event.offset] = _Stored((event.publisher, event.number), event.at)
            return
        if stored.identity != (event.publisher, event.number):
            other = " ".join(map(str, stored.identity))
            self.findings.violate("stored twice", f"{text}, and {other} have one offset")
        elif self._may_repeat(stored, event.at):
            self.findings.counts["repeated"] += 1
        else:
            before = f"received at {stored.received:.2f}, acknowledged {stored.acknowledged}"
            self.findings.violate("repeated", f"{text}, {before}")
        stored.received, stored.acknowledged = event.at, inf

    def _may_repeat(self, stored: _Stored, now: float) -> bool:
        """Return whether redelivery is allowed: no acknowledgement in time, or a fault since the last delivery."""
        if self._faults >= stored.received - self._slack:
            return True
        is_late = stored.acknowledged - stored.received >= self._ack_wait
        return is_late and now - stored.received >= self._ack_wait

    def _check_order(self, event: record.ReceiveEvent, text: str) -> None:
        """Check that a client receives the messages of a publisher in order, unless this is a redelivery."""
        key = event.client, event.publisher
        offset, at = self._highest.get(key, (0, -inf))
        if event.offset > offset:
            self._highest[key] = event.offset, event.at
        elif event.deliveries == 1 and self._home_faults < at:
            self.findings.violate("order", f"{text}, after offset {offset}")

    def acknowledge(self, event: record.AcknowledgeEvent) -> None:
        """Handle an acknowledgement."""
        stored = self._offsets.get(event.offset)
        if stored is not None:
            stored.acknowledged = min(stored.acknowledged, event.at)
