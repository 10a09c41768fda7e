"""A client of the churn trial: it subscribes to very many filters, all frames encoded before they are sent."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from cbnet.lab.bench.router.load import Target
from cbnet.lab.bench.router.raw_link import RawLink
from cbnet.lab.bench.router.wire_formats import CbnetFormat
from cbnet.network.protocol.frames import Frame, Ping, Pong, Status, StatusRequest, Unsubscribe
from cbnet.network.protocol.wire import encode

_POLL = 0.05  # seconds between two requests for the status


class ChurnClient:
    """A client with filters that no message matches."""

    def __init__(self, target: Target, name: str) -> None:
        self._link = RawLink(target.port)
        self._format = CbnetFormat("")
        self._reader = self._format.greet(self._link, name)
        self.subscriptions = 0
        self.filters = 0

    def subscribe(self, filters: Sequence[str], per_subscription: int = 1) -> None:
        """Subscribe to filters; return when all routers have confirmed the last ones."""
        predicates = [
            " or ".join(filters[first : first + per_subscription]) for first in range(0, len(filters), per_subscription)
        ]
        self._format.subscribe(self._link, predicates)
        self.subscriptions, self.filters = len(predicates), len(filters)

    def unsubscribe(self, ids: Iterable[int]) -> None:
        """Unsubscribe, and wait until the router has answered all of it."""
        self._ask([*map(Unsubscribe, ids), Ping(1)], Pong)

    def status(self) -> Status:
        """Return the status of the router."""
        answer = self._ask([StatusRequest(1)], Status)
        assert isinstance(answer, Status)
        return answer

    def vanish(self) -> None:
        """Close the connection without a word."""
        self._link.close()

    def _ask(self, frames: Iterable[Frame], kind: type[Frame]) -> Frame:
        data = b"".join(map(encode, frames))
        while True:
            for answer in self._reader.feed(self._link.ask(data)):
                if isinstance(answer, kind):
                    return answer
            data = b""


def wait_until_held(watchers: tuple[ChurnClient, ChurnClient], filters: int, timeout: float) -> str | None:
    """Wait until the second router holds so many filters of clients and the first has all it is told; else say what."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        first, second = watchers[0].status(), watchers[1].status()
        told = sum(each.announced for each in second.interfaces)
        heard = sum(each.held for each in first.interfaces)
        acknowledged = all(each.is_acknowledged for each in second.interfaces)
        if second.own_filters == filters and told == heard and acknowledged:
            return None
        time.sleep(_POLL)
    return f"after {timeout:g} s {second.own_filters:,} of {filters:,} filters, {told:,} told and {heard:,} heard"
