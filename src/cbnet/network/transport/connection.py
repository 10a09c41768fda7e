"""Connection: how do frames go over TCP? Many in one write, and no more wait than there is room for.

What is sent in one turn of the event loop is written at once. When the other side does not read, and the
socket is full, frames wait (`waiting`); those that may be lost are dropped then, oldest first, and counted.
"""

from __future__ import annotations

import asyncio
from typing import Protocol, cast

from cbnet.network.link.traffic import LinkTraffic
from cbnet.network.protocol.frames import (
    Answer,
    Ask,
    Asked,
    Close,
    Deliver,
    Frame,
    NoItem,
    Packet,
    Ping,
    Pong,
    Publish,
    Pull,
    Replied,
    Reply,
    Report,
    Request,
    Seen,
)
from cbnet.network.protocol.wire import FrameReader, WireError, encode, encode_onto
from cbnet.network.security.tls import certificate_names
from cbnet.network.transport.send_queue import SendQueue

_LOSSY = frozenset({Packet, Deliver, Seen, Ask, Report, Request, Reply, NoItem})
_MESSAGES = frozenset({Packet, Publish, Deliver, Request, Reply, Pull, Answer, Asked, Replied})  # what is counted
_NEEDLESS = frozenset({Ping, Pong})  # where something waits: that shows as well that this side is there
_HIGH, _LOW = 1 << 18, 1 << 16  # bytes in the socket's buffer, above which frames wait, and below which they go on
_AT_ONCE = 1 << 20  # bytes that are written before the turn of the event loop ends
_LINGER = 2.0  # seconds for the last frames to leave
_WITHOUT_A_WORD = "it hung up without a word; perhaps it speaks TLS only"


class ConnectionOwner(Protocol):
    """Who has an end of a connection."""

    def opened(self, connection: Connection) -> None:
        """Take a new connection."""

    def received(self, connection: Connection, frames: list[Frame]) -> None:
        """Take frames."""

    def failed(self, connection: Connection, reason: str) -> None:
        """Take note that bytes came that are no frame."""

    def closed(self, connection: Connection) -> None:
        """Take note that the connection is gone."""

    def dropped(self, connection: Connection, count: int) -> None:
        """Take note that frames were dropped because the other side reads too slowly."""

    def overflowed(self, connection: Connection) -> None:
        """Take note that more waits than may: the connection must be closed."""

    def relieved(self, connection: Connection) -> None:
        """Take note that the other side reads again, and nothing waits."""


