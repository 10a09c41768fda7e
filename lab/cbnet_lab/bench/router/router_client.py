"""A raw client of a router, which encodes all frames before it sends them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from cbnet.errors import CbnetError
from cbnet.network.protocol.frames import (
    Frame,
    Hello,
    Ping,
    Pong,
    Status,
    StatusRequest,
    Subscribe,
    Subscribed,
    Unsubscribe,
)
from cbnet.network.protocol.wire import VERSION, FrameReader, encode
from cbnet_lab.bench.router.raw_link import RawLink

_CONFIRM = 600.0  # timeout for all routers to confirm a subscription, in seconds
_READ = 1 << 16  # bytes


class RouterClient:
    """A client of one router; its operations block, except `received` and `send` after the greeting has ended."""

    def __init__(self, link: RawLink, name: str) -> None:
        """Greet the router, and wait until it accepts."""
        self.link, self.reader, self.filters = link, FrameReader(), 0
        self._space = memoryview(bytearray(_READ))
        link.begin_tls()
        hello = Hello(
            low=VERSION,
            high=VERSION,
            role="client",
            name=name,
            network="cbnet",
            incarnation=0,
            link=0,
            scheme="",
        )
        self._ask([hello, Ping(1)], Pong)

    def subscribe(self, filters: Sequence[str], per_subscription: int = 1) -> None:
        """Subscribe to filters, with ids from 1; return when all routers have confirmed the last ones."""
        firsts = range(0, len(filters), per_subscription)
        predicates = [" or ".join(filters[n : n + per_subscription]) for n in firsts]
        last = missing = len(predicates)
        frames = [Subscribe(id, each, _CONFIRM if id == last else 0.0) for id, each in enumerate(predicates, 1)]
        for answer in self._answers(frames):
            if not isinstance(answer, Subscribed) or (answer.id == last and not answer.is_confirmed):
                raise CbnetError(f"the router answered a subscription with {answer}")
            missing -= 1
            if not missing:
                break
        self.filters = len(filters)

    def unsubscribe(self, ids: Sequence[int]) -> None:
        """End subscriptions of one filter each, and wait until the router has handled all of them."""
        self._ask([*map(Unsubscribe, ids), Ping(1)], Pong)
        self.filters -= len(ids)

    def status(self) -> Status:
        """Return the status of the router."""
        answer = self._ask([StatusRequest(1)], Status)
        assert isinstance(answer, Status)
        return answer

    def _ask(self, frames: Iterable[Frame], kind: type[Frame]) -> Frame:
        return next(answer for answer in self._answers(frames) if isinstance(answer, kind))

    def _answers(self, frames: Iterable[Frame]) -> Iterator[Frame]:
        """Send frames; yield the router's frames for as long as the caller asks for more."""
        data = self.link.ask(b"".join(map(encode, frames)))
        while True:
            yield from [*self.reader.feed(data)]
            data = self.link.receive()

    def received(self) -> Iterator[Frame]:
        """Yield the frames that have arrived."""
        return self.reader.feed(bytes(self._space[: self.link.receive_into(self._space)]))

    def send(self, frame: Frame) -> None:
        """Send a frame."""
        self.link.send(memoryview(encode(frame)))
