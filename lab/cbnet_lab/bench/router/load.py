"""The load of one case: clients, messages, and limits of messages in flight."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cbnet_lab.bench.result_table import HIDDEN
from cbnet_lab.bench.router.message_pool import MessagePool

_POOL_BYTES = 3 << 20  # of all different messages
_MAX_POOL = 20_000  # messages
_SUBSCRIBER_WINDOW = 8 << 20  # bytes in flight to one subscriber: half of what a router queues for a client
_WINDOW = 16 << 20  # bytes in flight to all subscribers
_MAX_WINDOW = 10_000  # messages
_OVERHEAD = 60  # bytes of a delivery besides its payload
_ABORTED = 1 << 62


@dataclass(frozen=True)
class Target:
    """A server that clients connect to."""

    format: str  # a key of `wire_formats.FORMATS`
    port: int
    authority: str | None = None  # file of the certificate to trust; None: without TLS


@dataclass(frozen=True)
class Load:
    """Clients and messages."""

    subscribers: int = 1
    publishers: int = 1  # that take turns
    batch: int = 500  # messages in a write; 1 if there are several publishers
    payload: int = 100  # bytes
    channel: str = field(default="UA", metadata=HIDDEN)  # airline or topic that they subscribe to
    seed: int = field(default=0, metadata=HIDDEN)

    def pool(self) -> MessagePool:
        """Return the messages: as many as whole batches fit."""
        count = max(self.batch, min(_MAX_POOL, _POOL_BYTES // self.payload) // self.batch * self.batch)
        return MessagePool(count, self.payload, self.channel, self.seed)

    @property
    def window(self) -> int:
        """Maximum number of messages in flight, so that no server queues or drops many."""
        room = min(_SUBSCRIBER_WINDOW, _WINDOW // self.subscribers) // (self.payload + _OVERHEAD)
        return max(2 * self.batch, min(_MAX_WINDOW, room))


@dataclass(frozen=True)
class Until:
    """The end of a run: a number of messages, in whole batches, or seconds."""

    messages: int | None
    seconds: float


@dataclass(frozen=True)
class SentLoad:
    """Messages published in a run."""

    messages: int
    began: int  # ns of the monotonic clock
    problem: str | None = None  # why fewer were sent than ordered


@dataclass(frozen=True)
class Received:
    """Deliveries of a run."""

    deliveries: int
    ended: int  # ns of the monotonic clock, at the last one
    problem: str | None = None  # the first wrong delivery


class LoadProgress:
    """Memory shared by the generators of a run."""

    def __init__(self, shared: Any) -> None:
        """Use an array of two 64-bit numbers."""
        self._shared = shared

    def reset(self) -> None:
        """Begin a run."""
        self._shared[:] = (0, -1)

    @property
    def received(self) -> int:
        """Messages that every subscriber has received."""
        return int(self._shared[0])

    @received.setter
    def received(self, count: int) -> None:
        self._shared[0] = count

    def abort(self) -> None:
        """End the run: its result is wrong."""
        self.received = _ABORTED

    @property
    def is_aborted(self) -> bool:
        """Whether the run must end."""
        return self.received == _ABORTED

    @property
    def total(self) -> int | None:
        """Messages of the run; None while they are being published."""
        total = int(self._shared[1])
        return None if total < 0 else total

    @total.setter
    def total(self, count: int) -> None:
        self._shared[1] = count
