"""A raw client of a router, which encodes all frames before it sends them, and the filters that routers hold."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from cbnet.errors import CbnetError
from cbnet.network.protocol.frames import Frame, Ping, Pong, Status, StatusRequest, Unsubscribe
from cbnet.network.protocol.wire import encode
from cbnet_lab.bench.router.load import Target
from cbnet_lab.bench.router.raw_link import RawLink
from cbnet_lab.bench.router.wire_formats import CbnetFormat

_POLL = 0.05  # seconds between two requests for the status
_READ = 1 << 16  # bytes


class RouterClient:
    """A client of one router; its operations block, except `received` and `send` after the greeting has ended."""

    def __init__(self, target: Target, name: str) -> None:
        self.link = RawLink(target.port)
        self._format = CbnetFormat("")
        self._reader = self._format.greet(self.link, name)
        self._space = memoryview(bytearray(_READ))
        self.filters = 0

    def subscribe(self, filters: Sequence[str], per_subscription: int = 1) -> None:
        """Subscribe to filters; return when all routers have confirmed the last ones."""
        firsts = range(0, len(filters), per_subscription)
        predicates = [" or ".join(filters[n : n + per_subscription]) for n in firsts]
        self._format.subscribe(self.link, self._reader, predicates)
        self.filters = len(filters)

    def unsubscribe(self, ids: Sequence[int]) -> None:
        """End subscriptions of one filter each, and wait until the router has answered all of it."""
        self._ask([*map(Unsubscribe, ids), Ping(1)], Pong)
        self.filters -= len(ids)

    def status(self) -> Status:
        """Return the status of the router."""
        answer = self._ask([StatusRequest(1)], Status)
        assert isinstance(answer, Status)
        return answer

    def _ask(self, frames: Iterable[Frame], kind: type[Frame]) -> Frame:
        data = b"".join(map(encode, frames))
        while True:
            for answer in self._reader.feed(self.link.ask(data)):
                if isinstance(answer, kind):
                    return answer
            data = b""

    def received(self) -> Iterator[Frame]:
        """Yield the frames that have arrived."""
        return iter(self._reader.feed(bytes(self._space[: self.link.receive_into(self._space)])))

    def send(self, frame: Frame) -> None:
        """Send a frame."""
        self.link.send(memoryview(encode(frame)))


def wait_until_held(watchers: Mapping[str, RouterClient], filters: int, timeout: float) -> int:
    """Wait until router b holds so many filters of clients, all announced filters have arrived, and nothing changes.

    Return the number of filters that router b has announced to router a; raise a CbnetError after the timeout.
    """
    end, before = time.monotonic() + timeout, Counter[tuple[str, str]]()
    while True:
        statuses = {name: watcher.status() for name, watcher in watchers.items()}
        announced, held = Counter[tuple[str, str]](), Counter[tuple[str, str]]()  # by sender and receiver
        interfaces = [(name, each) for name, status in statuses.items() for each in status.interfaces]
        for name, each in interfaces:
            announced[name, each.neighbour] += each.announced
            held[each.neighbour, name] += each.held
        own = statuses["b"].own_filters
        is_acknowledged = all(each.is_acknowledged for _, each in interfaces)
        if own == filters and announced == held == before and is_acknowledged:
            return announced["b", "a"]
        if time.monotonic() >= end:
            found = f"announced {announced} and held {held}"
            raise CbnetError(f"after {timeout:g} s {own:,} of {filters:,} filters, {found}")
        before = announced
        time.sleep(_POLL)
