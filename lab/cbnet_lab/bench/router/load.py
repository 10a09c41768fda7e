"""Cases of the router benchmark: clients, messages, and limits of messages in flight; and the progress of a run."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from cbnet.errors import InputError
from cbnet_lab.bench.result_table import HIDDEN
from cbnet_lab.bench.router.message_pool import MessagePool

_POOL_BYTES = 3 << 20  # of all distinct messages
_MAX_POOL = 20_000  # messages
_SUBSCRIBER_WINDOW = 8 << 20  # bytes in flight to one subscriber: half of what a router queues for a client
_WINDOW = 16 << 20  # bytes in flight to all subscribers
_MAX_WINDOW = 10_000  # messages
_OVERHEAD = 60  # bytes of a delivery besides its payload
_USUAL = 10_000  # maximum number of filters in cases with servers of their own


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
    publishers: int = 1  # they take turns
    batch: int = 500  # messages in a write; 1 if there are several publishers
    payload: int = 100  # bytes
    channel: str = field(default="UA", metadata=HIDDEN)  # airline or topic of the subscriptions
    seed: int = field(default=0, metadata=HIDDEN)

    def pool(self) -> MessagePool:
        """Return the messages: as many whole batches as fit."""
        count = max(self.batch, min(_MAX_POOL, _POOL_BYTES // self.payload) // self.batch * self.batch)
        return MessagePool(count, self.payload, self.channel, self.seed)

    @property
    def window(self) -> int:
        """Maximum number of messages in flight, so that no server queues or drops many."""
        room = min(_SUBSCRIBER_WINDOW, _WINDOW // self.subscribers) // (self.payload + _OVERHEAD)
        return max(2 * self.batch, min(_MAX_WINDOW, room))


@dataclass(frozen=True)
class Case:
    """A load on every server."""

    name: str
    text: str
    load: Load
    is_tls: bool = False
    is_transit: bool = False  # subscribers are at a second router
    has_probe: bool = False  # latency is measured alongside the load

    @property
    def has_own_servers(self) -> bool:
        """Whether it cannot use the servers of the other cases."""
        return self.is_tls or self.is_transit

    def filters(self, chosen: Sequence[int]) -> list[int]:
        """Return the numbers of filters to measure: with servers of its own, only the largest usual one."""
        if not self.has_own_servers:
            return list(chosen)
        return [max((count for count in chosen if count <= _USUAL), default=min(chosen))]


CASES: Final = {
    case.name: case
    for case in (
        Case("fanout-1", "1 subscriber, 500 messages in a write", Load()),
        Case("fanout-10", "10 subscribers, 100 messages in a write", Load(subscribers=10, batch=100)),
        Case("fanout-100", "100 subscribers, 20 messages in a write", Load(subscribers=100, batch=20)),
        Case("payload-10k", "10,000 bytes of payload, 20 messages in a write", Load(payload=10_000, batch=20)),
        Case("publishers-20", "20 publishers in turn, one message in a write", Load(publishers=20, batch=1)),
        Case("probe", "as fanout-1, with a message every 2 ms of another client", Load(), has_probe=True),
        Case("tls", "as fanout-1, with TLS", Load(), is_tls=True),
        Case("transit", "as fanout-1, with the subscriber at a second router", Load(), is_transit=True),
    )
}


def chosen_cases(names: Sequence[str]) -> list[Case]:
    """Return cases by name."""
    for name in names:
        if name not in CASES:
            raise InputError(f"unknown case {name!r}", hint=f"use some of {', '.join(CASES)}")
    return [CASES[name] for name in names]


class LoadProgress(ctypes.Structure):
    """Memory shared by the generators of a run.

    received: messages that every subscriber has received.
    total: messages of the run; -1 while they are being published.
    is_aborted: whether the run must end, because its result is wrong.
    """

    _fields_ = (("received", ctypes.c_int64), ("total", ctypes.c_int64), ("is_aborted", ctypes.c_bool))

    def reset(self) -> None:
        """Begin a run."""
        self.received, self.total, self.is_aborted = 0, -1, False
