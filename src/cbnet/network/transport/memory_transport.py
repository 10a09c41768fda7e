"""Connections between two protocols of one event loop, without sockets.

    one end writes ──► waiting bytes ──► the other end reads, once per iteration of the event loop

They behave like sockets: unread bytes wait, the writing protocol is paused above a high-water mark, and a closed end
delivers its waiting bytes first. A router serves a client in its own process with the same code as any other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias

PeerInfo: TypeAlias = Callable[[str], Any]  # `get_extra_info` of a transport


class MemoryTransport(asyncio.Transport):
    """One end of a connection in memory."""

    def __init__(self, protocol: asyncio.BufferedProtocol, info: PeerInfo) -> None:
        """Initialise with the protocol of this end; info: returns transport information about the other end."""
        super().__init__()
        self.peer: MemoryTransport
        self._protocol = protocol
        self._info = info
        self._loop = asyncio.get_running_loop()
        self._unread = bytearray()  # written here and not yet read by the other end
        self._high, self._low = 1 << 16, 1 << 14
        self._is_full = False  # whether the protocol was paused
        self._is_reading = True
        self._is_due = False  # whether a delivery is scheduled for the next iteration
        self._is_closing = False
        self._is_lost = False

    # --- writing

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        """Pass bytes to the other end in the next iteration of the event loop."""
        if self._is_closing:
            return
        self._unread += data
        self._schedule()
        if len(self._unread) > self._high and not self._is_full:
            self._is_full = True
            self._protocol.pause_writing()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Set the numbers of waiting bytes above which the protocol is paused, and up to which it is resumed."""
        self._high = 1 << 16 if high is None else high
        self._low = self._high // 4 if low is None else low

    def get_write_buffer_size(self) -> int:
        """Return the number of waiting bytes."""
        return len(self._unread)

    # --- reading

    def pause_reading(self) -> None:
        """Hold back bytes from the other end."""
        self._is_reading = False

    def resume_reading(self) -> None:
        """Resume reading."""
        self._is_reading = True
        if not self._is_lost:
            self.peer._schedule()

    def is_reading(self) -> bool:
        """Return whether this end reads."""
        return self._is_reading

    # --- closing

    def close(self) -> None:
        """Close the connection after the other end has read the waiting bytes."""
        if not self._is_closing:
            self._is_closing = True
            if not self._unread:
                self.abort()

    def abort(self) -> None:
        """Close the connection at once."""
        self._is_closing = True
        self._unread.clear()
        if not self._is_lost:
            for end in (self, self.peer):
                self._loop.call_soon(end._lose)

    def is_closing(self) -> bool:
        """Return whether the connection is closing or closed."""
        return self._is_closing

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return transport information about the other end."""
        found = self._info(name)
        return default if found is None else found

    # --- internals

    def _schedule(self) -> None:
        if self._unread and not self._is_due and self.peer._is_reading:
            self._is_due = True
            self._loop.call_soon(self._deliver)

    def _deliver(self) -> None:
        """Deliver as many bytes as fit into the other end's buffer."""
        self._is_due = False
        if not self._unread or self._is_lost or not self.peer._is_reading or self.peer._is_lost:
            return
        buffer = memoryview(self.peer._protocol.get_buffer(-1))
        count = min(len(self._unread), len(buffer))
        buffer[:count] = self._unread[:count]
        del self._unread[:count]
        self.peer._protocol.buffer_updated(count)
        self._schedule()
        if self._is_closing:
            if not self._unread:
                self.abort()
        elif self._is_full and len(self._unread) <= self._low:
            self._is_full = False
            self._protocol.resume_writing()

    def _lose(self) -> None:
        self._is_closing = True
        if not self._is_lost:
            self._is_lost = True
            self._protocol.connection_lost(None)
            del self._protocol, self.peer  # which refer to it


def connect_in_memory(client: asyncio.BufferedProtocol, server: asyncio.BufferedProtocol, info: PeerInfo) -> None:
    """Connect two protocols; info: returns the transport information that the server has about the client."""
    near, far = MemoryTransport(client, _nothing), MemoryTransport(server, info)
    near.peer, far.peer = far, near
    server.connection_made(far)
    client.connection_made(near)


def _nothing(_: str) -> None:
    return None
