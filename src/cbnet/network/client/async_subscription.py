"""Async subscription: what has come for one subscription and was not taken yet? A queue with a limit.

When the queue is full, what happens next was chosen:

    block          nothing is read from the router until there is room: messages wait there, and when too many do, the
                   router drops the oldest and says how many (`lost` of the client)
    drop oldest    the oldest message in the queue is dropped, and counted (`dropped`)
    disconnect     the client is closed, and who takes messages gets a `TooSlow` after the last one
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from cbnet.errors import InputError

if TYPE_CHECKING:
    from cbnet.network.client.async_client import AsyncClient

WhenFull: TypeAlias = Literal["block", "drop oldest", "disconnect"]
_POLICIES = ("block", "drop oldest", "disconnect")
QUEUE = 1_000


class Delivery(NamedTuple):
    """A message that was delivered."""

    message: dict[str, Any]  # its attributes; its tags under "#", if it has some
    payload: bytes
    source: str  # the router where it was published
    id: tuple[str, int, int]  # unlike that of any other message


class Confirmation(NamedTuple):
    """Which routers have a subscription."""

    is_confirmed: bool  # whether all that can be reached have it; false also if that was not waited for
    routers: int  # that have it
    missing: list[str]  # routers that are known, and not known to have it


class AsyncSubscription:
    """A subscription of an `AsyncClient`; iterate over it to take the messages."""

    def __init__(
        self,
        client: AsyncClient,
        id: int,
        predicate: str,
        queue: int,
        when_full: WhenFull,
        *,
        is_loaded: bool = False,  # to the loaded predicate of the router's node, in the place of a predicate
    ) -> None:
        if queue < 1:
            raise InputError(f"a queue of {queue} messages", hint="use at least 1")
        if when_full not in _POLICIES:
            raise InputError(f"unknown policy {when_full!r}", hint="use one of " + ", ".join(_POLICIES))
        self.predicate = predicate
        self.is_loaded = is_loaded
        self.confirmation = Confirmation(False, 0, [])
        self.dropped = 0  # messages, because the queue was full
        self.id = id
        self.when_full = when_full
        self._client = client
        self._most = queue
        self._queue: deque[Delivery] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._end: Exception | None = None
        self._has_ended = False

    # --- for who takes messages

    def __aiter__(self) -> AsyncIterator[Delivery]:
        return self

    async def __anext__(self) -> Delivery:
        if not self._queue:
            await self._filled()
        if not self._queue:
            raise StopAsyncIteration
        delivery = self._queue.popleft()
        if self._client.is_held:
            self._client.release()
        return delivery

    async def take(self, timeout: float | None = None) -> list[Delivery]:
        """Wait for messages; return all that are there, or none if the time is up or the subscription has ended."""
        if not self._queue:
            try:
                async with asyncio.timeout(timeout):
                    await self._filled()
            except TimeoutError:
                return []
        taken = list(self._queue)
        self._queue.clear()
        if self._client.is_held:
            self._client.release()
        return taken

    async def unsubscribe(self) -> None:
        """End the subscription; what is in the queue can still be taken."""
        await self._client.unsubscribe(self)

    def __len__(self) -> int:
        return len(self._queue)

    # --- for the client

    @property
    def is_full(self) -> bool:
        """Whether nothing more should be read from the router for now."""
        return len(self._queue) >= self._most and self.when_full == "block"

    def put(self, delivery: Delivery) -> bool:
        """Add a message; return whether the client must be closed, or nothing more be read for now."""
        queue = self._queue
        queue.append(delivery)
        if self._waiter is not None:
            self._wake()
        if len(queue) < self._most:
            return False
        if self.when_full == "drop oldest" and len(queue) > self._most:
            queue.popleft()
            self.dropped += 1
        return self.when_full != "drop oldest"

    @property
    def is_too_slow(self) -> bool:
        """Whether the client must be closed."""
        return self.when_full == "disconnect" and len(self._queue) > self._most

    def end(self, error: Exception | None = None) -> None:
        """Let no more messages come; who takes them gets the error after the last one."""
        if not self._has_ended:
            self._has_ended, self._end = True, error
            self._wake()

    # --- inside

    async def _filled(self) -> None:
        """Wait until there is a message, or no more will come."""
        while not self._queue and not self._has_ended:
            self._waiter = self._waiter or asyncio.get_running_loop().create_future()
            await asyncio.shield(self._waiter)
        if not self._queue and self._end is not None:
            raise self._end

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
