"""Checks of stored messages: durable subscriptions, and the log of a router with the subscriptions that start in it.

log             1  2  3  4  5  6  7        the router's messages at the end, and the messages received by replays
replay at 3           3  .  5  6  7        4 does not match; nothing else may be missing, unless the loss was reported
durable at 3          1     2  3  4        with its own offsets, in the order of the log
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Final, TypeAlias

import msgspec

from cbnet_lab.faults import record
from cbnet_lab.faults.check.findings import Findings, Identity
from cbnet_lab.faults.check.subscription import SubscriptionCheck, matches

JOURNAL_FAULTS: Final = ("lost journal", "restored journal")  # a router starts again without what it stored
Published: TypeAlias = Mapping[Identity, record.PublishEvent]


@dataclass
class _Stored:
    """A message of a subscription, and its last delivery."""

    identity: Identity
    received: float
    acknowledged: float = inf  # time of the acknowledgement


class DurableCheck(SubscriptionCheck):
    """The check of one durable subscription."""

    def __init__(
        self, first: record.SubscribeEvent, findings: Findings, slack: float, group: Collection[str] = ()
    ) -> None:
        super().__init__(first, findings, group)
        self._slack = slack
        self._ack_wait = first.ack_wait - slack
        self.is_past = first.age is not None  # whether it starts in the past
        self.start: int | None = None  # offset in the log of its home where it starts, if known
        self.limit = first.limit  # messages that it keeps, if its account is not that of the publishers
        self.is_told = False  # whether missing messages were reported to clients
        self._offsets: dict[int, _Stored] = {}
        self._former: list[dict[int, Identity]] = []  # messages of journals that were replaced
        self._replaced: list[float] = []  # times when the journal was
        self._told_of_journal = -inf  # time of the last report of an unknown number of lost messages
        self._faults = -inf  # time of the last fault of its home or a client
        self._home_faults = -inf
        self._active: set[tuple[str, str]] = set()  # faults of a home group or a client that have not ended
        self._highest: dict[tuple[str, str], tuple[int, float]] = {}  # by client and publisher: offset, time

    @property
    def messages(self) -> dict[int, Identity]:
        """The messages received, by offset."""
        return {offset: stored.identity for offset, stored in self._offsets.items()}

    @property
    def journals(self) -> list[dict[int, Identity]]:
        """The messages received from each journal of its home, by offset."""
        return [*self._former, self.messages]

    def is_excused(self, publish: record.PublishEvent) -> bool:
        """Return whether a message may be missing: its loss was reported.

        A journal that is replaced loses what was published before; the report gives no number.
        """
        return self.is_told or any(publish.at <= at <= self._told_of_journal for at in self._replaced)

    def fault(self, event: record.FaultEvent) -> None:
        """Handle a fault, or the end of one."""
        super().fault(event)
        if event.of in self.parts:
            self._faults = event.at
            (self._active.discard if event.is_end else self._active.add)((event.of, event.kind))
        if event.of == self.home and event.kind in JOURNAL_FAULTS and not event.is_end:
            self._former.append(self.messages)
            self._replaced.append(event.at)
            self._offsets, self._highest = {}, {}
        if event.of in self.routers:
            self._home_faults = event.at
            if self.confirmed == inf and not self._offsets:
                self.start = None  # it may not be on disk yet, and may start elsewhere when created again

    def lost(self, event: record.LostEvent) -> None:
        """Handle a report of missing messages; a report without a number excuses no missing stored message."""
        self.is_told |= event.messages > 0
        if event.messages == 0:
            self._told_of_journal = event.at

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
        is_group = len(self.routers) > 1  # its router may lose the home while a fault lasts, and later
        if self._faults >= stored.received - self._slack or (is_group and self._active):
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


class ReplayCheck(SubscriptionCheck):
    """The check of a subscription that starts in the past and is not durable: no message is delivered twice."""

    def __init__(self, first: record.SubscribeEvent, findings: Findings) -> None:
        super().__init__(first, findings)
        self.age = 0.0 if first.age is None else first.age
        self.start: int | None = None  # offset where it starts
        self.began = inf
        self.messages: dict[int, Identity] = {}  # by offset
        self._last = 0  # offset of the last message
        self._told: set[int] = set()  # offsets after which a loss was reported

    def replay(self, event: record.ReplayEvent) -> None:
        """Handle the start of the replay; ignore its resumption after an interruption."""
        if self.start is None:
            self.start, self.began = event.offset, event.at

    def lost(self, _: record.LostEvent) -> None:
        """Handle a report of messages missing after the last received one."""
        self._told.add(self._last)

    def receive(self, event: record.ReceiveEvent, publish: record.PublishEvent | None) -> None:
        """Handle a message."""
        text = self.text(event)
        if self.start is None or event.offset < self.start:
            self.findings.violate("spurious", f"{text}, is before the start")
        elif event.offset in self.messages:
            self.findings.violate("repeated", text)
        elif event.offset < self._last:
            self.findings.violate("order", f"{text}, after offset {self._last}")
        elif self.is_due(event, publish):
            self.messages[event.offset] = event.publisher, event.number
            self._last = event.offset

    def is_told(self, offset: int) -> bool:
        """Return whether a loss around an offset was reported to the client."""
        received = sorted(self.messages)
        index = bisect_left(received, offset)
        return (received[index - 1] if index else 0) in self._told


class LogCheck:
    """The check of the log of one router."""

    def __init__(self, kept: record.KeptEvent, findings: Findings, published: Published) -> None:
        self._router = kept.router
        self._predicate = kept.predicate
        self._first = kept.first
        self._findings = findings
        self._published = published
        self._messages: dict[int, Identity] = {offset: (name, number) for offset, name, number in kept.messages}

    def add(self, replay: ReplayCheck) -> None:
        """Add the messages that a replay received."""
        for offset, identity in replay.messages.items():
            if self._messages.setdefault(offset, identity) != identity:
                self._findings.violate("stored twice", f"{replay.name}: offset {offset} has another message")

    def check(self, stored: Iterable[Identity]) -> None:
        """Check the order, and that no matching message with a receipt is missing, unless the log dropped messages."""
        self._findings.check_offsets(f"log of {self._router}", self._messages)
        known = set(self._messages.values())
        for identity in stored if self._first <= 1 else ():
            if identity not in known and matches(
                self._predicate, msgspec.json.encode(self._published[identity].message)
            ):
                self._findings.violate("lost", f"log of {self._router}: {identity[0]} {identity[1]}")

    def check_replay(self, own: ReplayCheck) -> None:
        """Check that a replay received all matching messages from its start on."""
        if own.start is None:
            self._findings.violate("unanswered", f"{own.name} never began")
            return
        for offset, publish in self._wanted(own, 0):
            if offset < own.start:
                if self._first <= 1 and publish.at > own.began - own.age:
                    self._findings.violate("gap", f"{own.name} begins at {own.start}, not at {offset}")
                continue
            self._findings.counts["replayed"] += 1
            if offset not in own.messages and not (offset < self._first and own.is_told(offset)):
                self._missing(own, offset)

    def check_durable(self, own: DurableCheck) -> None:
        """Check that a durable subscription has all matching messages from its start on, in the order of the log."""
        places = {identity: offset for offset, identity in self._messages.items()}
        last, received = 0, set()
        for _, identity in sorted(own.messages.items()):
            place = places.get(identity, 0)
            if place:
                received.add(place)
                text = f"{own.name}: {identity[0]} {identity[1]}, offset {place} of the log"
                if own.start is not None and place < own.start:
                    self._findings.violate("spurious", f"{text}, is before the start")
                elif place < last:
                    self._findings.violate("order", f"{text}, after {last}")
                last = max(last, place)
        start = own.start if own.start is not None else min(received, default=1 << 62)
        for offset, _ in self._wanted(own, start):
            self._findings.counts["replayed"] += 1
            if offset not in received and not (offset < self._first and own.is_told):
                self._missing(own, offset)

    def _wanted(self, own: SubscriptionCheck, start: int) -> Iterator[tuple[int, record.PublishEvent]]:
        """Yield the messages from an offset on that match a subscription."""
        for offset, identity in sorted(self._messages.items()):
            publish = self._published.get(identity)
            if offset >= start and publish is not None and own.matches(publish.message):
                yield offset, publish

    def _missing(self, own: SubscriptionCheck, offset: int) -> None:
        publisher, number = self._messages[offset]
        self._findings.violate("gap", f"{own.name}: offset {offset} of the log, {publisher} {number}, is missing")
