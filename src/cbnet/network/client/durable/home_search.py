"""The search of a client for the home of its durable subscriptions, while that is away.

A router that is not the home refuses a durable subscription with the address of the home. The client keeps its
connection to that router, and all else that it has there, and waits:

    refused, with the address of the home
       │
       ▼
    does the home listen? ──yes──► connect there     at once, then after 0.25 s, 0.5 s, … 2 s, less up to a half
       │ no
       └──► ask this router again: another one may have taken the home over; every eighth time, ask another router

A client that is served by the home of one durable subscription does not leave it for that of another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final, cast

from cbnet.errors import CbnetError, InputError
from cbnet.network.client.async_subscription import AsyncSubscription
from cbnet.network.client.client_events import ClientEvent, EventKind
from cbnet.network.client.client_link import ClientLink
from cbnet.network.protocol.addresses import Address, parse_address
from cbnet.network.transport.backoff import Backoff
from cbnet.network.transport.connection import break_cycle

_FIRST, _LONGEST = 0.25, 2.0  # seconds between two attempts
_ELSEWHERE: Final = 8  # attempts after which another router is asked
_DIAL: Final = 3.5  # seconds


class HomeSearch:
    """The durable subscriptions of one client that are refused because their home is elsewhere."""

    def __init__(
        self, link: ClientLink, send: Callable[[AsyncSubscription], None], report: Callable[[ClientEvent], None]
    ) -> None:
        """Initialise; send: sends a subscription to the router again."""
        self._link = link
        self._send = send
        self._report = report
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[int, AsyncSubscription] = {}
        self._refused: set[int] = set()  # of these: refused by this router since they were sent
        self._served: set[int] = set()  # subscriptions that this router has accepted
        self._home: Address | None = None
        self._backoff = Backoff(_FIRST, _LONGEST)
        self._attempts = 0
        self._began = 0.0
        self._task: asyncio.Task[None] | None = None

    # --- called for the subscriptions

    def connected(self) -> None:
        """Record that all subscriptions are sent to another router."""
        self._served.clear()
        self._refused.clear()

    def refused(self, subscription: AsyncSubscription, reason: str, address: str) -> bool:
        """Wait for the home of a subscription, unless there is nothing to try; return whether it waits."""
        home = self._followed(address)
        if home is None and not self._link.has_others:
            return False
        self._home = home
        self._served.discard(subscription.id)
        if not self._waiting:
            self._began = self._loop.time()
        self._waiting[subscription.id] = subscription
        self._refused.add(subscription.id)
        subscription.waiting = reason
        if self._task is None:
            self._task = self._loop.create_task(self._search())
        return True

    def accepted(self, subscription: AsyncSubscription) -> None:
        """Record that a router is the home of a subscription."""
        self._served.add(subscription.id)
        self._refused.discard(subscription.id)
        if self._waiting.pop(subscription.id, None) is not None:
            subscription.waiting = ""
            if self._attempts:
                seconds = self._loop.time() - self._began
                text = (
                    f"durable subscription {_name(subscription)} goes on at {self._link.router} after {seconds:.1f} s"
                )
                self._report(ClientEvent(EventKind.RESUMED, self._link.router, text, None, seconds))
        self._end_if_done()

    def removed(self, id: int) -> None:
        """Forget a subscription that has ended."""
        self._served.discard(id)
        self._refused.discard(id)
        self._waiting.pop(id, None)
        self._end_if_done()

    def close(self) -> None:
        """End the search permanently; this object leaves no reference cycle."""
        self._waiting.clear()
        self._end_if_done()
        self._send = lambda _: None
        self._report = lambda _: None

    # --- inside

    def _end_if_done(self) -> None:
        if not self._waiting:
            self._attempts = 0
            self._backoff.reset()
            if self._task is not None:
                self._task.cancel()
                self._task = None

    def _followed(self, address: str) -> Address | None:
        """Return the address of a home, if the client may connect to it."""
        with suppress(InputError):
            home = parse_address(address)
            if self._link.may_dial(home):
                return home
        return None

    async def _search(self) -> None:
        while True:
            if self._home is not None and self._may_leave and await self._listens(self._home):
                self._link.leave("the home of a durable subscription is elsewhere", self._home)
            else:
                self._attempts += 1
                if self._attempts == 1:
                    self._warn()
                if self._attempts % _ELSEWHERE == 0 and self._may_leave:
                    self._link.leave("the home of a durable subscription is away")
            await asyncio.sleep(self._backoff.next())
            refused, self._refused = self._refused, set()
            for id in refused:
                self._send(self._waiting[id])

    @property
    def _may_leave(self) -> bool:
        """Whether no durable subscription is served here."""
        return not self._served

    def _warn(self) -> None:
        for subscription in self._waiting.values():
            text = f"durable subscription {_name(subscription)} waits for its home: {subscription.waiting}"
            self._report(ClientEvent(EventKind.WAITING, self._link.router, text))

    async def _listens(self, address: Address) -> bool:
        """Return whether somebody listens at an address."""
        try:
            async with asyncio.timeout(_DIAL):
                probe: _Probe = await self._link.dial(_Probe, address)
        except (OSError, CbnetError):
            return False
        probe.transport.abort()
        return True


def _name(subscription: AsyncSubscription) -> str:
    assert subscription.durable is not None
    return subscription.durable.name


class _Probe(asyncio.Protocol):
    """A connection that shows that somebody listens, and is closed at once."""

    transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Initialise the transport."""
        self.transport = cast(asyncio.Transport, transport)

    def connection_lost(self, _: Exception | None) -> None:
        """Release the transport."""
        break_cycle(self.transport)
