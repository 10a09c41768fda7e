"""A TCP connection that carries frames: batched writes, and a bounded send queue.

Frames sent in one iteration of the event loop are written together. When the peer does not read and the socket buffer
is full, frames go to the send queue; lossy ones are then dropped, oldest first, and counted.
"""

from __future__ import annotations

import asyncio
from typing import Protocol, cast

from cbnet.network.link.traffic import LinkTraffic
from cbnet.network.protocol.frames import (
    Answer,
    Close,
    Deliver,
    Frame,
    HolderRequest,
    NoItem,
    Packet,
    Ping,
    Pong,
    Publish,
    PullFrame,
    PullReply,
    ReplyFrame,
    Request,
    TraceReport,
)
from cbnet.network.protocol.wire import FrameReader, WireError, encode, encode_onto
from cbnet.network.security.tls import certificate_names
from cbnet.network.transport.send_queue import SendQueue

_LOSSY = frozenset({Packet, Deliver, TraceReport, Request, ReplyFrame, NoItem})
_COUNTED = frozenset(
    {Packet, Publish, Deliver, Request, ReplyFrame, PullFrame, Answer, HolderRequest, PullReply}
)  # frames with a message
_KEEPALIVES = frozenset({Ping, Pong})  # not needed while frames are queued: these show as well that this side is alive
_HIGH, _LOW = 1 << 18, 1 << 16  # bytes in the socket buffer: above _HIGH frames are queued, below _LOW sent again
_MAX_BATCH = 1 << 20  # bytes that are collected before the event-loop iteration ends
_LINGER = 2.0  # seconds to send the last frames
_CLOSED_SILENTLY = "the peer closed the connection without sending anything; it may require TLS"


class ConnectionOwner(Protocol):
    """The callbacks of a connection."""

    def opened(self, connection: Connection) -> None:
        """Handle a new connection."""

    def received(self, connection: Connection, frames: list[Frame]) -> None:
        """Handle frames."""

    def failed(self, connection: Connection, reason: str) -> None:
        """Handle bytes that are not a valid frame."""

    def closed(self, connection: Connection) -> None:
        """Handle the end of a connection."""

    def dropped(self, connection: Connection, count: int) -> None:
        """Handle frames dropped because the peer reads too slowly."""

    def overflowed(self, connection: Connection) -> None:
        """Handle an overfull send queue: the connection must be closed."""

    def relieved(self, connection: Connection) -> None:
        """Handle an empty send queue: the peer reads again."""


