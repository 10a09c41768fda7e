"""Memory budgets for messages queued for slow clients: one per account, and one for the router.

The longest queues are cut first, all to the same level:

    bytes     16   9   3   1
    level 7    7   7   3   1      the highest that stays within a budget of 18

A client that chose to be disconnected instead of losing messages is disconnected.
"""

from __future__ import annotations

from collections.abc import Iterable

from cbnet.network.transport.connection import Connection


class QueueBudget:
    """The budgets of one router, in bytes."""

    def __init__(self, each: int, account: int, total: int) -> None:
        """Initialise with the maximum bytes of each queue, of the queues of an account, and of all queues."""
        self._each = each
        self._account = account
        self.total = total
        self._cut: set[Connection] = set()  # connections with lowered limits

    def enforce(self, clients: Iterable[Connection]) -> None:
        """Cut the longest queues as far as the budgets require."""
        slow = [client for client in clients if client.queued]
        cut, self._cut = self._cut, set()
        if sum(client.queued for client in slow) > min(self._account, self.total):
            self._cut_all(slow)
        for connection in cut - self._cut:
            connection.output.max_lossy = self._each

    def _cut_all(self, clients: list[Connection]) -> None:
        by_account: dict[str, list[int]] = {}
        for client in clients:
            by_account.setdefault(client.link.account, []).append(client.queued)
        levels = {account: level(sizes, self._account) for account, sizes in by_account.items() if account}
        highest = level([client.queued for client in clients], self.total)
        for connection in clients:
            allowed = min(levels.get(connection.link.account, self._each), highest)
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
