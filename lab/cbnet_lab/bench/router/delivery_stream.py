"""The deliveries that one subscriber receives, checked byte by byte.

Bytes are gathered in a buffer and checked in large pieces, without decoding single messages:

    ┌──────┬───────────────┐
    │ head │ content       │   frames of one shape and length form the rows of a matrix; their heads must be equal,
    │ head │ content       │   their stamps must be consecutive, and their contents must be those of the pool
    └──────┴───────────────┘
"""

from __future__ import annotations

import numpy as np

from cbnet.errors import CbnetError
from cbnet_lab.bench.router.message_pool import STAMP_BYTES, Bytes2D, MessagePool
from cbnet_lab.bench.router.raw_link import RawLink
from cbnet_lab.bench.router.wire_formats import WireFormat

_BUFFER = 1 << 17  # bytes, or several frames
_MIN_PIECE = 1 << 15  # bytes that are checked at once while more arrive
_MAX_HEAD = 1 << 10  # bytes
_STAMP = np.dtype(">u8")


class DeliveryStream:
    """The deliveries to one subscriber."""

    def __init__(self, link: RawLink, format: WireFormat, pool: MessagePool, publishers: int) -> None:
        """Check deliveries from a link; publishers: number of publishers that take turns."""
        self.link = link
        self._format = format
        self._pool, self._stamp = pool.contents, pool.stamp
        self._next = np.arange(publishers)  # stamp of the next message of each publisher
        self._bytes = bytearray(max(_BUFFER, 8 * self._pool.shape[1]))
        self._view = memoryview(self._bytes)
        self._array = np.frombuffer(self._bytes, np.uint8)
        self._filled = 0
        self._content = int(self._pool.shape[1])  # bytes
        self._frame = self._content  # bytes of the last frame
        self._checked = 0

    @property
    def count(self) -> int:
        """Number of deliveries received; an estimate for those not checked yet."""
        return self._checked + self._filled // self._frame

    def receive(self) -> int:
        """Receive the available bytes; return their number."""
        total = 0
        while received := self.link.receive_into(self._view[self._filled :]):
            total += received
            self._filled += received
            if self._filled >= _MIN_PIECE:
                self.check()
            if not self.link.is_tls:  # the selector reports the rest; TLS may buffer it
                break
        return total

    def check(self) -> None:
        """Check all whole frames received."""
        start = 0
        while start < self._filled:
            piece = bytes(self._view[start : min(self._filled, start + self._content + _MAX_HEAD)])
            shape = self._format.shape(piece, self._content)
            if shape is None:
                break
            rows = self._array[start : self._filled]
            rows = rows[: len(rows) // shape.length * shape.length].reshape(-1, shape.length)
            rows = rows[: _equal_rows(rows[:, : shape.head])]
            if shape.content is not None:
                self._check_contents(rows[:, shape.content : shape.content + self._content])
                self._frame = shape.length
            start += rows.size
        self._view[: self._filled - start] = self._bytes[start : self._filled]
        self._filled -= start

    def _check_contents(self, contents: Bytes2D) -> None:
        stamps = np.ascontiguousarray(contents[:, self._stamp]).view(_STAMP).ravel().astype(np.int64)
        self._check_order(stamps)
        index, size = 0, len(self._pool)
        if len(self._next) == 1:  # consecutive
            while index < len(stamps):
                first = int(stamps[index]) % size
                count = min(size - first, len(stamps) - index)
                self._compare(contents[index : index + count], self._pool[first : first + count])
                index += count
        else:
            self._compare(contents, self._pool[stamps % size])
        self._checked += len(stamps)

    def _check_order(self, stamps: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
        publishers = len(self._next)
        for publisher in range(publishers):
            own = stamps[stamps % publishers == publisher] if publishers > 1 else stamps
            expected = self._next[publisher] + publishers * np.arange(len(own))
            if not np.array_equal(own, expected):
                at = int(np.argmax(own != expected))
                raise CbnetError(f"message {own[at]:,} arrived where {expected[at]:,} was expected")
            self._next[publisher] += publishers * len(own)

    def _compare(self, contents: Bytes2D, expected: Bytes2D) -> None:
        start, stop = self._stamp.start, self._stamp.stop
        for part in (slice(0, start), slice(stop, None)):
            if not np.array_equal(contents[:, part], expected[:, part]):
                raise CbnetError("the content of a message differs from the published one")


def _equal_rows(heads: Bytes2D) -> int:
    """Return the number of rows, from the first, that equal the first one."""
    differs = (heads != heads[0]).any(axis=1)
    first = int(differs.argmax())
    return first if differs[first] else len(heads)


assert _STAMP.itemsize == STAMP_BYTES
