"""Replay subscriptions of clients, which follow the history of their router.

A replay subscription is not durable: it ends with the connection. A client that reconnects resumes at the offset after
the last message that it received. The acknowledgements of a client only make room for further messages.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import count

from cbnet.errors import LimitError
from cbnet.network.announce.filter_counts import NO_LOAD, FilterLoad, filter_load, total_load
from cbnet.network.durable.histories.replays import Replays
from cbnet.network.durable.home_log.journal import Entry
from cbnet.network.durable.subscriptions.consumers import Consumer
from cbnet.network.link.context import RouterContext
from cbnet.network.link.link import Link
from cbnet.network.protocol.fields import MAX_REASON_LENGTH
from cbnet.network.protocol.frames import DurableLost, Replay
from cbnet.network.protocol.predicate_texts import filters_of

MAX_CLIENT_REPLAYS = 16  # of one connection
MAX_REPLAYS = 1_000  # of a router
MAX_REPLAY_BYTES = 1 << 20  # sent to one subscription and not acknowledged; a larger message is sent alone


class Follower:
    """A client's replay subscription, which reads the history."""

    def __init__(
        self, context: RouterContext, key: int, frame: Replay, link: Link, cursor: int, load: FilterLoad
    ) -> None:  # fmt: skip
        self.key = key
        self.payer = link.payer
        self._link = link
        self._outbox = context.outbox
        self._consumer = Consumer(link.id, frame.id, frame.window, 0.0, MAX_REPLAY_BYTES)
        self.predicate = frame.predicate
        self.load = load
        self.cursor = cursor
        self.is_reading = False

    @property
    def weight(self) -> int:
        """The share of the payer in the processor time of the router."""
        return self._link.processor_weight

    @property
    def room(self) -> int:
        """The number of messages to read now: 0 until half of the window is free."""
        free = self._consumer.window - len(self._consumer.held)
        return free if self._consumer.has_room and 2 * free >= self._consumer.window else 0

    def take(self, offset: int, entry: Entry) -> bool:
        """Send a message if the client has room; return whether it was sent."""
        if not self._consumer.has_room:
            return False
        self._consumer.add(offset, len(entry.content), 0.0)
        self._outbox.send(self._consumer.link, self._consumer.delivery(offset, entry, 1))
        return True

    def missed(self, text: str, messages: int) -> None:
        """Report that messages may be missing."""
        lost = DurableLost(self._consumer.id, messages, text[:MAX_REASON_LENGTH])
        self._outbox.send(self._consumer.link, lost)

    def advanced(self) -> None:
        """Do nothing: the client keeps its own position."""

    def reached_end(self, _: Iterable[tuple[int, Entry]]) -> None:
        """Do nothing: further messages are delivered once they are on disk."""

    def acknowledge(self, offsets: Iterable[int], up_to: int) -> None:
        """Make room by releasing messages that the client has received."""
        held = self._consumer.held
        for offset in {each for each in offsets if each in held}.union(each for each in held if each <= up_to):
            self._consumer.remove(offset)


class Followers:
    """The replay subscriptions of a router's clients, by link and id."""

    def __init__(self, context: RouterContext, replays: Replays) -> None:
        self._context = context
        self.replays, self.history = replays, replays.history
        self._all: dict[tuple[int, int], Follower] = {}
        self._keys = count(1)

    def subscribe(self, link: Link, frame: Replay) -> None:
        """Start a subscription, or replace the one with this id; raise an `InputError` if its start does not exist."""
        filters = filters_of(frame.predicate)
        start = self.history.locate(frame.start)
        self.detach(link.id, frame.id)
        of_client = sum(each == link.id for each, _ in self._all) + 1
        for what, found, limit in (
            ("subscriptions of a connection that begin in the past", of_client, MAX_CLIENT_REPLAYS),
            ("subscriptions of a router that begin in the past", len(self._all) + 1, MAX_REPLAYS),
        ):
            if found > limit:
                raise LimitError(what, found, limit)
        follower = Follower(self._context, next(self._keys), frame, link, start.offset, filter_load(filters))
        self._all[link.id, frame.id] = follower
        self._context.outbox.send(link.id, self.history.replaying(frame.id, start))
        if start.missing:
            follower.missed(start.missing, 0)
        self.replays.add(follower.key, follower, filters)
        self.replays.run(follower.key)

    def detach(self, link: int, id: int) -> bool:
        """End a subscription; return whether there was one."""
        follower = self._all.pop((link, id), None)
        return follower is not None and self.replays.remove(follower.key)

    def acknowledge(self, link: int, id: int, offsets: Iterable[int], up_to: int) -> None:
        """Resume a subscription whose client has acknowledged messages."""
        follower = self._all.get((link, id))
        if follower is not None:
            follower.acknowledge(offsets, up_to)
            self.replays.run(follower.key)

    @property
    def links(self) -> set[int]:
        """The clients that have subscriptions."""
        return {link for link, _ in self._all}

    def load(self, links: Collection[int]) -> FilterLoad:
        """Return the load of the replay subscriptions of these links."""
        return total_load(each.load for (link, _), each in self._all.items() if link in links)

    def load_of(self, link: int, id: int) -> FilterLoad:
        """Return the load of a subscription; zero if it does not exist."""
        return self._all[link, id].load if (link, id) in self._all else NO_LOAD

    def attached(self, link: int) -> list[tuple[int, str]]:
        """Return the id and predicate of each subscription of a client."""
        return [(id, each.predicate) for (of, id), each in self._all.items() if of == link]
