"""A TCP connection that carries frames: reads into one buffer, batched writes, and a bounded queue.

All connections of a thread read into one buffer, whose bytes are handled before the next read; until the peer has
identified itself, little is read at once. Frames sent in one
iteration of the event loop are written together. When the peer does not read and the socket buffer is full, frames are
queued; lossy ones are then dropped, oldest first, and counted. Packets for a neighbour wait in separate queues, also
while it grants no credit for them (`link_output`).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol, cast

from cbnet._kernels.link_output import LinkOutput
from cbnet.network.protocol import frames
from cbnet.network.protocol.frames import Close, Frame, Packet, PacketRun, Ping
from cbnet.network.protocol.reasons import ReasonCode
from cbnet.network.protocol.wire import FrameReader, encode, encode_body
from cbnet.network.security.tls import certificate_names

if TYPE_CHECKING:
    from cbnet.network.link.link import Link

_COUNTED: frozenset[type[Frame]] = frozenset({  # frames with a message
    Packet, frames.Publish, frames.Deliver, frames.Request, frames.ReplyFrame, frames.PullFrame, frames.Answer,
    frames.HolderRequest, frames.PullReply, frames.DurablePublish, frames.DurableDeliver,
})  # fmt: skip
_KEEPALIVES = frozenset({Ping, frames.Pong})  # omitted while frames are queued, which also show that this side is alive
_HIGH, _LOW = 1 << 18, 1 << 16  # bytes in the socket buffer: above _HIGH frames are queued, below _LOW sent again
_READ_SIZE = 1 << 17  # bytes read at once
TLS_FACTOR = 2  # encrypted bytes are read at once for each byte; with 1, messages of 100 bytes take 7 % longer
_FIRST_READ_SIZE = 1 << 12  # bytes, until the peer's Hello has been read: more than it may have
_MAX_BATCH = 1 << 20  # bytes that are collected before the event-loop iteration ends
_LINGER = 2.0  # seconds to send the last frames
_CLOSED_SILENTLY = "the peer closed the connection without sending anything; it may require TLS"


class ConnectionOwner(Protocol):
    """The callbacks of a connection."""

    def opened(self, connection: Connection) -> None:
        """Handle a new connection."""

    def received(self, connection: Connection, data: memoryview) -> None:
        """Handle bytes, which are valid until this returns; `reader` decodes them."""

    def closed(self, connection: Connection) -> None:
        """Handle the end of a connection."""

    def congested(self, connection: Connection, dropped: int) -> None:
        """Handle frames that were queued because the peer does not read, and older ones that were dropped for them."""

    def relieved(self, connection: Connection) -> None:
        """Handle an empty queue: the peer reads again."""


class _ReadBuffer(threading.local):
    """The buffer that all connections of a thread read into."""

    def __init__(self) -> None:
        self.tls = memoryview(bytearray(TLS_FACTOR * _READ_SIZE))
        self.view = self.tls[:_READ_SIZE]


read_buffer = _ReadBuffer()


def break_cycle(transport: asyncio.BaseTransport) -> None:
    """Break the reference cycle of a closed transport of asyncio: 2 kB, until the next collection of all garbage."""
    if hasattr(transport, "_read_ready_cb"):
        transport._read_ready_cb = None


class Connection(asyncio.BufferedProtocol):
    """One end of a TCP connection."""

    link: Link  # in a router

    def __init__(self, owner: ConnectionOwner, output: LinkOutput) -> None:
        self.output = output
        self.traffic = output.traffic
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self.reader = FrameReader()
        self._input = read_buffer.view
        self._is_due = False  # whether a write is scheduled for the end of this iteration
        self.is_open = False  # since `opened`, until either side closes the connection
        self._transport: asyncio.Transport
        self.names: frozenset[str] | None = None  # in the peer's certificate; None: no TLS
        self.error: Exception | None = None  # that ended the connection

    # --- asyncio callbacks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Initialise the transport."""
        self._transport = cast(asyncio.Transport, transport)
        self.names = certificate_names(transport)
        self._transport.set_write_buffer_limits(_HIGH, _LOW)
        self.is_open = True
        self._owner.opened(self)

    def get_buffer(self, _: int) -> memoryview:
        """Return the buffer to read into."""
        return self._input[:_FIRST_READ_SIZE] if self.reader.is_first else self._input

    def buffer_updated(self, count: int) -> None:
        """Pass the bytes that were read to the owner."""
        if self.is_open:
            self.traffic.received += count
            self._owner.received(self, self._input[:count])

    def connection_lost(self, error: Exception | None) -> None:
        """Notify the owner, unless this side closed the connection."""
        self.error = None if error is None else error.with_traceback(None)  # whose frames refer to this object
        was_open, self.is_open = self.is_open, False
        if not self.ended.done():
            self.ended.set_result(None)
        if was_open:
            self._owner.closed(self)
        break_cycle(self._transport)

    def pause_writing(self) -> None:
        """Queue frames from now on."""
        self.output.pause()

    def resume_writing(self) -> None:
        """Write the queued frames."""
        self._write(self.output.resume())
        if not self.output.is_paused:
            self._owner.relieved(self)

    # --- operations

    def count_received(self, received: Iterable[Frame]) -> None:
        """Count the messages among frames that were received."""
        self.traffic.messages_received += sum(map(_COUNTED.__contains__, map(type, received)))
        self.traffic.messages_received += sum(len(each.contents) for each in received if isinstance(each, PacketRun))

    def send(self, frame: Frame) -> None:
        """Send a frame at the end of this event-loop iteration, or when there is credit for it."""
        if type(frame) in _COUNTED:
            self.traffic.messages_sent += 1
        if isinstance(frame, PacketRun):
            self.traffic.messages_sent += len(frame.contents)
        if isinstance(frame, Packet | PacketRun):
            self.output.add_packet(frame.hops, encode_body(frame))
            self.written()
            return
        if isinstance(frame, Ping) and frame.number and self.output.queued_packets:
            self.output.add_later(encode_body(frame))  # its answer confirms the packets before it
            frame = Ping(0)  # the answer shows that the peer is alive
        if not self.output.is_paused or type(frame) not in _KEEPALIVES:
            self.output.add_body(encode_body(frame, self.reader.version))
            self.written()

    def release(self) -> None:
        """Send queued packets that have credit."""
        self.output.release()
        self.written()

    def send_bytes(self, data: bytes) -> None:
        """Send encoded frames."""
        self.output.add(data)
        self.written()

    def written(self) -> None:
        """Handle frames that were added to the output."""
        dropped = self.output.take_dropped()
        if not self.output.is_paused:
            self._schedule()
        if dropped or self.output.is_paused or self.output.is_overfull:
            self._owner.congested(self, dropped)

    @property
    def queued(self) -> int:
        """Bytes of memory used by frames that are queued for a peer that does not read."""
        return self.output.allocated + self.unsent if self.output.is_paused else 0

    def limit_queue(self, size: int) -> None:
        """Queue at most `size` bytes for a peer that does not read: drop the oldest messages, or close the link."""
        self.output.limit(max(0, size - self.unsent))
        self.written()

    def close(self, reason: str, code: ReasonCode = ReasonCode.OTHER) -> None:
        """Send a `Close` with a reason, then close the connection; `closed` is not called."""
        if not self.is_open:
            return
        self._write(self.output.take() + encode(Close(reason, code), self.reader.version))  # without queued frames
        self._end()

    def finish(self) -> None:
        """Close the connection when all queued frames have been sent; `closed` is not called."""
        self._write(self.output.resume())
        self._end()

    def _end(self) -> None:
        self.is_open = False
        self._transport.close()
        lingering = self._loop.call_later(_LINGER, self._transport.abort)
        self.ended.add_done_callback(lambda _: lingering.cancel())  # which refers to the transport

    @property
    def pending(self) -> int:
        """Bytes sent or queued that the peer has not read, as far as this side knows."""
        return self.output.ready + self.traffic.waiting + self.unsent

    def abort(self) -> None:
        """Close the connection at once, without a `Close` frame; `closed` is not called."""
        self.is_open = False
        self._transport.abort()

    async def wait_closed(self, timeout: float) -> None:
        """Wait until a closing connection is closed; after `timeout` seconds, abort it."""
        await asyncio.wait([self.ended], timeout=timeout)
        if not self.ended.done():
            self._transport.abort()
            await asyncio.wait([self.ended], timeout=timeout)

    def pause_reading(self) -> None:
        """Stop reading until `resume_reading`."""
        if self.is_open and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Resume reading."""
        if self.is_open and not self._transport.is_closing():
            self._transport.resume_reading()

    @property
    def unsent(self) -> int:
        """Bytes in the write buffer."""
        return self._transport.get_write_buffer_size()

    @property
    def has_backlog(self) -> bool:
        """Whether a large amount will be written at the end of this iteration."""
        return self.output.ready > _LOW

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
        elif self.output.ready > _MAX_BATCH:
            self._flush()

    def _flush(self) -> None:
        self._is_due = False
        self._write(self.output.take())

    def _write(self, data: bytes) -> None:
        if not data or not self.is_open or self._transport.is_closing():
            return
        self.traffic.sent += len(data)
        try:
            self._transport.write(data)
        except RuntimeError:  # dialling was cancelled at the moment it succeeded, without a callback
            self.connection_lost(None)
