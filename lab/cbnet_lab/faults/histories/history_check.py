"""The check of a history: what was promised to publishers and subscribers, and is not so.

lost          a message with the receipt "stored" was never received for a durable subscription that matches, and that
              all routers had confirmed when it was published, or is not in a log; or the receipt counts fewer
              subscriptions than these; or a plain subscriber did not receive it, though nothing failed
gap           a message of a log, at or after the start of a subscription from the past that matches, was not received
              there, and its client was not told; or a plain subscriber did not receive a message with a receipt, and
              was never told, though neither it nor its router failed
spurious      a message was received that nobody published, that does not match, or before it was published or before
              the start of a subscription; or a plain subscriber was told of a loss before anything failed
stored twice  one message has two offsets of a subscription or a log, or one offset two messages
repeated      a message was received again, though it was acknowledged in time, or before the time was over, and
              neither its home nor a client of the subscription had a fault in between; or at all, if the
              subscription is not durable
order         a later message of a publisher has a lower offset, or reached a client first, and was not sent again;
              or messages of a log came in another order; or those for a plain subscriber, though nothing failed
refused       a message was refused though no disk was full, all routers had confirmed all homes, and no clock jumped
unanswered    a publisher got no answer in time; or the answer is that homes are silent, though all was mended in time
              and no clock jumped; or a subscription from the past never began
waiting       messages were left at the end, or the history has no end

A function of the events alone, so that it can be tested with histories written by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf

from cbnet_lab.faults.histories.history import (
    AcknowledgeEvent,
    BeginEvent,
    ConfirmEvent,
    EndEvent,
    Event,
    FaultEvent,
    HealEvent,
    KeptEvent,
    LostEvent,
    PublishEvent,
    ReceiptEvent,
    ReceiveEvent,
    ReplayEvent,
    SubscribeEvent,
)
from cbnet_lab.faults.histories.history_findings import HistoryFindings, Identity
from cbnet_lab.faults.histories.log_check import LogCheck, ReplayCheck
from cbnet_lab.faults.histories.plain_check import NetworkState, PlainCheck
from cbnet_lab.faults.histories.subscription_check import DurableCheck

GRACE = 1.0  # seconds after its timeout for which a publisher waits for an answer


class _Checker:
    def __init__(self, begin: BeginEvent) -> None:
        self.findings = HistoryFindings()
        self._begin = begin
        self._durable: dict[str, DurableCheck] = {}
        self._replays: dict[str, ReplayCheck] = {}
        self._plain: dict[str, PlainCheck] = {}
        self._logs: list[KeptEvent] = []
        self._published: dict[Identity, PublishEvent] = {}
        self._receipts: dict[Identity, ReceiptEvent] = {}
        self._full: set[str] = set()  # routers whose disk is full
        self._freed = -inf  # time when the last one was
        self._jumped = -inf  # time when a clock did
        self._state = NetworkState(begin.recovery)
        self._is_over = False

    def add(self, event: Event) -> None:
        match event:
            case SubscribeEvent():
                self._subscribe(event)
            case ReplayEvent():
                self._replay(event)
            case ConfirmEvent():
                own = self._subscription(event.subscription)
                if own is not None and event.routers == self._begin.routers:
                    own.confirmed = min(own.confirmed, event.at)
            case PublishEvent():
                self.findings.published += 1
                self._published[event.publisher, event.number] = event
            case ReceiptEvent():
                self._add_receipt(event)
            case ReceiveEvent():
                self._receive(event)
            case AcknowledgeEvent():
                self._durable[event.subscription].acknowledge(event)
            case LostEvent():
                self._lost(event)
            case FaultEvent():
                self._fault(event)
            case HealEvent(at):
                self._state.recovered = at + self._begin.recovery
            case KeptEvent():
                self._logs.append(event)
            case EndEvent(_, waiting):
                self._end(waiting)

    # --- subscriptions

    def _subscription(self, name: str) -> DurableCheck | ReplayCheck | PlainCheck | None:
        return self._durable.get(name) or self._replays.get(name) or self._plain.get(name)

    def _subscribe(self, event: SubscribeEvent) -> None:
        name, findings = event.subscription, self.findings
        if self._subscription(name) is None:
            if event.kind == "durable":
                self._durable[name] = DurableCheck(event, findings, self._begin.slack)
            elif event.kind == "replay":
                self._replays[name] = ReplayCheck(event, findings)
            else:
                self._plain[name] = PlainCheck(event, findings, self._state)
        own = self._subscription(name)
        assert own is not None
        own.parts.add(event.client)

    def _replay(self, event: ReplayEvent) -> None:
        if event.subscription in self._durable:
            self._durable[event.subscription].start = event.offset
        else:
            self._replays[event.subscription].replay(event)

    def _receive(self, event: ReceiveEvent) -> None:
        self.findings.received += 1
        own = self._subscription(event.subscription)
        if own is None:
            self.findings.violate("spurious", f"{event.client} has no subscription {event.subscription}")
        else:
            own.receive(event, self._published.get((event.publisher, event.number)))

    def _lost(self, event: LostEvent) -> None:
        own = self._subscription(event.subscription)
        assert own is not None
        own.lost(event)

    # --- faults and receipts

    def _fault(self, event: FaultEvent) -> None:
        self.findings.faults[event.kind] += 1
        self._state.first_fault = min(self._state.first_fault, event.at)
        if event.kind == "full disk":
            self._full.add(event.of)
        elif event.kind == "free disk" and event.of in self._full:
            self._full.discard(event.of)
            self._freed = event.at
        elif event.kind == "clock jump":
            self._jumped = event.at
        for own in (*self._durable.values(), *self._plain.values()):
            own.fault(event)

    def _add_receipt(self, event: ReceiptEvent) -> None:
        self.findings.outcomes[event.outcome] += 1
        publish = self._published[event.publisher, event.number]
        self._receipts[event.publisher, event.number] = event
        text = f"{event.publisher} {event.number}, published at {publish.at:.2f}, answered at {event.at:.2f}"
        deadline = publish.at + publish.timeout
        if event.at > deadline + GRACE + self._begin.slack:
            self.findings.violate("unanswered", text)
        has_time = deadline > max(self._state.recovered, publish.at + self._begin.recovery)
        if event.outcome == "silent" and has_time and self._jumped < publish.at:
            self.findings.violate("unanswered", f"{text}: silent")
        if event.outcome == "refused" and not self._may_refuse(publish):
            self.findings.violate("refused", f"{text}: {event.reason}")

    def _may_refuse(self, publish: PublishEvent) -> bool:
        """Return whether a disk was full, a home was not known to all routers, or a clock has jumped since.

        One router may have stored later messages there before another, which knows the home, sends this one; or by
        its clock the timeout of this one had expired.
        """
        was_full = bool(self._full) or self._freed >= publish.at - self._begin.recovery
        matching = (each for each in self._durable.values() if each.matches(publish))
        return was_full or self._jumped >= publish.at or any(each.confirmed >= publish.at for each in matching)

    # --- the end

    def _end(self, waiting: Mapping[str, int]) -> None:
        self._is_over = True
        for name, count in waiting.items():
            if count:
                self.findings.violate("waiting", f"{name}: {count} messages at the end")

    def end(self) -> HistoryFindings:
        if not self._is_over:
            self.findings.violate("waiting", "the history has no end")
        for own in self._durable.values():
            self.findings.check_offsets(own.name, own.messages)
        stored = {name: {*own.messages.values()} for name, own in self._durable.items()}
        for identity, publish in self._published.items():
            receipt = self._receipts.get(identity)
            if receipt is None:
                self.findings.violate("unanswered", f"{identity[0]} {identity[1]}, published at {publish.at:.2f}")
            elif receipt.outcome == "stored":
                self._check_receipt(publish, receipt, stored)
        for kept in self._logs:
            self._check_log(kept)
        return self.findings

    def _check_receipt(self, publish: PublishEvent, receipt: ReceiptEvent, stored: Mapping[str, set[Identity]]) -> None:
        text = f"{publish.publisher} {publish.number}, published at {publish.at:.2f}"
        matching = [each for each in self._durable.values() if each.matches(publish)]
        due = [each for each in matching if each.confirmed < publish.at]
        self.findings.due += len(due)
        for each in due:
            if (publish.publisher, publish.number) not in stored[each.name] and not each.is_told:
                self.findings.violate("lost", f"{each.name}: {text}, stored at {receipt.at:.2f}")
        least = sum(not each.is_past for each in due)  # the others may still get messages over the log
        if not least <= receipt.subscriptions <= sum(each.since <= receipt.at for each in matching):
            self.findings.violate("lost", f"{text}: stored by {receipt.subscriptions} subscriptions, not by {least}")
        for plain in self._plain.values():
            plain.check_receipt(publish, receipt)

    def _check_log(self, kept: KeptEvent) -> None:
        log = LogCheck(kept, self.findings, self._published)
        replays = [each for each in self._replays.values() if each.home == kept.router]
        for each in replays:
            log.add(each)
        log.check([identity for identity, receipt in self._receipts.items() if receipt.outcome == "stored"])
        for each in replays:
            log.check_replay(each)
        for durable in self._durable.values():
            if durable.is_past and durable.home == kept.router:
                log.check_durable(durable)


def check_history(events: Sequence[Event] | Iterable[Event]) -> HistoryFindings:
    """Return the findings in a history, which begins with `BeginEvent`."""
    iterator = iter(events)
    begin = next(iterator, None)
    if not isinstance(begin, BeginEvent):
        findings = HistoryFindings()
        findings.violate("waiting", "the history has no beginning")
        return findings
    checker = _Checker(begin)
    for event in iterator:
        checker.add(event)
    return checker.end()