class Connection(asyncio.Protocol):
    """One end of a TCP connection."""

    def __init__(self, owner: ConnectionOwner, waiting: SendQueue) -> None:
        self.traffic = LinkTraffic()
        self.waiting = waiting
        self.is_paused = False  # whether the other side does not read
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._reader = FrameReader()
        self._ready = bytearray()
        self._is_due = False  # whether a write comes at the end of this turn
        self._is_closing = False
        self._transport: asyncio.Transport
        self.names: frozenset[str] | None = None  # in the certificate of the other side; None: this is not TLS
        self.error: Exception | None = None  # by which it has ended

    # --- what happens to it

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast(asyncio.Transport, transport)
        self.names = certificate_names(transport)
        self._transport.set_write_buffer_limits(_HIGH, _LOW)
        self._owner.opened(self)

    def data_received(self, data: bytes) -> None:
        """Give the frames that have come to the owner."""
        if self._is_closing:
            return
        self.traffic.received += len(data)
        frames: list[Frame] = []
        try:
            for frame in self._reader.feed(data):
                frames.append(frame)
        except WireError as error:
            self._owner.received(self, frames)
            self._owner.failed(self, error.reason)
        else:
            self.traffic.messages_received += sum(map(_MESSAGES.__contains__, map(type, frames)))
            if frames or self._reader.skipped:
                self._owner.received(self, frames)

    def connection_lost(self, error: Exception | None) -> None:
        """End."""
        self.error = error
        was_closing, self._is_closing = self._is_closing, True
        if not self.ended.done():
            self.ended.set_result(None)
        if not was_closing:
            self._owner.closed(self)

    def pause_writing(self) -> None:
        """Let frames wait from now on."""
        self.is_paused = True

    def resume_writing(self) -> None:
        """Write what has waited."""
        self.is_paused = False
        self._flush()  # what is ready is older than what waits
        if self.waiting.size:
            self._write(self.waiting.take())
            self.traffic.waiting = 0
        if not self.is_paused:
            self._owner.relieved(self)

    # --- what it does

    def send(self, frame: Frame) -> None:
        """Send a frame, at the end of this turn of the event loop."""
        if type(frame) in _MESSAGES:
            self.traffic.messages_sent += 1
        if self.is_paused:
            self._wait(frame)
        elif not self._is_closing:
            encode_onto(frame, self._ready)
            self._schedule()

    def send_bytes(self, data: bytes) -> None:
        """Send a frame that is bytes already, and never dropped."""
        if self.is_paused:
            self.waiting.add(data, is_lossy=False)
        elif not self._is_closing:
            self._ready += data
            self._schedule()

    def close(self, reason: str) -> None:
        """Send a `Close` with a reason, then end the connection; `closed` is not called."""
        if self._is_closing:
            return
        encode_onto(Close(reason), self._ready)  # what waits is given up
        self._flush()
        self._is_closing = True
        self._transport.close()
        self._loop.call_later(_LINGER, self._transport.abort)

    def finish(self) -> None:
        """End the connection when all that was sent has left; `closed` is not called."""
        self._flush()
        self._write(self.waiting.take())
        self._is_closing = True
        self._transport.close()
        self._loop.call_later(_LINGER, self._transport.abort)

    @property
    def unread(self) -> int:
        """How many bytes of what was sent the other side has not taken, as far as is known here."""
        return len(self._ready) + self.waiting.size + self.unsent

    def abort(self) -> None:
        """End the connection at once, without a word; `closed` is not called."""
        self._is_closing = True
        self._transport.abort()

    async def gone(self, timeout: float) -> None:
        """Wait until a connection that was closed is gone; after so many seconds, end it without its last frames."""
        await asyncio.wait([self.ended], timeout=timeout)
        if not self.ended.done():
            self._transport.abort()
            await asyncio.wait([self.ended], timeout=timeout)

    def hold(self) -> None:
        """Read nothing for a while."""
        if not self._is_closing and not self._transport.is_closing():
            self._transport.pause_reading()

    def release(self) -> None:
        """Read again."""
        if not self._is_closing and not self._transport.is_closing():
            self._transport.resume_reading()

    def taken_skipped(self) -> int:
        """Return how many packets were skipped since this was last asked for."""
        skipped, self._reader.skipped = self._reader.skipped, 0
        return skipped

    @property
    def unsent(self) -> int:
        """How many bytes were written and the other side has not taken."""
        return self._transport.get_write_buffer_size()

    @property
    def is_loaded(self) -> bool:
        """Whether much is to be written at the end of this turn."""
        return len(self._ready) > _LOW

    @property
    def ending(self) -> str:
        """How it has ended, in words."""
        if not self.traffic.received:
            return _WITHOUT_A_WORD
        return str(self.error or "the connection has ended")

    @property
    def other_side(self) -> str:
        """The address of the other side."""
        host, port, *_ = self._transport.get_extra_info("peername") or ("?", 0)
        return f"{host}:{port}"

    def _schedule(self) -> None:
        if not self._is_due:
            self._is_due = True
            self._loop.call_soon(self._flush)
        elif len(self._ready) > _AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        self._is_due = False
        if self._ready:
            ready, self._ready = self._ready, bytearray()
            self._write(ready)

    def _write(self, data: bytes | bytearray) -> None:
        if self._is_closing or self._transport.is_closing():
            return
        self.traffic.sent += len(data)
        try:
            self._transport.write(data)
        except RuntimeError:  # dialling was given up when it had succeeded, and nobody was told
            self.connection_lost(None)

    def _wait(self, frame: Frame) -> None:
        if type(frame) in _NEEDLESS:
            return
        dropped = self.waiting.add(encode(frame), is_lossy=type(frame) in _LOSSY)
        self.traffic.waiting = self.waiting.size
        if dropped:
            self.traffic.dropped += dropped
            self._owner.dropped(self, dropped)
        if self.waiting.is_too_much:
            self._owner.overflowed(self)
