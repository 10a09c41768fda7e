"""Consumers of a durable subscription: the clients that share it, and the messages that each has not acknowledged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cbnet.network.durable.home_log.journal import Entry
from cbnet.network.protocol.frames import DurableDeliver

MAX_CONSUMER_BYTES = 1 << 22  # sent to one consumer and not acknowledged; a larger message is sent alone


@dataclass(eq=False)
class Consumer:
    """A client that receives the messages of a durable subscription."""

    link: int
    id: int  # of its subscription
    window: int
    ack_wait: float
    max_bytes: int = MAX_CONSUMER_BYTES
    reported: int = 0  # number of the newest loss reported to it
    bytes: int = 0
    held: dict[int, tuple[int, float]] = field(default_factory=dict)  # offset -> size, deadline; oldest first

    @property
    def has_room(self) -> bool:
        """Whether another message may be sent."""
        return len(self.held) < self.window and self.bytes < self.max_bytes

    def add(self, offset: int, size: int, now: float) -> None:
        """Record that a message was sent."""
        self.held[offset] = size, now + self.ack_wait
        self.bytes += size

    def remove(self, offset: int) -> None:
        """Record that a message was acknowledged, or that its acknowledgement is no longer awaited."""
        size, _ = self.held.pop(offset)
        self.bytes -= size

    def delivery(self, offset: int, entry: Entry, deliveries: int) -> DurableDeliver:
        """Return the frame of a message; deliveries: how often it was sent, with this one."""
        return DurableDeliver(
            id=self.id,
            offset=offset,
            deliveries=deliveries,
            source=entry.source,
            incarnation=entry.incarnation,
            number=entry.number,
            content=entry.content,
        )

    def overdue(self, now: float) -> list[int]:
        """Return the messages that were not acknowledged in time, oldest first."""
        late: list[int] = []
        for offset, (_, deadline) in self.held.items():
            if deadline > now:
                break
            late.append(offset)
        return late


class Consumers:
    """The consumers of one durable subscription, which take turns."""

    def __init__(self) -> None:
        self._all: dict[tuple[int, int], Consumer] = {}  # by link and id; the next one in turn is first
        self._holders: dict[int, Consumer] = {}  # by offset

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Consumer]:
        return iter(list(self._all.values()))

    def get(self, link: int, id: int) -> Consumer | None:
        """Return a consumer."""
        return self._all.get((link, id))

    def set(self, consumer: Consumer) -> list[int]:
        """Add a consumer, or replace it; return the messages that the replaced one held."""
        released = self.remove(consumer.link, consumer.id)
        self._all[consumer.link, consumer.id] = consumer
        return released

    def remove(self, link: int, id: int) -> list[int]:
        """Remove a consumer; return the messages that it held."""
        removed = self._all.pop((link, id), None)
        if removed is None:
            return []
        for offset in removed.held:
            del self._holders[offset]
        return list(removed.held)

    @property
    def room(self) -> int:
        """The number of messages that the consumers have room for."""
        return sum(each.window - len(each.held) for each in self._all.values() if each.has_room)

    def next(self) -> Consumer | None:
        """Return the next consumer in turn that has room."""
        return next((consumer for consumer in self._all.values() if consumer.has_room), None)

    def sent(self, consumer: Consumer, offset: int, size: int, now: float) -> None:
        """Record that a message was sent to a consumer, whose turn is over."""
        key = consumer.link, consumer.id
        del self._all[key]
        self._all[key] = consumer
        consumer.add(offset, size, now)
        self._holders[offset] = consumer

    def release(self, offset: int) -> None:
        """Record that no consumer holds a message any more."""
        holder = self._holders.pop(offset, None)
        if holder is not None:
            holder.remove(offset)

    def holds(self, offset: int) -> bool:
        """Return whether a consumer holds a message."""
        return offset in self._holders

    def overdue(self, now: float) -> list[int]:
        """Release the messages that were not acknowledged in time, and return them."""
        late = [offset for consumer in self._all.values() for offset in consumer.overdue(now)]
        for offset in late:
            self.release(offset)
        return late

    @property
    def held(self) -> int:
        """The number of messages that consumers hold."""
        return len(self._holders)
