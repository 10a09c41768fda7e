"""Connections of a load generator, with TLS or without, and a raw client of a router on one.

After the greeting a connection does not block, so one process can serve many of them. The client encodes all frames
before it sends them.
"""

from __future__ import annotations

import select
import socket
import ssl
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Self

from cbnet.errors import CbnetError
from cbnet.network.protocol.frames import (
    Close,
    Deliver,
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

_TIMEOUT = 3600.0  # timeout for the answer to a greeting or to many subscriptions, in seconds
_SEND_TIMEOUT = 20.0  # seconds
_DISCARD = 1 << 16
_CONFIRM = 600.0  # timeout for all routers to confirm a subscription, in seconds
_READ = 1 << 16  # bytes


class RawLink:
    """A connection to a server on this machine."""

    def __init__(self, port: int, authority: str | None = None, timeout: float = _TIMEOUT) -> None:
        """Connect; authority: file of the certificate to trust, if the server uses TLS. timeout: of the greeting."""
        self._context = None if authority is None else ssl.create_default_context(cafile=authority)
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._waste = memoryview(bytearray(_DISCARD))

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self.socket.fileno()

    @property
    def is_tls(self) -> bool:
        """Whether TLS has begun."""
        return isinstance(self.socket, ssl.SSLSocket)

    def begin_tls(self) -> None:
        """Begin TLS, if the server uses it."""
        if self._context is not None:
            self.socket = self._context.wrap_socket(self.socket, server_hostname="127.0.0.1")

    # --- greeting: blocking

    def ask(self, data: bytes, end: bytes = b"") -> bytes:
        """Send bytes; return the answer, received until it contains `end`."""
        self.socket.sendall(data)
        answer = b""
        while not answer or end not in answer:
            answer += self.receive()
        return answer

    def receive(self) -> bytes:
        """Wait for bytes."""
        data = self.socket.recv(_DISCARD)
        if not data:
            raise CbnetError("the server closed a connection during the greeting")
        return data

    def end_greeting(self) -> Self:
        """Stop blocking."""
        self.socket.setblocking(False)
        return self

    # --- load: non-blocking, except `send`

    def send(self, data: memoryview) -> None:
        """Send all bytes, waiting while the server does not read."""
        while data:
            try:
                data = data[self.socket.send(data) :]
            except (BlockingIOError, ssl.SSLWantWriteError):
                self._wait(select.POLLOUT)
            except ssl.SSLWantReadError:
                self._wait(select.POLLIN)

    def receive_into(self, space: memoryview) -> int:
        """Receive the available bytes, with TLS those of one record; return their number."""
        try:
            received = self.socket.recv_into(space)
        except (BlockingIOError, ssl.SSLWantReadError):
            return 0
        if not received:
            raise CbnetError("the server closed a connection")
        return received

    def discard(self) -> None:
        """Read and drop the available bytes, such as acknowledgements to a publisher."""
        while self.receive_into(self._waste):
            pass

    def close(self) -> None:
        """Close the connection."""
        self.socket.close()

    def _wait(self, event: int) -> None:
        poll = select.poll()
        poll.register(self.socket, event)
        if not poll.poll(_SEND_TIMEOUT * 1000):
            raise CbnetError(f"the server has read nothing for {_SEND_TIMEOUT:g} s")


class RouterClient:
    """A client of one router; its operations block, except `received` and `send` after the greeting has ended."""

    def __init__(self, link: RawLink, name: str, token: str = "") -> None:
        """Greet the router, and wait until it accepts."""
        self.link, self.reader, self.filters = link, FrameReader(), 0
        self._space = memoryview(bytearray(_READ))
        link.begin_tls()
        hello = Hello(
            low=VERSION, high=VERSION, role="client", name=name, network="cbnet", incarnation=0, link=0, scheme="",
            token=token,
        )  # fmt: skip
        self._ask([hello, Ping(1)], Pong)

    def subscribe(self, filters: Sequence[str], per_subscription: int = 1) -> None:
        """Subscribe to filters, with ids from 1; return when all routers have confirmed the last ones.

        Messages that arrive before are dropped.
        """
        firsts = range(0, len(filters), per_subscription)
        predicates = [" or ".join(filters[n : n + per_subscription]) for n in firsts]
        last = missing = len(predicates)
        frames = [Subscribe(id, each, _CONFIRM if id == last else 0.0) for id, each in enumerate(predicates, 1)]
        for answer in self._answers(frames):
            if isinstance(answer, Deliver):  # of an earlier subscription, or before all have confirmed
                continue
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
        """Send frames; yield the router's frames for as long as the caller asks for more. Answer its pings."""
        data = self.link.ask(b"".join(map(encode, frames)))
        while True:
            for frame in self.reader.feed(data):
                if isinstance(frame, Close):
                    raise CbnetError(f"the router closed a connection: {frame.reason}")
                if isinstance(frame, Ping):
                    self.send(Pong(frame.number))
                else:
                    yield frame
            data = self.link.receive()

    def received(self) -> Iterator[Frame]:
        """Yield the frames that have arrived."""
        return self.reader.feed(bytes(self._space[: self.link.receive_into(self._space)]))

    def send(self, frame: Frame) -> None:
        """Send a frame."""
        self.link.send(memoryview(encode(frame)))


class ClientAccess(NamedTuple):
    """What a client needs to link to a router on this machine."""

    port: int
    authority: str | None = None  # file of the certificate to trust; None: without TLS
    token: str = ""

    def connect(self, name: str, timeout: float = _TIMEOUT) -> RouterClient:
        """Return a new client of the router."""
        return RouterClient(RawLink(self.port, self.authority, timeout), name, self.token)
