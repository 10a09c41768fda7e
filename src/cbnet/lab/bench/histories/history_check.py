"""The check of a history: what was promised to publishers and subscribers, and is not so.

lost          a message with the receipt "stored" was never received for a subscription that matches, and that all
              routers had confirmed when it was published; or the receipt counts fewer subscriptions than these
spurious      a message was received that nobody published, that does not match, or before it was published
stored twice  one message has two offsets of a subscription, or one offset two messages
repeated      a message was received again, though it was acknowledged in time, or before the time was over, and
              neither its home nor a client of the subscription had a fault in between
order         a later message of a publisher has a lower offset, or reached a client first, and was not sent again
refused       a message was refused though no disk was full, and all routers had confirmed all homes
unanswered    a publisher got no answer in time; or the answer is that homes are silent, though all was mended in time
waiting       messages were left at the end, or the history has no end

A function of the events alone, so that it can be tested with histories written by hand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TypeAlias

from cbnet.lab.bench.histories.history import (
    AcknowledgeEvent,
    BeginEvent,
    ConfirmEvent,
    EndEvent,
    Event,
    FaultEvent,
    HealEvent,
    PublishEvent,
    ReceiptEvent,
    ReceiveEvent,
    SubscribeEvent,
)
from cbnet.language.message import Message
from cbnet.language.predicate import Predicate
from cbnet.language.syntax.parser import parse

GRACE = 1.0  # seconds after its timeout for which a publisher waits for an answer
Identity: TypeAlias = tuple[str, int]  # publisher and number


@dataclass
class HistoryCheck:
    """Counts of a history, and the violations of what was promised, by kind."""

    published: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)  # receipts
    due: int = 0  # messages with a receipt × subscriptions that must have them
    received: int = 0
    repeated: int = 0  # of these, allowed
    faults: Counter[str] = field(default_factory=Counter)  # by kind
    violations: dict[str, list[str]] = field(default_factory=dict)

    @property
    def is_good(self) -> bool:
        """Whether all promises were kept."""
        return not self.violations

    def violate(self, kind: str, text: str) -> None:
        """Add a violation."""
        self.violations.setdefault(kind, []).append(text)


@dataclass
class _Stored:
    """A message of a subscription, and its last delivery."""

    identity: Identity
    received: float
    acknowledged: float = inf  # since


class _SubscriptionCheck:
    """The check of one durable subscription."""

    def __init__(self, first: SubscribeEvent, slack: float) -> None:
        self.name = first.subscription
        self._home = first.home
        self._predicate: Predicate = parse(first.predicate)
        self._slack = slack
        self._ack_wait = first.ack_wait - slack
        self._parts = {first.home}
        self.since = first.at
        self.confirmed = inf
        self.offsets: dict[int, _Stored] = {}
        self._faults = -inf  # time of the last one, of its home or a client
        self._home_faults = -inf
        self._highest: dict[tuple[str, str], tuple[int, float]] = {}  # by client and publisher: offset, time

    def add_client(self, client: str) -> None:
        self._parts.add(client)

    def fault(self, event: FaultEvent) -> None:
        if event.of in self._parts:
            self._faults = event.at
        if event.of == self._home:
            self._home_faults = event.at

    def matches(self, publish: PublishEvent) -> bool:
        return self._predicate.matches(Message(publish.message))

    def receive(self, event: ReceiveEvent, publish: PublishEvent | None, check: HistoryCheck) -> None:
        text = f"{self.name}, offset {event.offset}: {event.publisher} {event.number}, at {event.at:.2f}"
        if publish is None or not self.matches(publish):
            check.violate("spurious", f"{text}, {'was not published' if publish is None else 'does not match'}")
            return
        stored = self.offsets.get(event.offset)
        if stored is None:
            self._check_order(event, check, text)
            self.offsets[event.offset] = _Stored((event.publisher, event.number), event.at)
            return
        if stored.identity != (event.publisher, event.number):
            check.violate("stored twice", f"{text}, and {' '.join(map(str, stored.identity))} have one offset")
        elif self._may_repeat(stored, event.at):
            check.repeated += 1
        else:
            check.violate("repeated", f"{text}, received at {stored.received:.2f}, acknowledged {stored.acknowledged}")
        stored.received, stored.acknowledged = event.at, inf

    def _may_repeat(self, stored: _Stored, now: float) -> bool:
        """Return whether a message may come again: not acknowledged in time, or a fault since it came."""
        if self._faults >= stored.received - self._slack:
            return True
        is_late = stored.acknowledged - stored.received >= self._ack_wait
        return is_late and now - stored.received >= self._ack_wait

    def _check_order(self, event: ReceiveEvent, check: HistoryCheck, text: str) -> None:
        """Check that a client receives the messages of a publisher in order, unless this one was sent before."""
        key = event.client, event.publisher
        offset, at = self._highest.get(key, (0, -inf))
        if event.offset > offset:
            self._highest[key] = event.offset, event.at
        elif event.deliveries == 1 and self._home_faults < at:
            check.violate("order", f"{text}, after offset {offset}")

    def acknowledge(self, event: AcknowledgeEvent) -> None:
        stored = self.offsets.get(event.offset)
        if stored is not None:
            stored.acknowledged = min(stored.acknowledged, event.at)

    def check_stored(self, check: HistoryCheck) -> set[Identity]:
        """Check offsets; return all messages that were received."""
        places: dict[Identity, int] = {}
        last: dict[str, int] = {}
        for offset, stored in sorted(self.offsets.items()):
            publisher, number = stored.identity
            if stored.identity in places:
                text = f"{self.name}: {publisher} {number} at offsets {places[stored.identity]} and {offset}"
                check.violate("stored twice", text)
            elif number < last.get(publisher, 0):
                check.violate("order", f"{self.name}, offset {offset}: {publisher} {number} after {last[publisher]}")
            places.setdefault(stored.identity, offset)
            last[publisher] = max(number, last.get(publisher, 0))
        return set(places)


class _Checker:
    def __init__(self, begin: BeginEvent) -> None:
        self.check = HistoryCheck()
        self._begin = begin
        self._subscriptions: dict[str, _SubscriptionCheck] = {}
        self._published: dict[Identity, PublishEvent] = {}
        self._receipts: dict[Identity, ReceiptEvent] = {}
        self._full: set[str] = set()  # routers whose disk is full
        self._freed = -inf  # time when the last one was
        self._recovered = inf  # time since when all must work
        self._is_over = False

    def add(self, event: Event) -> None:
        check = self.check
        match event:
            case SubscribeEvent():
                own = self._subscriptions.get(event.subscription)
                if own is None:
                    own = self._subscriptions[event.subscription] = _SubscriptionCheck(event, self._begin.slack)
                own.add_client(event.client)
            case ConfirmEvent():
                own = self._subscriptions[event.subscription]
                if event.routers == self._begin.routers:
                    own.confirmed = min(own.confirmed, event.at)
            case PublishEvent():
                check.published += 1
                self._published[event.publisher, event.number] = event
            case ReceiptEvent():
                self._add_receipt(event)
            case ReceiveEvent():
                self._receive(event)
            case AcknowledgeEvent():
                self._subscriptions[event.subscription].acknowledge(event)
            case FaultEvent():
                self._fault(event)
            case HealEvent(at):
                self._recovered = at + self._begin.recovery
            case EndEvent(_, waiting):
                self._is_over = True
                for name, count in waiting.items():
                    if count:
                        check.violate("waiting", f"{name}: {count} messages at the end")

    def _fault(self, event: FaultEvent) -> None:
        self.check.faults[event.kind] += 1
        if event.kind == "full disk":
            self._full.add(event.of)
        elif event.kind == "free disk" and event.of in self._full:
            self._full.discard(event.of)
            self._freed = event.at
        for own in self._subscriptions.values():
            own.fault(event)

    def _add_receipt(self, event: ReceiptEvent) -> None:
        self.check.outcomes[event.outcome] += 1
        publish = self._published[event.publisher, event.number]
        self._receipts[event.publisher, event.number] = event
        text = f"{event.publisher} {event.number}, published at {publish.at:.2f}, answered at {event.at:.2f}"
        deadline = publish.at + publish.timeout
        if event.at > deadline + GRACE + self._begin.slack:
            self.check.violate("unanswered", text)
        if event.outcome == "silent" and deadline > max(self._recovered, publish.at + self._begin.recovery):
            self.check.violate("unanswered", f"{text}: silent")
        if event.outcome == "refused" and not self._may_refuse(publish):
            self.check.violate("refused", f"{text}: {event.reason}")

    def _may_refuse(self, publish: PublishEvent) -> bool:
        """Return whether a disk was full, or a home was not known to all routers.

        One router may have stored later messages there before another, which knows the home, sends this one.
        """
        was_full = bool(self._full) or self._freed >= publish.at - self._begin.recovery
        matching = (each for each in self._subscriptions.values() if each.matches(publish))
        return was_full or any(each.confirmed >= publish.at for each in matching)

    def _receive(self, event: ReceiveEvent) -> None:
        self.check.received += 1
        own = self._subscriptions.get(event.subscription)
        if own is None:
            self.check.violate("spurious", f"{event.client} has no subscription {event.subscription}")
        else:
            own.receive(event, self._published.get((event.publisher, event.number)), self.check)

    def end(self) -> HistoryCheck:
        if not self._is_over:
            self.check.violate("waiting", "the history has no end")
        stored = {name: own.check_stored(self.check) for name, own in self._subscriptions.items()}
        for identity, publish in self._published.items():
            receipt = self._receipts.get(identity)
            if receipt is None:
                self.check.violate("unanswered", f"{identity[0]} {identity[1]}, published at {publish.at:.2f}")
            elif receipt.outcome == "stored":
                self._check_receipt(publish, receipt, stored)
        return self.check

    def _check_receipt(self, publish: PublishEvent, receipt: ReceiptEvent, stored: Mapping[str, set[Identity]]) -> None:
        check, text = self.check, f"{publish.publisher} {publish.number}, published at {publish.at:.2f}"
        matching = [each for each in self._subscriptions.values() if each.matches(publish)]
        due = [each for each in matching if each.confirmed < publish.at]
        check.due += len(due)
        for each in due:
            if (publish.publisher, publish.number) not in stored[each.name]:
                check.violate("lost", f"{each.name}: {text}, stored at {receipt.at:.2f}")
        if not len(due) <= receipt.subscriptions <= sum(each.since <= receipt.at for each in matching):
            check.violate("lost", f"{text}: stored by {receipt.subscriptions} subscriptions, {len(due)} must have it")


def check_history(events: Sequence[Event] | Iterable[Event]) -> HistoryCheck:
    """Return the check of a history, which begins with `BeginEvent`."""
    iterator = iter(events)
    begin = next(iterator, None)
    if not isinstance(begin, BeginEvent):
        check = HistoryCheck()
        check.violate("waiting", "the history has no beginning")
        return check
    checker = _Checker(begin)
    for event in iterator:
        checker.add(event)
    return checker.end()
