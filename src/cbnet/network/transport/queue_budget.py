"""Memory budgets for messages queued for slow clients: one per account, and one for the router.

The longest queues are cut first, all to the same level:

    bytes     16   9   3   1
    level 7    7   7   3   1      the highest that stays within a budget of 18

A client that chose to be disconnected instead of losing messages is disconnected.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from cbnet.network.transport.connection import Connection


class ClientQueue(NamedTuple):
    """The queue of a client."""

    account: str  # empty: none
    connection: Connection


class QueueBudget:
    """The budgets of one router, in bytes."""

    def __init__(self, each: int, account: int, total: int) -> None:
        """Initialise with the maximum bytes of each queue, of the queues of an account, and of all queues."""
        self._each = each
        self._account = account
        self.total = total
        self._cut: set[Connection] = set()  # connections with lowered limits

    def enforce(self, queues: Iterable[ClientQueue]) -> None:
        """Cut the longest queues as far as the budgets require."""
        long = [queue for queue in queues if queue.connection.queued]
        cut, self._cut = self._cut, set()
        if sum(queue.connection.queued for queue in long) > min(self._account, self.total):
            self._cut_all(long)
        for connection in cut - self._cut:
            connection.buffer.max_lossy = self._each

    def _cut_all(self, queues: list[ClientQueue]) -> None:
        by_account: dict[str, list[int]] = {}
        for queue in queues:
            by_account.setdefault(queue.account, []).append(queue.connection.queued)
        levels = {account: level(sizes, self._account) for account, sizes in by_account.items() if account}
        highest = level([queue.connection.queued for queue in queues], self.total)
        for account, connection in queues:
            allowed = min(levels.get(account, self._each), highest)
            if connection.queued > allowed:
                self._cut.add(connection)
                connection.limit_queue(allowed)


def level(sizes: Iterable[int], budget: int) -> int:
    """Return the highest level at which queues of these sizes, each cut to it, stay within a budget."""
    ordered = sorted(sizes)
    for done, size in enumerate(ordered):
        left = len(ordered) - done
        if size * left > budget:
            return budget // left
        budget -= size
    return max(ordered, default=budget)
