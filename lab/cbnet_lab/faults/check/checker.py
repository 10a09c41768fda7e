"""The checker: violations of the guarantees to publishers, subscribers and requesters.

lost          a message with the receipt "stored" was never received for a matching durable subscription that all
              routers had confirmed when it was published, or is missing from a log; or the receipt counts fewer
              subscriptions than these. A full subscription of another account than the publisher's may lack it, if
              the receipt counts that, and the loss was reported to its client. Or a plain subscriber did not receive a
              message, although nothing failed
unkept        a plain subscriber did not receive a message published after all reachable routers had confirmed its
              subscription, although nothing has changed since
gap           a subscription from the past did not receive a matching message at or after its start in the log, and the
              loss was not reported to its client; or a plain subscriber did not receive a message with a receipt, and
              no loss was reported to it, although neither it nor its router failed
spurious      a received message was never published, does not match, or arrived before it was published or before the
              start of the subscription; or, in a settled network, was for a subscription that has ended or cannot be
              reached; or a loss was reported to a plain subscriber before anything failed
altered       a message differs from the one that was published
stored twice  one message has two offsets in a subscription or a log, or two messages have one offset
repeated      a message was received again although it was acknowledged in time, or before the time to acknowledge it
              had expired, and neither its home nor a client of the subscription had a fault in between; or at all, if
              the subscription is not durable
order         a later message of a publisher has a lower offset, or reached a client first without a redelivery; or
              messages of a log arrived out of order; or messages for a plain subscriber, although nothing failed
refused       a message was refused although no disk was full, all routers had confirmed all homes, and no clock jumped;
              or the receipt counts a refusal of a subscription that has the message, or of none
stale         a router has sent messages of a home that another router had taken
unanswered    a publisher got no answer in time; or the answer reports silent homes, although all faults were repaired
              in time and no clock jumped; or a subscription from the past never started
no reply      a request got no reply, although the network has settled and a holder can be reached
wrong reply   a reply does not match the request, or nobody waits for it
endless       a request did not end
unsettled     the network did not settle in time after the last change
crashed       a router wrote a traceback
waiting       messages were left at the end, or the record has no end

A compared part of the state that differs is a violation under its own name: tables, packets, …

The findings depend on the events alone, so the checker can be tested with records written by hand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from math import inf

from cbnet_lab.faults import record
from cbnet_lab.faults.check.durable import JOURNAL_FAULTS, DurableCheck, LogCheck, ReplayCheck
from cbnet_lab.faults.check.findings import Findings, Identity
from cbnet_lab.faults.check.plain import NetworkState, PlainCheck, PlainSubscription, RequestCheck

_FLIGHT = 0.1  # seconds that a message of a simulated router takes to its client, at most
GRACE = 1.0  # seconds for which a publisher waits for an answer after its timeout


class Checker:
    """Checks a run while it is recorded, or afterwards; `end` returns the findings."""

    def __init__(self, begin: record.BeginEvent) -> None:
        self.findings = Findings()
        self._begin = begin
        self._state = NetworkState(begin)
        self._durable: dict[str, DurableCheck] = {}
        self._replays: dict[str, ReplayCheck] = {}
        self._plain = PlainCheck(self._state, self.findings)
        self._requests = RequestCheck(self._state, self.findings)
        self._logs: list[record.KeptEvent] = []
        self._published: dict[Identity, record.PublishEvent] = {}
        self._receipts: dict[Identity, record.ReceiptEvent] = {}
        self._holders: dict[str, tuple[str, float]] = {}  # by home: the router that has taken it last, and when
        self._full: set[str] = set()  # routers whose disk is full
        self._freed = -inf  # time when a disk was last full
        self._jumped = -inf  # time of the last clock jump
        self._replaced = -inf  # time when a router last started with another journal
        self._changes: list[record.FaultEvent] = []  # since the network last settled
        self.changed = 0.0  # time of the last change
        self.is_over = False

    @property
    def is_settled(self) -> bool:
        """Whether the network has settled since the last change."""
        return self._state.is_settled

    def add(self, *events: record.RunEvent) -> None:
        """Add and check events, in order of time."""
        for event in events:
            self._advance(event.at)
            self._add(event)

    def _add(self, event: record.RunEvent) -> None:
        match event:
            case record.SubscribeEvent():
                self._subscribe(event)
            case record.UnsubscribeEvent(_, subscription):
                self._plain.unsubscribe(subscription)
            case record.ReplayEvent() if event.subscription in self._durable:
                self._durable[event.subscription].start = event.offset
            case record.ReplayEvent():
                self._replays[event.subscription].replay(event)
            case record.ConfirmEvent():
                self._confirm(event)
            case record.PublishEvent():
                self.findings.counts["published"] += 1
                self._published[event.publisher, event.number] = event
                self._plain.publish(event)
            case record.ReceiptEvent():
                self._add_receipt(event)
            case record.ReceiveEvent():
                self._receive(event)
            case record.HoldEvent(at, home, router):
                self._holders[home] = router, at
            case record.AcknowledgeEvent():
                self._durable[event.subscription].acknowledge(event)
            case record.LostEvent():
                own = self._subscription(event.subscription)
                (own if isinstance(own, DurableCheck | ReplayCheck) else self._plain).lost(event)
            case record.RequestEvent():
                self._requests.request(event)
            case record.AnswerEvent():
                self._requests.answer(event)
            case record.FaultEvent():
                self._fault(event)
            case record.SettleEvent():
                self._settle(event)
            case record.CompareEvent(at, kind, of, found, expected):
                if found != expected:
                    self.findings.violate(kind, f"{of}, at {at:.1f}: {found}, not {expected}")
            case record.HealEvent(at):
                self._state.recovered = at + self._begin.recovery
            case record.KeptEvent():
                self._logs.append(event)
            case record.EndEvent(_, waiting):
                self._end(waiting)

    def _advance(self, now: float) -> None:
        if now >= self._state.recovered and not self._state.is_settled:
            self._state.is_settled = True
            self._plain.settle()
        self._plain.advance(now)
        self._requests.advance(now)

    # --- subscriptions

    def _subscription(self, name: str) -> DurableCheck | ReplayCheck | PlainSubscription | None:
        return self._durable.get(name) or self._replays.get(name) or self._plain.subscriptions.get(name)

    def _subscribe(self, event: record.SubscribeEvent) -> None:
        name, findings = event.subscription, self.findings
        if event.kind == "plain":
            self._plain.subscribe(event)
        elif event.kind == "offer":
            self._requests.offer(event)
        elif event.kind == "durable":
            group = self._begin.groups.get(event.home, ())
            check = DurableCheck(event, findings, self._begin.slack, group)
            self._durable.setdefault(name, check).parts.add(event.client)
        else:
            self._replays.setdefault(name, ReplayCheck(event, findings)).parts.add(event.client)

    def _confirm(self, event: record.ConfirmEvent) -> None:
        own = self._subscription(event.subscription)
        if own is not None and event.routers == self._begin.routers:
            own.confirmed = min(own.confirmed, event.at)
        if isinstance(own, PlainSubscription):
            self._plain.confirm(own, event)

    def _receive(self, event: record.ReceiveEvent) -> None:
        self.findings.counts["received"] += 1
        own = self._subscription(event.subscription)
        if own is None:
            self.findings.violate("spurious", f"{event.client} has no subscription {event.subscription}")
        elif isinstance(own, PlainSubscription):
            self._plain.receive(event)
        else:
            router, since = self._holders.get(own.home, (event.router, event.at))
            if event.router not in ("", router) and event.at - since > _FLIGHT:
                self.findings.violate("stale", f"{own.text(event)}, sent by {event.router}; {router} holds {own.home}")
            own.receive(event, self._published.get((event.publisher, event.number)))

    # --- faults and receipts

    def _fault(self, event: record.FaultEvent) -> None:
        (self.findings.ends if event.is_end else self.findings.faults)[event.kind] += 1
        self._plain.fault(event)
        self._requests.fault(event)
        for own in self._durable.values():
            own.fault(event)
        if event.kind == "full disk":
            (self._full.discard if event.is_end else self._full.add)(event.of)
            self._freed = event.at if event.is_end else self._freed
        elif event.kind == "clock jump":
            self._jumped = event.at
        elif event.kind in JOURNAL_FAULTS:
            self._replaced = event.at
        if self._state.is_change(event):
            self._state.first_fault = min(self._state.first_fault, event.at)
            self._state.is_settled = False
            self._changes.append(event)
            self.changed = event.at

    def _settle(self, event: record.SettleEvent) -> None:
        if not event.is_settled or event.at - event.since > self._begin.recovery:
            self.findings.violate(
                "unsettled", f"at {event.at:.1f}, {event.at - event.since:.1f} s after the last change"
            )
        if event.is_settled:
            if self._changes:
                first, *others = self._changes
                kind = "several" if others else f"end of {first.kind}" if first.is_end else first.kind
                self.findings.recoveries.setdefault(kind, []).append(event.at - first.at)
                self._changes = []
            self._state.is_settled = True
            self._plain.settle()

    def _add_receipt(self, event: record.ReceiptEvent) -> None:
        self.findings.counts[event.outcome] += 1
        publish = self._published[event.publisher, event.number]
        self._receipts[event.publisher, event.number] = event
        self._plain.receipt(event)
        text = f"{event.publisher} {event.number}, published at {publish.at:.2f}, answered at {event.at:.2f}"
        deadline = publish.at + (publish.timeout or 0.0)
        if event.at > deadline + GRACE + self._begin.slack:
            self.findings.violate("unanswered", text)
        has_time = deadline > max(self._state.recovered, publish.at + self._begin.recovery)
        if event.outcome == "silent" and has_time and self._jumped < publish.at:
            self.findings.violate("unanswered", f"{text}: silent")
        if event.outcome == "refused" and not self._may_refuse(publish, event):
            self.findings.violate("refused", f"{text}: {event.reason}")

    def _may_refuse(self, publish: record.PublishEvent, receipt: record.ReceiptEvent) -> bool:
        """Return whether a message may be refused.

        It may if a disk was full or replaced, a home was not known to all routers, or a clock jumped since it was sent.
        Later messages may have been stored at the home before this one: sent by another router, or over a tree, for a
        subscription that this router did not know. Or its timeout had expired by the clock of a router.
        """
        was_full = bool(self._full) or max(self._freed, self._replaced) >= publish.at - self._begin.recovery
        refusing = (each for each in self._durable.values() if f"{each.home}: " in receipt.reason)
        return was_full or self._jumped >= publish.at or any(each.confirmed >= publish.at for each in refusing)

    # --- the end

    def _end(self, waiting: Mapping[str, int]) -> None:
        self.is_over = True
        for name, count in waiting.items():
            if count:
                self.findings.violate("waiting", f"{name}: {count} messages at the end")

    def end(self) -> Findings:
        """Run the checks that need the whole record; return the findings."""
        for own in self._durable.values():
            for messages in own.journals:
                self.findings.check_offsets(own.name, messages)
        stored = {
            name: {identity for messages in own.journals for identity in messages.values()}
            for name, own in self._durable.items()
        }
        for identity, publish in self._published.items():
            receipt = self._receipts.get(identity)
            if receipt is not None and receipt.outcome == "stored":
                self._check_receipt(publish, receipt, stored)
            elif receipt is None and publish.timeout is not None:
                self.findings.violate("unanswered", f"{identity[0]} {identity[1]}, published at {publish.at:.2f}")
        for kept in self._logs:
            self._check_log(kept)
        self._plain.end()
        return self.findings

    def _check_receipt(
        self, publish: record.PublishEvent, receipt: record.ReceiptEvent, stored: Mapping[str, set[Identity]]
    ) -> None:
        text = f"{publish.publisher} {publish.number}, published at {publish.at:.2f}"
        matching = [each for each in self._durable.values() if each.matches(publish.message)]
        due = [each for each in matching if each.confirmed < publish.at]
        self.findings.counts["due"] += len(due)
        lacking = [each for each in due if (publish.publisher, publish.number) not in stored[each.name]]
        for each in lacking:
            if not each.is_excused(publish):
                self.findings.violate("lost", f"{each.name}: {text}, stored at {receipt.at:.2f}")
        for home, count in Counter(each.home for each in lacking if each.limit).items():
            if count > (counted := receipt.others.get(home, 0)):
                self.findings.violate("lost", f"{text}: {count} full subscriptions at {home} lack it, not {counted}")
        least = sum(not each.is_past for each in due)  # the others may still receive messages from the log
        counted = receipt.subscriptions + sum(receipt.others.values())
        if not least <= counted <= sum(each.since <= receipt.at for each in matching):
            self.findings.violate("lost", f"{text}: {counted} subscriptions have stored or refused it, not {least}")
        # No subscription that has a message is counted as one that refused it.
        for home, count in receipt.others.items():
            self.findings.counts["refused by others"] += count
            own = [each for each in self._durable.values() if each.home == home and each.limit]
            having = sum((publish.publisher, publish.number) in stored[each.name] for each in own)
            full = sum(each.matches(publish.message) for each in own)
            if having + count > full:
                self.findings.violate("refused", f"{text}: {having} of {full} at {home} have it, {count} refused it")

    def _check_log(self, kept: record.KeptEvent) -> None:
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


def settled_checker(predicates: Mapping[str, str], recovery: float = 0.0) -> Checker:
    """Return the checker of a run in a settled network; predicates: of the plain subscriptions, by client.

    Deliveries have no deadline.
    """
    checker = Checker(record.BeginEvent(0.0, 0, 0.0, recovery, delay=inf))
    for name, text in predicates.items():
        checker.add(record.SubscribeEvent(0.0, name, name, "", text, kind="plain"))
    checker.add(record.SettleEvent(0.0, 0.0))
    return checker


def check_record(events: Iterable[record.RunEvent]) -> Findings:
    """Return the findings of a record, which must begin with a `BeginEvent`."""
    iterator = iter(events)
    begin = next(iterator, None)
    if not isinstance(begin, record.BeginEvent):
        findings = Findings()
        findings.violate("waiting", "the record has no beginning")
        return findings
    checker = Checker(begin)
    checker.add(*iterator)
    if not checker.is_over:
        checker.findings.violate("waiting", "the record has no end")
    return checker.end()
