"""Publishers that a home knows: which of their messages it has stored or refused, bounded in time and number.

    new ──► known, from its first message that matches, saved with it ──► no message for `PUBLISHER_AGE`: forgotten

A message can be sent again for at most `MAX_SECONDS`, the longest timeout of a publisher, so a forgotten window is no
longer needed. While `MAX_PUBLISHERS` are known, messages of others are refused: forgetting a publisher earlier could
store a message twice. Time is measured by the router's own clock, independent of the wall clock; it starts again after
a restart, and when another router takes the home.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

import msgspec

from cbnet.network.durable.home_log.journal import DropWindow, SaveWindow
from cbnet.network.durable.home_log.journal_queue import JournalQueue
from cbnet.network.link.context import RouterContext
from cbnet.network.protocol.durable_frames import MAX_UNSETTLED
from cbnet.network.protocol.fields import MAX_SECONDS
from cbnet.network.protocol.frames import Refusals, StoredEntry

PUBLISHER_AGE: Final = 2 * MAX_SECONDS  # seconds for which a publisher is known after its last message
MAX_PUBLISHERS: Final = 200_000  # known at once
_MAX_FORGOTTEN: Final = 1_000  # at a time: less than a millisecond
_encode = msgspec.msgpack.Encoder().encode
_decoder = msgspec.msgpack.Decoder(dict[int, int])


class PublisherWindow:
    """The messages of one publisher that a home has stored, in bounded memory.

        floor 7    seen …0101       all below 7 are settled; 7 and 9 are stored, 8 is not

    A message that subscriptions of other accounts have refused is stored, also if all have: a copy of it has the same
    verdict, even after a restart, then without the names of these subscriptions.

    The publisher states the number below which it no longer waits for answers, and has at most `MAX_UNSETTLED` messages
    above it. A duplicate, through whatever router, is recognised as long as the publisher is known.
    """

    __slots__ = ("_refusals", "_seen", "floor", "publisher", "used")  # there may be very many

    def __init__(self, publisher: int, floor: int = 1, seen: int = 0) -> None:
        self.publisher = publisher
        self.floor = floor
        self._seen = seen  # bit n: message floor + n is stored
        self._refusals: dict[int, Refusals] | None = None  # by message, in order; None: there never were any
        self.used = 0.0  # time of the last message

    @classmethod
    def recovered(cls, saved: SaveWindow, now: float = 0.0) -> PublisherWindow:
        """Return a window that was saved in a journal."""
        window = cls(saved.publisher, saved.floor, int.from_bytes(saved.seen, "little"))
        window.used = now
        if saved.refusals:
            window._refusals = {
                number: Refusals(count, []) for number, count in _decoder.decode(saved.refusals).items()
            }
        return window

    def saved(self) -> SaveWindow:
        """Return the window as saved in a journal."""
        seen = self._seen.to_bytes((self._seen.bit_length() + 7) // 8, "little")
        refusals = {number: each.count for number, each in (self._refusals or {}).items()}
        return SaveWindow(self.publisher, self.floor, seen, _encode(refusals) if refusals else b"")

    def has(self, sequence: int) -> bool:
        """Return whether a message is stored, or settled in another way."""
        return sequence < self.floor or bool(self._seen >> (sequence - self.floor) & 1)

    def is_late(self, sequence: int) -> bool:
        """Return whether a later message is stored, so that this one can no longer be stored in order."""
        return not self.has(sequence) and sequence < self.top

    def fits(self, sequence: int) -> bool:
        """Return whether a message is not too far above the floor."""
        return sequence < self.floor + MAX_UNSETTLED

    def refusals(self, sequence: int) -> Refusals | None:
        """Return the refusals of a stored message, if there were any."""
        return None if self._refusals is None else self._refusals.get(sequence)

    @property
    def top(self) -> int:
        """The number after all messages that are stored or settled."""
        return self.floor + self._seen.bit_length()

    def add_run(self, sequence: int, messages: int) -> None:
        """Record that messages from a number on, which is not below the floor, are stored."""
        self._seen |= ((1 << messages) - 1) << (sequence - self.floor)

    def add(self, sequence: int, refusals: Refusals | None = None) -> None:
        """Record that a message is stored, except by subscriptions that refused it."""
        if sequence >= self.floor:
            self._seen |= 1 << (sequence - self.floor)
            if refusals is not None:
                self._refusals = {} if self._refusals is None else self._refusals
                self._refusals[sequence] = refusals

    def advance(self, floor: int) -> None:
        """Forget the messages below a floor; a floor lower than the current one changes nothing."""
        if floor > self.floor:
            self._seen >>= floor - self.floor
            self.floor = floor
            while self._refusals and (oldest := next(iter(self._refusals))) < floor:
                del self._refusals[oldest]


class PublisherWindows:
    """The windows of all publishers that one home knows."""

    def __init__(self, context: RouterContext, queue: JournalQueue, saved: Iterable[SaveWindow]) -> None:
        self._context = context
        self._queue = queue
        self._known = OrderedDict((each.publisher, PublisherWindow.recovered(each, context.now)) for each in saved)
        self._changed: dict[int, PublisherWindow] = {}  # in this turn

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, publisher: int) -> bool:
        return publisher in self._known

    def of(self, publisher: int) -> PublisherWindow:
        """Return the window of a publisher that has sent a message; if it is unknown, an empty one that is not kept."""
        window = self._known.get(publisher)
        if window is None:
            return PublisherWindow(publisher)
        window.used = self._context.now
        self._known.move_to_end(publisher)
        return window

    def refusal(self, publisher: int) -> str:
        """Return why no message of a publisher can be stored; empty if it can."""
        if publisher in self._known or len(self._known) < MAX_PUBLISHERS:
            return ""
        age = f"{PUBLISHER_AGE:,.0f} s"
        return f"too many publishers: {len(self._known):,} are known; each is forgotten {age} after its last message"

    def keep(self, window: PublisherWindow) -> None:
        """Add a publisher to the known ones; save its window at the end of this turn."""
        if window.publisher not in self._known:
            window.used = self._context.now
            self._known[window.publisher] = window
        self._changed[window.publisher] = window

    def settle(self) -> None:
        """Settle all messages up to the last one that each publisher has stored: none of them is confirmed again."""
        for window in self._known.values():
            if window.top > window.floor:
                window.advance(window.top)
                self._changed[window.publisher] = window
        self.finish_turn()

    def finish_turn(self) -> None:
        """Save the windows that were changed."""
        for window in self._changed.values():
            self._queue.add(window.saved())
        self._changed = {}

    def expire(self) -> None:
        """Forget publishers that have been inactive for `PUBLISHER_AGE`, some at a time."""
        for _ in range(_MAX_FORGOTTEN):
            oldest = next(iter(self._known.values()), None)
            if oldest is None or self._context.now - oldest.used < PUBLISHER_AGE:
                return
            del self._known[oldest.publisher]
            self._queue.add(DropWindow(oldest.publisher))


MAX_REFUSED: Final = 20_000  # about 300 bytes each


class RefusedMessages:
    """The messages of durable publishers that one home has refused: further copies of them are refused as well.

    The publisher has received the refusal, so a copy still in flight must not be stored when there is room again. Kept
    in memory, and bounded: beyond `MAX_REFUSED` the oldest are forgotten.
    """

    def __init__(self) -> None:
        self._answers: OrderedDict[tuple[int, int], StoredEntry] = OrderedDict()  # by publisher, number; oldest first
        self._numbers: dict[int, set[int]] = {}  # by publisher

    def __len__(self) -> int:
        return len(self._answers)

    def answer(self, publisher: int, number: int) -> StoredEntry | None:
        """Return the answer to a message that was refused; None if it was not."""
        return self._answers.get((publisher, number))

    def add(self, answer: StoredEntry) -> None:
        """Record that a message was refused, with the answer to its publisher."""
        self._answers[answer.incarnation, answer.number] = answer
        self._numbers.setdefault(answer.incarnation, set()).add(answer.number)
        if len(self._answers) > MAX_REFUSED:
            oldest, forgotten = next(iter(self._answers))
            self._forget(oldest, [forgotten])

    def advance(self, publisher: int, floor: int) -> None:
        """Forget the messages of a publisher below its floor: copies of them are not stored in any case."""
        numbers = self._numbers.get(publisher)
        if numbers is not None:
            self._forget(publisher, [number for number in numbers if number < floor])

    def __contains__(self, publisher: int) -> bool:
        return publisher in self._numbers

    def _forget(self, publisher: int, numbers: Iterable[int]) -> None:
        for number in numbers:
            del self._answers[publisher, number]
            self._numbers[publisher].discard(number)
        if not self._numbers[publisher]:
            del self._numbers[publisher]
