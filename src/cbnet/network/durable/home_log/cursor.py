"""Cursor of a subscription in the log of its home: which messages it has not acknowledged, by offset.

    offset       7    8    9   10   11      the floor is 7, the lowest offset that is not acknowledged
    position    40  −41   43  −44  −47      those below 0 are acknowledged: gaps 8 and 10 to 11; the next offset is 12

Offsets are 1, 2, 3 … in each subscription. Saved are only stretches between gaps, each with the position and the offset
where it begins: offsets are counted from there over the messages of which the subscription is in the set. A gap is no
longer than what was sent and acknowledged since an older message, so there are few of them.

A message takes eight bytes of memory here, until those before it are acknowledged, too.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from math import inf

from cbnet.network.durable.home_log.journal import SaveCursor, Stretch
from cbnet.network.durable.home_log.journal_queue import JournalQueue
from cbnet.network.durable.home_log.log_rows import LogRows
from cbnet.network.protocol.durable_frames import DurableLimits
from cbnet.network.security.rights import ALL_RIGHTS, Rights


class AccountUse:
    """What the durable subscriptions of one account keep at a home, and its quotas.

    A message counts once for each subscription that keeps it. Each of them compares the quotas before it keeps one, so
    they can be exceeded by as many messages as there are subscriptions that match one.
    """

    __slots__ = ("account", "bytes", "former_seconds", "messages", "rights", "saved_seconds", "since", "subscriptions")

    def __init__(self, account: str = "", rights: Rights = ALL_RIGHTS) -> None:
        """Initialise; rights: of the account, with its quotas."""
        self.account = account
        self.rights = rights
        self.subscriptions = 0
        self.messages = 0
        self.bytes = 0  # of their contents
        self.former_seconds = 0.0  # for which the account has not existed
        self.saved_seconds = 0.0  # of these, on disk
        self.since: float | None = None  # time up to which they are counted; None: the account exists, as far as known

    def add(self, messages: int, size: int) -> None:
        """Count further messages, or, below 0, messages that are gone; size: of their contents."""
        self.messages += messages
        self.bytes += size

    def has_room(self, messages: int, size: int) -> bool:
        """Return whether further messages fit the quotas; size: of their contents."""
        rights = self.rights
        fits = rights.durable_messages is None or self.messages + messages <= rights.durable_messages
        return fits and (rights.durable_bytes is None or self.bytes + size <= rights.durable_bytes)

    @property
    def refusal(self) -> str:
        """The reason to refuse a message for which there is no room."""
        return f"{self.cause} are used up: {self.messages:,} messages, {self.bytes:,} bytes"

    @property
    def cause(self) -> str:
        """The cause of losses; always the same text, so that losses are merged."""
        of = f" of account {self.account!r}" if self.account else ""
        return f"the quotas{of} for durable subscriptions"


_TRIM = 4_096  # acknowledged offsets at the beginning, beyond which the array is compacted


def spans(cursor: SaveCursor, positions: Sequence[int]) -> Iterator[tuple[Stretch, int, int]]:
    """Yield each stretch of a cursor, and where its messages begin and end among those of the subscription."""
    for stretch in cursor.stretches:
        start = bisect_left(positions, stretch.position)
        yield stretch, start, start + stretch.messages if stretch.messages else len(positions)


class Cursor:
    """The messages of one subscription that are not acknowledged."""

    def __init__(self, rows: LogRows, queue: JournalQueue, saved: SaveCursor, positions: Sequence[int] = ()) -> None:
        """Initialise with the state on disk; positions: those of its messages, with acknowledged ones."""
        self._rows = rows
        self._queue = queue
        self._id = saved.subscription
        floor = saved.stretches[0]
        self._base = floor.offset  # offset of the first element of the array
        self._anchor = floor.position  # position at which the messages from there on begin
        self._start = 0  # elements before are acknowledged
        self._positions = array("q")  # below 0: acknowledged
        self._gaps = array("q")  # offsets at which a gap begins, or ends, in turn: those acknowledged beyond the floor
        self._is_closed = False
        self.messages = self.bytes = 0
        self.use = AccountUse()
        for stretch, start, end in spans(saved, positions):
            acknowledged = stretch.offset - self.next
            if acknowledged:
                self._gaps.extend((self.next, stretch.offset))
                self._positions.extend([1 - stretch.position] * acknowledged)
            self._positions.extend(positions[start:end])
            self.messages += end - start
            self.bytes += rows.need(positions[start:end])

    def charge(self, use: AccountUse) -> None:
        """Count the messages toward the quotas of an account."""
        self.use = use
        use.add(self.messages, self.bytes)

    # --- lookup

    @property
    def next(self) -> int:
        """The offset of the next message."""
        return self._base + len(self._positions)

    @property
    def first(self) -> int:
        """The floor: the lowest offset that is not acknowledged; the next one if all are."""
        return self._base + self._start

    def __contains__(self, offset: int) -> bool:
        index = offset - self._base
        return self._start <= index < len(self._positions) and self._positions[index] > 0

    def __iter__(self) -> Iterator[int]:
        return (offset for offset in range(self.first, self.next) if offset in self)

    def position(self, offset: int) -> int:
        """Return the position of a message that is not acknowledged."""
        return self._positions[offset - self._base]

    def time(self, offset: int) -> float:
        """Return the time of a message that is not acknowledged."""
        return self._rows.time(self.position(offset))

    def size(self, offset: int) -> int:
        """Return the size of the content of a message that is not acknowledged."""
        return self._rows.size(self.position(offset))

    def since(self, time: float) -> int:
        """Return the first offset with this time or a later one."""
        return self.first + bisect_left(range(self.first, self.next), time, key=self._time_from)

    def _time_from(self, offset: int) -> float:
        """Return the time of the first message from an offset on that is not acknowledged."""
        following = next((each for each in range(offset, self.next) if each in self), None)
        return inf if following is None else self.time(following)

    def anchor(self, offset: int) -> int:
        """Return a position at which the messages from an offset on begin: behind the one before."""
        index = offset - self._base
        return abs(self._positions[index - 1]) + 1 if index else self._anchor

    def fits(self, limits: DurableLimits, messages: int, size: int) -> bool:
        """Return whether further messages fit the limits; size: of their contents."""
        fits = not limits.messages or self.messages + messages <= limits.messages
        return fits and (not limits.bytes or self.bytes + size <= limits.bytes)

    def has_room(self, limits: DurableLimits, messages: int, size: int) -> bool:
        """Return whether further messages fit the limits, and the quotas of the account."""
        return self.fits(limits, messages, size) and self.use.has_room(messages, size)

    # --- changes

    def append(self, position: int, size: int) -> int:
        """Add a message that was added to the log for this subscription; return its offset."""
        self._positions.append(position)
        self._count(1, size)
        return self.next - 1

    def extend(self, positions: Sequence[int], size: int) -> None:
        """Add messages that were added to the log for this subscription; size: of their contents."""
        self._positions.extend(positions)
        self._count(len(positions), size)

    def _count(self, messages: int, size: int) -> None:
        self.messages += messages
        self.bytes += size
        self.use.add(messages, size)

    def remove(self, offset: int) -> bool:
        """Remove a message, which is acknowledged or lost; return whether it was there."""
        if offset not in self:
            return False
        index = offset - self._base
        position = self._positions[index]
        self._positions[index] = -position
        self._count(-1, -self._rows.release(position))
        if index == self._start:
            self._advance(offset + 1)
        else:
            self._widen(offset)
        self._queue.before_submit(self._save)
        return True

    def surplus(self, limits: DurableLimits, size: int) -> Iterator[int]:
        """Yield the oldest message, which the caller removes, until another one fits the limits."""
        while self.messages and not self.has_room(limits, 1, size):
            yield self.first

    def outdated(self, age: float, now: float) -> Iterator[int]:
        """Yield the oldest message, which the caller removes, while it is too old by the wall clock; age: 0: any."""
        while age and self.messages and self.time(self.first) < now - age:
            yield self.first

    def close(self) -> None:
        """Remove all messages; the subscription ends."""
        self._is_closed = True
        self.clear()

    def clear(self) -> None:
        """Remove all messages."""
        for position in self._positions[self._start :]:
            if position > 0:
                self._rows.release(position)
        self._count(-self.messages, -self.bytes)
        self._start = len(self._positions)
        del self._gaps[:]
        self._queue.before_submit(self._save)

    def _advance(self, floor: int) -> None:
        """Move the floor, over the first gap if it begins there."""
        if self._gaps and self._gaps[0] == floor:
            floor = self._gaps[1]
            del self._gaps[:2]
        self._start = start = floor - self._base
        if start > _TRIM and start > len(self._positions) // 2:
            self._anchor = self.anchor(floor)
            del self._positions[:start]
            self._base, self._start = floor, 0

    def _widen(self, offset: int) -> None:
        """Add an offset to the gaps."""
        gaps = self._gaps
        at = bisect_right(gaps, offset)  # even: between two gaps
        if at and gaps[at - 1] == offset:  # it follows a gap
            gaps[at - 1] = offset + 1
            if at < len(gaps) and gaps[at] == offset + 1:
                del gaps[at - 1 : at + 1]
        elif at < len(gaps) and gaps[at] == offset + 1:
            gaps[at] = offset
        else:
            gaps[at:at] = array("q", (offset, offset + 1))

    # --- saving

    def saved(self) -> SaveCursor:
        """Return the cursor as saved in a journal."""
        if not self._gaps:
            return SaveCursor(self._id, (Stretch(self.anchor(self.first), self.first, 0),))
        begins = [self.first, *self._gaps[1::2]]
        messages = [end - begin for begin, end in zip(begins, self._gaps[::2], strict=False)]
        stretches = zip(map(self.anchor, begins), begins, [*messages, 0], strict=True)
        return SaveCursor(self._id, tuple(Stretch(*each) for each in stretches))

    def _save(self) -> None:
        if not self._is_closed:
            self._queue.add(self.saved())