class Connection(asyncio.Protocol):
    """One end of a TCP connection."""

    def __init__(self, owner: ConnectionOwner, queue: SendQueue) -> None:
        self.traffic = LinkTraffic()
        self.queue = queue
        self.is_paused = False  # whether the peer does not read
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._reader = FrameReader()
        self._ready = bytearray()
        self._is_due = False  # whether a write is scheduled for the end of this iteration
        self._is_closing = False
        self._transport: asyncio.Transport
        self.names: frozenset[str] | None = None  # in the peer's certificate; None: no TLS
        self.error: Exception | None = None  # that ended it

    # --- asyncio callbacks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Initialise the transport."""
        self._transport = cast(asyncio.Transport, transport)
        self.names = certificate_names(transport)
        self._transport.set_write_buffer_limits(_HIGH, _LOW)
        self._owner.opened(self)

    def data_received(self, data: bytes) -> None:
        """Decode frames and pass them to the owner."""
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
            self.traffic.messages_received += sum(map(_COUNTED.__contains__, map(type, frames)))
            if frames or self._reader.skipped:
                self._owner.received(self, frames)

    def connection_lost(self, error: Exception | None) -> None:
        """Notify the owner, unless this side closed the connection."""
        self.error = error
        was_closing, self._is_closing = self._is_closing, True
        if not self.ended.done():
            self.ended.set_result(None)
        if not was_closing:
            self._owner.closed(self)

    def pause_writing(self) -> None:
        """Queue frames from now on."""
        self.is_paused = True

    def resume_writing(self) -> None:
        """Write the queued frames."""
        self.is_paused = False
        self._flush()  # older than the queued frames
        if self.queue.size:
            self._write(self.queue.take())
            self.traffic.waiting = 0
        if not self.is_paused:
            self._owner.relieved(self)

    # --- operations

    def send(self, frame: Frame) -> None:
        """Send a frame at the end of this event-loop iteration."""
        if type(frame) in _COUNTED:
            self.traffic.messages_sent += 1
        if self.is_paused:
            self._enqueue(frame)
        elif not self._is_closing:
            encode_onto(frame, self._ready)
            self._schedule()

    def send_bytes(self, data: bytes) -> None:
        """Send an encoded frame, which is never dropped."""
        if self.is_paused:
            self.queue.add(data, is_lossy=False)
        elif not self._is_closing:
            self._ready += data
            self._schedule()

    def close(self, reason: str) -> None:
        """Send a `Close` with a reason, then close the connection; `closed` is not called."""
        if self._is_closing:
            return
        encode_onto(Close(reason), self._ready)  # queued frames are discarded
        self._flush()
        self._is_closing = True
        self._transport.close()
        self._loop.call_later(_LINGER, self._transport.abort)

    def finish(self) -> None:
        """Close the connection when all queued frames have been sent; `closed` is not called."""
        self._flush()
        self._write(self.queue.take())
        self._is_closing = True
        self._transport.close()
        self._loop.call_later(_LINGER, self._transport.abort)

    @property
    def pending(self) -> int:
        """Bytes that were sent or queued and that the peer has not read, as far as is known here."""
        return len(self._ready) + self.queue.size + self.unsent

    def abort(self) -> None:
        """Close the connection at once, without a `Close` frame; `closed` is not called."""
        self._is_closing = True
        self._transport.abort()

    async def wait_closed(self, timeout: float) -> None:
        """Wait until a closing connection is closed; after `timeout` seconds, abort it."""
        await asyncio.wait([self.ended], timeout=timeout)
        if not self.ended.done():
            self._transport.abort()
            await asyncio.wait([self.ended], timeout=timeout)

    def pause_reading(self) -> None:
        """Stop reading until `resume_reading`."""
        if not self._is_closing and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read again."""
        if not self._is_closing and not self._transport.is_closing():
            self._transport.resume_reading()

    def take_skipped(self) -> int:
        """Return the number of packets skipped since the last call."""
        skipped, self._reader.skipped = self._reader.skipped, 0
        return skipped

    @property
    def has_nested(self) -> bool:
        """Whether nested messages were received."""
        return self._reader.has_nested

    @property
    def unsent(self) -> int:
        """Bytes in the write buffer."""
        return self._transport.get_write_buffer_size()

    @property
    def has_backlog(self) -> bool:
        """Whether much is to be written at the end of this iteration."""
        return len(self._ready) > _LOW

    @property
    def end_reason(self) -> str:
        """Why the connection ended."""
        if not self.traffic.received:
            return _CLOSED_SILENTLY
        return str(self.error or "connection closed")

    @property
    def peer_address(self) -> str:
        """The address of the peer."""
        host, port, *_ = self._transport.get_extra_info("peername") or ("?", 0)
        return f"{host}:{port}"

    def _schedule(self) -> None:
        if not self._is_due:
            self._is_due = True
            self._loop.call_soon(self._flush)
        elif len(self._ready) > _MAX_BATCH:
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
        except RuntimeError:  # dialling was cancelled at the moment it succeeded, without a callback
            self.connection_lost(None)

    def _enqueue(self, frame: Frame) -> None:
        if type(frame) in _KEEPALIVES:
            return
        dropped = self.queue.add(encode(frame), is_lossy=type(frame) in _LOSSY)
        self.traffic.waiting = self.queue.size
        if dropped:
            self.traffic.dropped += dropped
            self._owner.dropped(self, dropped)
        if self.queue.is_overfull:
            self._owner.overflowed(self)
