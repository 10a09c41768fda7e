"""Connection events of a client, and bounds on missed messages.

Every message has a source, the incarnation of that source, and a number that the source increments for each message,
whether the client subscribes to it or not. The first number after an interruption thus bounds how many messages of the
source the client can have missed. At other times, a gap in the numbers means nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from cbnet._kernels.delivery import Delivery

_PATIENCE: Final = 60.0  # seconds after an interruption in which the next message of a source is expected

Newest: TypeAlias = dict[tuple[str, int], int]  # source, incarnation -> highest number that was delivered


class EventKind(StrEnum):
    """The kind of a client event."""

    DISCONNECTED = "disconnected"  # the connection to a router was closed, or the router is silent
    CONNECTED = "connected"  # again, after an interruption in which nothing was delivered
    LOST = "lost"  # the router dropped messages because the client reads too slowly; or routers have failed
    MISSED = "missed"  # a bound on the messages of one source that were not delivered during an interruption
    WAITING = "waiting"  # the home of a durable subscription is away, and the client waits for it
    RESUMED = "resumed"  # that wait is over


class ClientEvent(NamedTuple):
    """An event of a client's connection."""

    kind: EventKind
    router: str  # of the client
    text: str
    messages: int | None = None  # lost, or missed at most; None: unknown
    seconds: float = 0.0  # of the interruption


EventHandler: TypeAlias = Callable[[ClientEvent], None]


class Interruption:
    """The sources whose messages a client may have missed, each until its next message bounds their number."""

    def __init__(self) -> None:
        self.missed = 0  # messages, at most
        self._newest: Newest = {}
        self._until = 0.0

    @property
    def is_open(self) -> bool:
        """Whether the next message of a source is awaited."""
        return bool(self._newest)

    def begin(self, newest: Newest, now: float) -> None:
        """Start with the highest number delivered from each source; of two interruptions, the first one counts."""
        self._newest = newest | self._newest
        self._until = now + _PATIENCE

    def check(self, batches: Mapping[int, Iterable[Delivery]], now: float) -> list[tuple[str, int]]:
        """Return the sources in `batches` that published other messages meanwhile, and how many."""
        if now > self._until:
            self._newest = {}
        found: dict[tuple[str, int], int] = {}
        for deliveries in batches.values():
            for delivery in deliveries:
                source, incarnation, number = delivery.id
                if (source, incarnation) in self._newest:
                    found[source, incarnation] = min(number, found.get((source, incarnation), number))
        gaps = [(key[0], number - self._newest.pop(key) - 1) for key, number in found.items()]
        self.missed += sum(max(0, count) for _, count in gaps)
        return [(source, count) for source, count in gaps if count > 0]
