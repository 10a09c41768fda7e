"""Verdict: did everybody get exactly what was wanted, once?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from cbnet.lab.bench.network.load_processes import Came
    from cbnet.lab.bench.network.traffic import Wanted
    from cbnet.network.client.load_clients import Order

Counts: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Verdict:
    """What came, compared with what had to come."""

    expected: int  # deliveries
    right: int
    missing: int
    twice: int  # more than once, where once is right
    spurious: int  # to who did not ask for it

    @property
    def is_exact(self) -> bool:
        """Whether all came that had to, and nothing else."""
        return not (self.missing or self.twice or self.spurious)


def expected_deliveries(order: Order, wanted: Wanted) -> int:
    """Return how many deliveries an order must cause."""
    return int(_had_to(order, wanted).sum())


def verdict(order: Order, wanted: Wanted, came: Came) -> Verdict:
    """Compare what came with what had to come."""
    had_to, did = _had_to(order, wanted), _did(order, wanted, came)
    surplus = np.maximum(did - had_to, 0)
    strange = len(came.numbers) - int(did.sum())  # messages of another order
    return Verdict(
        int(had_to.sum()),
        int(np.minimum(had_to, did).sum()),
        int(np.maximum(had_to - did, 0).sum()),
        int(surplus[had_to > 0].sum()),
        int(surplus[had_to == 0].sum()) + strange,
    )


def missing_by_message(order: Order, wanted: Wanted, came: Came) -> Counts:
    """Return how many deliveries of each message are missing."""
    missing: Counts = np.maximum(_had_to(order, wanted) - _did(order, wanted, came), 0).sum(axis=1)
    return missing


def _had_to(order: Order, wanted: Wanted) -> Counts:
    """Return how often each message of an order must come to each subscriber."""
    contents = np.arange(order.first, order.first + order.count) % len(wanted.counts)
    return wanted.counts[contents].astype(np.int64)


def _did(order: Order, wanted: Wanted, came: Came) -> Counts:
    """Return how often each message of an order came to each subscriber."""
    did = np.zeros((order.count, wanted.counts.shape[1]), np.int64)
    inside = (came.numbers >= order.first) & (came.numbers < order.first + order.count)
    np.add.at(did, (came.numbers[inside] - order.first, came.subscribers[inside]), 1)
    return did
