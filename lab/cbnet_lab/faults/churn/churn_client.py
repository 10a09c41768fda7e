"""A client of the churn trial: it subscribes to very many filters, all frames encoded before they are sent."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from cbnet.network.protocol.frames import Frame, Ping, Pong, Status, StatusRequest, Unsubscribe
from cbnet.network.protocol.wire import encode
from cbnet_lab.bench.router.load import Target
from cbnet_lab.bench.router.raw_link import RawLink
from cbnet_lab.bench.router.wire_formats import CbnetFormat

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


class HeldFilters(NamedTuple):
    """What routers hold at the end of a phase."""

    announced: int  # filters, by router b to router a
    problem: str | None  # with what they must hold


def wait_until_held(watchers: Mapping[str, ChurnClient], filters: int, timeout: float) -> HeldFilters:
    """Wait until router b holds so many filters of clients, and all routers what they are told, and nothing changes."""
    end = time.monotonic() + timeout
    before: dict[tuple[str, str], int] = {}
    told = heard = before
    while time.monotonic() < end:
        statuses = {name: watcher.status() for name, watcher in watchers.items()}
        told = _sums(
            (name, each.neighbour, each.announced) for name, all in statuses.items() for each in all.interfaces
        )
        heard = _sums((each.neighbour, name, each.held) for name, all in statuses.items() for each in all.interfaces)
        is_acknowledged = all(each.is_acknowledged for status in statuses.values() for each in status.interfaces)
        if statuses["b"].own_filters == filters and told == heard == before and is_acknowledged:
            return HeldFilters(told["b", "a"], None)
        before = told
        time.sleep(_POLL)
    own = statuses["b"].own_filters
    return HeldFilters(0, f"after {timeout:g} s {own:,} of {filters:,} filters, told {told} and heard {heard}")


def _sums(counts: Iterable[tuple[str, str, int]]) -> dict[tuple[str, str], int]:
    """Return the sum for each pair of routers."""
    sums: dict[tuple[str, str], int] = {}
    for sender, receiver, count in counts:
        sums[sender, receiver] = sums.get((sender, receiver), 0) + count
    return sums
