"""Subscriptions of the blocking client."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from cbnet.network.client.async_subscription import AsyncSubscription, Confirmation, Delivery, HistorySpan
from cbnet.network.client.blocking.client_thread import ClientThread


class Subscription:
    """A subscription of a `Client`; iterate over it to receive messages."""

    def __init__(self, thread: ClientThread, subscription: AsyncSubscription) -> None:
        self._thread = thread
        self._subscription = subscription
        self._taken: deque[Delivery] = deque()

    @property
    def predicate(self) -> str:
        """The predicate, as text."""
        return self._subscription.predicate

    @property
    def confirmation(self) -> Confirmation:
        """The routers that have the subscription; complete only with `wait`."""
        return self._subscription.confirmation

    @property
    def dropped(self) -> int:
        """Messages dropped because the queue was full."""
        return self._subscription.dropped

    def __iter__(self) -> Iterator[Delivery]:
        while (delivery := self.get()) is not None:
            yield delivery

    def batches(self) -> Iterator[list[Delivery]]:
        """Yield lists of all queued messages, each with at least one; fastest for many messages."""
        while batch := self.take():
            yield batch

    def get(self, timeout: float | None = None) -> Delivery | None:
        """Wait for a message and return it; None after the timeout or the end of the subscription."""
        if not self._taken:
            self._taken.extend(self._thread.call(self._subscription.take(timeout)))
        return self._taken.popleft() if self._taken else None

    def take(self, timeout: float | None = None) -> list[Delivery]:
        """Wait for messages and return all queued ones; none after the timeout or the end of the subscription."""
        if not self._taken:
            return self._thread.call(self._subscription.take(timeout))
        taken = [*self._taken]
        self._taken.clear()
        return taken

    @property
    def lost(self) -> int:
        """Messages that the router dropped because of the limits of a durable subscription, or of its history."""
        return self._subscription.lost

    @property
    def history(self) -> HistorySpan | None:
        """Position in its router's history at which it began; None if it began with new messages, or existed before."""
        return self._subscription.history

    def acknowledge_up_to(self, offset: int) -> None:
        """Acknowledge all messages of a durable subscription up to an offset that this client has received."""
        self._subscription.acknowledge_up_to(offset)

    def unsubscribe(self) -> None:
        """End the subscription; queued messages can still be received. A durable one keeps storing messages."""
        self._thread.call(self._subscription.unsubscribe())
