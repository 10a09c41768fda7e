"""The ledger of deliveries: every message is checked against the subscriptions that must receive it.

    quiet       the network was converged from publication to delivery: the message must reach exactly the
                matching subscriptions that are reachable
    changing    otherwise: it may miss some

In both cases it must not reach a subscription twice, nor one whose predicate it does not match. A subscription
never changes its predicate; a client replaces it by another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cbnet.language.message import Message
from cbnet.language.predicate import Predicate
from cbnet.language.syntax.parser import parse
from cbnet.network import MemoryClient

DELIVERY_TIMEOUT = 9.0  # seconds after which a message counts as missed: covers the longest paths and stalled clients
_MAX_EXAMPLES = 20

SubscriptionKey = tuple[str, int]  # client and subscription


@dataclass
class SoakCounts:
    """Counts of messages, requests and violations."""

    messages: int = 0
    quiet: int = 0  # messages published and delivered in a quiet network
    delivered: int = 0  # to a subscription
    missed_quiet: int = 0
    missed_changing: int = 0
    twice: int = 0
    spurious: int = 0
    requests: int = 0
    replies: int = 0
    from_caches: int = 0  # of the replies
    without: int = 0  # requests for an item without a reachable holder
    timeouts: int = 0
    unanswered_quiet: int = 0  # although a holder was reachable
    endless: int = 0
    examples: list[str] = field(default_factory=list)  # of violations

    @property
    def is_right(self) -> bool:
        """Whether there were no violations."""
        violations = self.missed_quiet, self.twice, self.spurious, self.unanswered_quiet, self.endless
        return not any(violations)

    def add_example(self, text: str) -> None:
        """Keep an example of a violation."""
        if len(self.examples) < _MAX_EXAMPLES:
            self.examples.append(text)


@dataclass
class _PublishedMessage:
    """A published message and its deliveries so far."""

    message: Message
    at: float
    expected: set[SubscriptionKey]  # at the time of publication
    is_quiet: bool
    received: set[SubscriptionKey] = field(default_factory=set)


class DeliveryLedger:
    """All messages and their deliveries."""

    def __init__(self, clients: Mapping[str, MemoryClient]) -> None:
        self._clients = clients
        self.counts = SoakCounts()
        self._predicates: dict[SubscriptionKey, Predicate] = {}
        self._sent: dict[bytes, _PublishedMessage] = {}
        self._open: dict[bytes, _PublishedMessage] = {}  # not checked yet, oldest first

    def add_subscription(self, key: SubscriptionKey, predicate: str) -> None:
        """Record a subscription."""
        self._predicates[key] = parse(predicate)

    def add_message(self, message: Message, at: float, reached: set[str], *, is_quiet: bool) -> bytes:
        """Record a message and the routers it can reach; return its payload."""
        payload = str(len(self._sent)).encode()
        expected = {
            (name, id)
            for name, client in self._clients.items()
            if client.router in reached and not client.is_disconnected
            for id in client.subscriptions
            if self._predicates[name, id].matches(message)
        }
        self._sent[payload] = self._open[payload] = _PublishedMessage(message, at, expected, is_quiet)
        self.counts.messages += 1
        return payload

    def disturb(self) -> None:
        """Record a change: messages in flight may miss subscriptions."""
        self._collect()
        for payload, sent in list(self._open.items()):
            if sent.is_quiet and sent.received == sent.expected:
                self._check(payload)
            else:
                sent.is_quiet = False

    def settle(self, now: float) -> None:
        """Check the messages whose delivery time is over."""
        self._collect()
        while self._open:
            payload, sent = next(iter(self._open.items()))
            if now - sent.at < DELIVERY_TIMEOUT:
                break
            self._check(payload)

    def _check(self, payload: bytes) -> None:
        sent, counts = self._open.pop(payload), self.counts
        missing = sent.expected - sent.received
        if not sent.is_quiet:
            counts.missed_changing += len(missing)
            return
        counts.quiet += 1
        counts.missed_quiet += len(missing)
        for key in sorted(missing):
            counts.add_example(f"{payload.decode()}, sent at {sent.at:.2f}, missed {key}")

    def _collect(self) -> None:
        for name, client in self._clients.items():
            for delivery in client.deliveries:
                self._deliver((name, delivery.subscription), delivery.payload, delivery.at)
            client.deliveries.clear()

    def _deliver(self, key: SubscriptionKey, payload: bytes, at: float) -> None:
        sent, counts = self._sent[payload], self.counts
        if key in sent.received:
            counts.twice += 1
            counts.add_example(f"{payload.decode()} reached {key} again at {at:.2f}")
            return
        sent.received.add(key)
        counts.delivered += 1
        is_unexpected = sent.is_quiet and key not in sent.expected
        if is_unexpected or not self._predicates[key].matches(sent.message):
            counts.spurious += 1
            counts.add_example(f"{payload.decode()}, sent at {sent.at:.2f}, reached {key}, which does not match it")
