"""Log of a home: each message once, at a position, with the set of subscriptions that it matches.

    appended ──► on disk ──► read by each subscription of its set ──► needed by none: freed
                  ▲                      ▲
                  │                      └ by its positions: from the tail in memory, or from the disk
                  └ one number: all positions below are on disk

Equal sets are stored once. The history of the router is one of the subscriptions. A subscription may be added to the
set of a message later: one that begins in the past gets messages of the history in this way.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count, repeat
from typing import TypeAlias

from cbnet.network.durable.home_log import journal
from cbnet.network.durable.home_log.cursor import Cursor
from cbnet.network.durable.home_log.journal_queue import OVERHEAD, JournalQueue
from cbnet.network.durable.home_log.log_rows import LogRows

_TAIL_BYTES = 1 << 22  # of the newest messages, which stay in memory
_UNUSED_SETS = 100  # sets without messages that stay, as further messages often have the same one

OnRead: TypeAlias = Callable[
    [Mapping[int, journal.Entry], float], None
]  # with the messages found, by position, and the time


class SubscriptionSets:
    """The sets of subscriptions that messages of one log match."""

    def __init__(self, queue: JournalQueue, saved: Mapping[int, tuple[int, ...]], uses: Iterable[int]) -> None:
        """Initialise with the state on disk; uses: the set of each message."""
        self._queue = queue
        self._members = dict(saved)
        self._ids = {members: id for id, members in saved.items()}
        self._uses = Counter(uses)
        self._unused = OrderedDict.fromkeys(id for id in saved if id not in self._uses)  # oldest first
        self._following = count(max(saved, default=0) + 1)

    def use(self, subscriptions: Iterable[int], messages: int = 1) -> int:
        """Return the set of some subscriptions, for further messages."""
        members = tuple(sorted(subscriptions))
        id = self._ids.get(members)
        if id is None:
            id = self._ids[members] = next(self._following)
            self._members[id] = members
            self._queue.add(journal.SaveSet(id, members))
        self._unused.pop(id, None)
        self._uses[id] += messages
        return id

    def members(self, id: int) -> tuple[int, ...]:
        """Return the subscriptions of a set."""
        return self._members[id]

    def release(self, ids: Iterable[int]) -> None:
        """Count that messages with these sets are gone; remove sets without messages, the oldest first."""
        self._uses.subtract(Counter(ids))
        for id in [id for id in {*ids} if not self._uses[id]]:
            del self._uses[id]
            self._unused[id] = None
        while len(self._unused) > _UNUSED_SETS:
            id, _ = self._unused.popitem(last=False)
            del self._ids[self._members.pop(id)]
            self._queue.add(journal.DropSet(id))


class Log:
    """The log of one home."""

    def __init__(self, queue: JournalQueue, state: journal.RecoveredState) -> None:
        self._queue = queue
        self._rows = LogRows(state.rows)
        self._sets = SubscriptionSets(queue, state.sets, state.rows.sets)
        self.cursors = {
            id: Cursor(self._rows, queue, saved, state.positions(id)) for id, saved in state.cursors.items()
        }  # by subscription
        above = (saved.stretches[-1].position for saved in state.cursors.values())
        self.next = max([1, *above, *(last + 1 for last in state.rows.positions[-1:])])
        self.on_disk = self.next  # positions below are on disk
        self._time = max(state.rows.times, default=0.0)  # of the last message
        self._tail: OrderedDict[int, journal.Entry] = (
            OrderedDict()
        )  # all messages that are not on disk, and the newest others
        self._tail_bytes = 0
        self._before: list[Callable[[], None]] = []
        self._appended: dict[int, None] = {}  # sets of the messages added in this turn
        self._reads: dict[int, OnRead] = {}
        self._read_ids = count(1)
        self._discard(*self._rows.free_all())

    # --- cursors

    def open(self, subscription: int, position: int) -> Cursor:
        """Add a subscription, whose first message is at this position or above."""
        saved = journal.SaveCursor(subscription, (journal.Stretch(position, 1, 0),))
        self._queue.add(saved)
        cursor = self.cursors[subscription] = Cursor(self._rows, self._queue, saved)
        return cursor

    def close(self, subscription: int) -> None:
        """Remove a subscription: it needs no messages any more."""
        self.cursors.pop(subscription).close()

    # --- adding

    def append(
        self, subscriptions: Sequence[int], source: str, incarnation: int, number: int, content: bytes
    ) -> journal.Entry:
        """Add a message for some subscriptions, which add it to their cursors."""
        self._begin()
        set_id = self._sets.use(subscriptions)
        entry = journal.Entry(self.next, set_id, self._time, source, incarnation, number, content)
        self._rows.add(self.next, set_id, len(content), self._time, len(subscriptions))
        self._add([entry])
        return entry

    def extend(
        self, kinds: Mapping[int, Sequence[int]], chosen: Sequence[int], source: str, incarnation: int, number: int,
        contents: Sequence[bytes],
    ) -> list[journal.Entry]:  # fmt: skip
        """Add messages with consecutive numbers; chosen: the kind of each; kinds: the subscriptions of each kind.

        The subscriptions add them to their cursors.
        """
        self._begin()
        uses = Counter(chosen)
        sets = {kind: self._sets.use(kinds[kind], count) for kind, count in uses.items()}
        set_ids = [*map(sets.__getitem__, chosen)]
        needs = {kind: len(kinds[kind]) for kind in uses}
        self._rows.extend(self.next, set_ids, [*map(len, contents)], self._time, [*map(needs.__getitem__, chosen)])
        fixed = repeat(self._time), repeat(source), repeat(incarnation)
        entries = [*map(journal.Entry, count(self.next), set_ids, *fixed, count(number), contents)]
        self._add(entries)
        return entries

    def _begin(self) -> None:
        before, self._before = self._before, []
        for call in before:
            call()
        self._time = max(self._time, self._queue.time())

    def _add(self, entries: Sequence[journal.Entry]) -> None:
        self.next += len(entries)
        self._queue.add(journal.Append(entries))
        self._appended.update(dict.fromkeys(entry.set_id for entry in entries))
        self._tail.update((entry.position, entry) for entry in entries)
        self._tail_bytes += sum(len(entry.content) for entry in entries) + OVERHEAD * len(entries)

    def before_append(self, call: Callable[[], None]) -> None:
        """Call a function once, before another message is added."""
        self._before.append(call)

    def assign(self, entry: journal.Entry, subscription: int) -> None:
        """Add a subscription to the set of a message, which another one still needs."""
        position = entry.position
        before = self._rows.set_of(position)
        after = self._sets.use((*self._sets.members(before), subscription))
        self._rows.assign(position, after)
        self._rows.need([position])
        self._sets.release([before])
        self._queue.add(journal.Assign(position, after))

    def finish_turn(self) -> list[int]:
        """Return the subscriptions for which messages were added in this turn."""
        if not self._appended:
            return []
        subscriptions = dict.fromkeys(id for set_id in self._appended for id in self._sets.members(set_id))
        self._appended.clear()
        self._trim_tail()
        return list(subscriptions)

    def free(self) -> None:
        """Remove messages that nobody needs any more; periodically, as many at once take less time."""
        self._trim_tail()
        self._discard(*self._rows.free())

    def _discard(self, spans: Iterable[tuple[int, int]], sets: Sequence[int]) -> None:
        for first, end in spans:
            self._queue.add(journal.Discard(first, end))
        if sets:
            self._sets.release(sets)

    # --- reading

    def newest(self, position: int) -> journal.Entry | None:
        """Return a message that is in memory, if it is."""
        return self._tail.get(position)

    def _trim_tail(self) -> None:
        while self._tail_bytes > _TAIL_BYTES and next(iter(self._tail)) < self.on_disk:
            _, oldest = self._tail.popitem(last=False)
            self._tail_bytes -= len(oldest.content) + OVERHEAD

    def read(self, positions: Sequence[int], call: OnRead, payer: str) -> None:
        """Read messages from the disk; what is damaged is not among those that the function is called with."""
        id = next(self._read_ids)
        self._reads[id] = call
        self._queue.add(journal.Read(id, positions, payer))

    def loaded(self, result: journal.ReadResult, now: float) -> None:
        """Pass messages that were read to who requested them."""
        self._reads.pop(result.id)({entry.position: entry for entry in result.entries}, now)
