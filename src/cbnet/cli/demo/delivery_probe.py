"""A delivery check of a network that starts with initial predicates: publish messages, and count deliveries.

One client per router subscribes to the initial predicate of the router's node, and publishes. The payload of a message
is its number.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from cbnet.network import Address, Client, Refused, Subscription, connect
from cbnet.network.client.message_encoding import MessageLike

_WAIT = 0.01  # seconds for the next delivery
_SILENCE = 5.0  # seconds without a delivery, after which missing ones count as missed
_SETTLE = 0.5  # seconds for spurious deliveries to arrive

DeliveryCounts = Counter[tuple[str, int]]  # (router, message number) -> deliveries


@dataclass(frozen=True)
class ProbeResult:
    """Deliveries compared with the expected ones."""

    expected: int
    delivered: int
    missed: int
    spurious: int
    duplicates: int

    @property
    def is_exact(self) -> bool:
        """Whether every expected delivery arrived once, and no other."""
        return self.delivered == self.expected and not (self.missed or self.spurious or self.duplicates)


def compare_deliveries(receivers: Sequence[Sequence[str]], counts: DeliveryCounts) -> ProbeResult:
    """Compare deliveries with the expected receivers of each message."""
    expected = {(router, number) for number, routers in enumerate(receivers) for router in routers}
    delivered = expected & counts.keys()
    return ProbeResult(
        expected=len(expected),
        delivered=len(delivered),
        missed=len(expected - counts.keys()),
        spurious=sum(count for each, count in counts.items() if each not in expected),
        duplicates=sum(counts[each] - 1 for each in delivered),
    )


def probe_deliveries(
    routers: Mapping[str, Address], messages: Sequence[tuple[str, MessageLike]], expected: int, network: str = "cbnet"
) -> DeliveryCounts:
    """Publish messages, each at a router, and return the deliveries.

    expected: number of deliveries to wait for; if fewer arrive, the wait ends when no more come.
    """
    received: DeliveryCounts = Counter()
    with ExitStack() as stack:
        clients = {
            name: stack.enter_context(connect(str(address), network=network)) for name, address in routers.items()
        }
        subscriptions = {name: _initial_subscription(client, len(messages)) for name, client in clients.items()}
        for number, (router, message) in enumerate(messages):
            clients[router].publish(message, str(number).encode())
        last = time.monotonic()
        while received.total() < expected and time.monotonic() - last < _SILENCE:
            if _count(received, subscriptions):
                last = time.monotonic()
        time.sleep(_SETTLE)
        _count(received, subscriptions)
    return received


def _initial_subscription(client: Client, queue: int) -> Subscription | None:
    """Subscribe to the initial predicate of the router's node; None if it has none."""
    try:
        return client.subscribe_initial(queue=queue + 1)
    except Refused:
        return None


def _count(received: DeliveryCounts, subscriptions: Mapping[str, Subscription | None]) -> int:
    """Count the deliveries that have arrived; return how many there are."""
    before = received.total()
    for name, subscription in subscriptions.items():
        while subscription is not None and (delivery := subscription.get(_WAIT)) is not None:
            received[name, int(delivery.payload)] += 1
    return received.total() - before
