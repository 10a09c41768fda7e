"""The check that every subscriber received each expected message exactly once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from cbnet.network.client.load_clients import Order
    from cbnet_lab.bench.network.load_processes import ReceivedDeliveries
    from cbnet_lab.bench.network.traffic import ExpectedDeliveries

Counts: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class DeliveryCheck:
    """Deliveries compared with the expected ones."""

    expected: int  # deliveries
    deliveries: int  # expected ones that arrived
    missing: int
    twice: int  # surplus copies of expected deliveries
    spurious: int  # to clients that did not subscribe to it

    @property
    def problem(self) -> str | None:
        """The wrong deliveries, if there are any."""
        if not (self.missing or self.twice or self.spurious):
            return None
        return f"{self.missing:,} missing, {self.twice:,} duplicate, {self.spurious:,} spurious"


def expected_count(order: Order, expected: ExpectedDeliveries) -> int:
    """Return the number of deliveries that an order must cause."""
    return int(_required(order, expected).sum())


def check_deliveries(order: Order, expected: ExpectedDeliveries, received: ReceivedDeliveries) -> DeliveryCheck:
    """Compare the deliveries of an order with the expected ones."""
    required, delivered = _required(order, expected), _delivered(order, expected, received)
    surplus = np.maximum(delivered - required, 0)
    strange = len(received.numbers) - int(delivered.sum())  # messages of another order
    return DeliveryCheck(
        int(required.sum()),
        int(np.minimum(required, delivered).sum()),
        int(np.maximum(required - delivered, 0).sum()),
        int(surplus[required > 0].sum()),
        int(surplus[required == 0].sum()) + strange,
    )


def _required(order: Order, expected: ExpectedDeliveries) -> Counts:
    """Return how often each message of an order must reach each subscriber."""
    contents = np.arange(order.first, order.first + order.count) % len(expected.counts)
    return expected.counts[contents].astype(np.int64)


def _delivered(order: Order, expected: ExpectedDeliveries, received: ReceivedDeliveries) -> Counts:
    """Return how often each message of an order reached each subscriber."""
    delivered = np.zeros((order.count, expected.counts.shape[1]), np.int64)
    inside = (received.numbers >= order.first) & (received.numbers < order.first + order.count)
    np.add.at(delivered, (received.numbers[inside] - order.first, received.subscribers[inside]), 1)
    return delivered
