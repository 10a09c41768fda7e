"""Month ledger: did every message come to whom it must? Each is judged by whether anything changed meanwhile.

    quiet       everybody knew what is so when the message was published, and until it was delivered: it must have
                come to exactly the subscriptions that match and can be reached
    changing    else: it may have missed some

Always: not twice to a subscription, and not to one whose predicate it does not match. A subscription never
changes its predicate here; who wants something else takes another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cbnet.language.message import Message
from cbnet.language.predicate import Predicate
from cbnet.language.syntax.parser import parse
from cbnet.network import MemoryClient

PATIENCE = 9.0  # seconds until a message has come, or comes no more; longest ways, and clients that stand still
_MOST_SHOWN = 20

Whom = tuple[str, int]  # client and subscription


@dataclass
class Counts:
    """What became of messages."""

    messages: int = 0
    quiet: int = 0  # messages that are judged as such
    delivered: int = 0  # to a subscription
    missed_quiet: int = 0
    missed_changing: int = 0
    twice: int = 0
    spurious: int = 0
    requests: int = 0
    replies: int = 0
    from_caches: int = 0  # of these
    without: int = 0  # requests for what nobody has who can be reached
    timeouts: int = 0
    unanswered_quiet: int = 0  # though somebody has it
    endless: int = 0
    examples: list[str] = field(default_factory=list)  # of what must not be

    @property
    def is_right(self) -> bool:
        """Whether nothing was that must not be."""
        wrong = self.missed_quiet, self.twice, self.spurious, self.unanswered_quiet, self.endless
        return not any(wrong)

    def wrong(self, what: str) -> None:
        """Remember something that must not be."""
        if len(self.examples) < _MOST_SHOWN:
            self.examples.append(what)


@dataclass
class _Sent:
    """A message that was published."""

    message: Message
    at: float
    expected: set[Whom]  # as it was when it was published
    is_quiet: bool
    came: set[Whom] = field(default_factory=set)


class Ledger:
    """All messages, and to whom they came."""

    def __init__(self, clients: Mapping[str, MemoryClient]) -> None:
        self._clients = clients
        self.counts = Counts()
        self._predicates: dict[Whom, Predicate] = {}
        self._sent: dict[bytes, _Sent] = {}
        self._open: dict[bytes, _Sent] = {}  # not judged yet, oldest first

    def subscribed(self, whom: Whom, predicate: str) -> None:
        """Take note of a subscription."""
        self._predicates[whom] = parse(predicate)

    def published(self, message: Message, at: float, reached: set[str], *, is_quiet: bool) -> bytes:
        """Take note of a message, and of the routers that it can reach; return its payload."""
        payload = str(len(self._sent)).encode()
        expected = {
            (name, id)
            for name, client in self._clients.items()
            if client.router in reached and not client.is_disconnected
            for id in client.subscriptions
            if self._predicates[name, id].matches(message)
        }
        self._sent[payload] = self._open[payload] = _Sent(message, at, expected, is_quiet)
        self.counts.messages += 1
        return payload

    def disturb(self) -> None:
        """Take note that something changes now: what is under way may miss somebody."""
        self._collect()
        for payload, sent in list(self._open.items()):
            if sent.is_quiet and sent.came == sent.expected:
                self._judge(payload)
            else:
                sent.is_quiet = False

    def settle(self, now: float) -> None:
        """Judge the messages that come no more."""
        self._collect()
        while self._open:
            payload, sent = next(iter(self._open.items()))
            if now - sent.at < PATIENCE:
                break
            self._judge(payload)

    # --- inside

    def _judge(self, payload: bytes) -> None:
        sent, counts = self._open.pop(payload), self.counts
        missing = sent.expected - sent.came
        if not sent.is_quiet:
            counts.missed_changing += len(missing)
            return
        counts.quiet += 1
        counts.missed_quiet += len(missing)
        for whom in sorted(missing):
            counts.wrong(f"{payload.decode()}, sent at {sent.at:.2f}, missed {whom}")

    def _collect(self) -> None:
        for name, client in self._clients.items():
            for delivery in client.deliveries:
                self._came((name, delivery.subscription), delivery.payload, delivery.at)
            client.deliveries.clear()

    def _came(self, whom: Whom, payload: bytes, at: float) -> None:
        sent, counts = self._sent[payload], self.counts
        if whom in sent.came:
            counts.twice += 1
            counts.wrong(f"{payload.decode()} came to {whom} again at {at:.2f}")
            return
        sent.came.add(whom)
        counts.delivered += 1
        is_strange = sent.is_quiet and whom not in sent.expected
        if is_strange or not self._predicates[whom].matches(sent.message):
            counts.spurious += 1
            counts.wrong(f"{payload.decode()}, sent at {sent.at:.2f}, came to {whom}, who did not ask for it")
