"""Replay of a history: each reader reads it at its own pace, and then follows its end.

    history   120 … 300 … 480 ─► 481 482
               ▲     ▲      ▲
               │     │      └── at the end: gets each message when it is on disk, from memory
               └─────┴───────── behind: reads slices of the log, one at a time

A reader receives the messages that match its predicate, in the order of offsets, each once: there is no gap or overlap
between stored and new messages. A reader without room stays at its cursor, and no message waits in memory for it.
Messages that are dropped from the history before it reads them are reported to it.

A slice that was read waits until its payer has processor time: `Router.replay` passes some of its messages. Only the
filters of its reader are searched for: nobody pays for those of others.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from msgspec.msgpack import Decoder
from msgspec.structs import replace

from cbnet.errors import UndecidedError
from cbnet.language.values import RESERVED_NAME
from cbnet.matching import LiveTable
from cbnet.matching.storage.filter_encoding import tests_from_bytes
from cbnet.network.durable.histories.history import History, is_note
from cbnet.network.durable.home_log.journal import Entry, SaveSubscription
from cbnet.network.durable.home_log.journal_queue import JournalQueue
from cbnet.network.durable.home_log.log import Log
from cbnet.network.durable.subscriptions.durable_subscription import DurableSubscription
from cbnet.network.forwarding.search_credit import UNDECIDED, FilterCredit
from cbnet.network.forwarding.timed_table import empty_table
from cbnet.network.link.context import RouterContext
from cbnet.network.link.counters import DropReason

if TYPE_CHECKING:
    from cbnet.network.durable.histories.followers import Follower

_MIN_SLICE, _MAX_SLICE, _SLICE_BYTES = 16, 256, 1 << 18  # messages and bytes read at once, for one reader
_MAX_READS = 8  # slices read at once: durable publishers wait for the same disk
_MAX_SLICES = 2  # of one payer, being read or passed to its readers: they wait in memory
_STEP = 16  # messages of a slice that are passed at once
_decode = Decoder(tuple[dict[str, Any], list[str], bytes]).decode


HistoryReader: TypeAlias = "Follower | HistoryScan"  # each reads the history at its own pace, from its `cursor` on


class _Slice(NamedTuple):
    """Messages of the history one after another."""

    end: int  # offset after the last one
    positions: dict[int, int]  # by offset, of those that are not dropped


class _ReadSlice(NamedTuple):
    """A slice that was read for a reader."""

    key: int
    reader: HistoryReader
    end: int  # offset after the last message
    entries: deque[tuple[int, Entry]]  # that are not passed yet


class Replays:
    """The readers of one router's history, by key: positive for clients, negative for durable subscriptions."""

    def __init__(self, context: RouterContext, history: History, log: Log) -> None:
        self._context = context
        self._credit = FilterCredit(context, lambda key: self._readers[key].payer)
        self.history = history
        self._log = log
        self._readers: dict[int, HistoryReader] = {}
        self._filters: dict[int, Collection[bytes]] = {}
        self._table: LiveTable[int] = LiveTable(empty_table())  # of all readers, for new messages
        self._tables: dict[int, LiveTable[int]] = {}  # of each reader, for those that it reads
        self._reads = 0  # slices that are being read
        self._slices = Counter[str]()  # that are being read or passed, by payer
        self._waiting: dict[int, None] = {}  # readers that wait to read a slice, in order
        self._read_slices: dict[str, deque[_ReadSlice]] = {}  # by payer
        history.on_written = self._written
        history.replays = lambda: len(self._readers)

    def __len__(self) -> int:
        return len(self._readers)

    def offer(self, key: int, reader: HistoryReader, offset: int, entry: Entry) -> bool:
        """Pass a message to a reader if its predicate matches; return whether the reader accepts more."""
        matching, undecided = self._matching(self._tables[key], entry)
        if key in undecided:
            self._undecided(reader)
        return key not in matching or reader.take(offset, entry)

    # --- changes

    def add(self, key: int, reader: HistoryReader, filters: Collection[bytes]) -> None:
        """Add a reader; `run` starts it."""
        self.remove(key)
        self._readers[key] = reader
        self._filters[key] = filters
        self._tables[key] = LiveTable(empty_table())
        for table in (self._table, self._tables[key]):
            table.add_tests(key, [*map(tests_from_bytes, filters)])

    def remove(self, key: int) -> bool:
        """Remove a reader; return whether there was one."""
        if self._readers.pop(key, None) is None:
            return False
        self._table.remove_tests(key, [*map(tests_from_bytes, self._filters.pop(key))])
        del self._tables[key]
        self._waiting.pop(key, None)
        return True

    # --- reading

    def run_all(self) -> None:
        """Resume all readers that have room."""
        for key in list(self._readers):
            self.run(key)

    def run(self, key: int) -> None:
        """Resume a reader, if it has room."""
        reader = self._readers.get(key)
        if reader is None or reader.is_reading:
            return
        first = self.history.cursor.first
        if reader.cursor < first:
            self._skip(reader, first)
            reader.advanced()
        if reader.cursor >= self.history.on_disk:
            reader.reached_end(self.history.unwritten)
        elif not self._may_read(reader):
            self._waiting[key] = None
        elif room := reader.room:
            reader.is_reading = True
            self._reads += 1
            self._slices[reader.payer] += 1
            slice = self._slice(reader.cursor, min(max(_MIN_SLICE, 2 * room), _MAX_SLICE))
            self._log.read([*slice.positions.values()], partial(self._read, key, reader, slice), reader.payer)

    def _slice(self, first: int, count: int) -> _Slice:
        """Return the messages on disk to read from an offset on."""
        cursor, size, end = self.history.cursor, 0, first
        positions: dict[int, int] = {}
        while end < min(first + count, self.history.on_disk) and size < _SLICE_BYTES:
            if end in cursor:
                positions[end] = cursor.position(end)
                size += cursor.size(end)
            end += 1
        return _Slice(end, positions)

    def _next_to_read(self) -> int | None:
        return next((key for key in self._waiting if self._may_read(self._readers[key])), None)

    def _may_read(self, reader: HistoryReader) -> bool:
        return self._reads < _MAX_READS and self._slices[reader.payer] < _MAX_SLICES

    def _read(self, key: int, reader: HistoryReader, slice: _Slice, found: Mapping[int, Entry], _: float) -> None:
        """Keep a slice of the log until its payer has processor time."""
        self._reads -= 1
        entries = deque((each, found[at]) for each, at in slice.positions.items() if at in found)
        self._read_slices.setdefault(reader.payer, deque()).append(_ReadSlice(key, reader, slice.end, entries))

    @property
    def payers(self) -> Mapping[str, int]:
        """The payers of readers for whom slices were read that are not passed yet, with their weights."""
        return {payer: slices[0].reader.weight for payer, slices in self._read_slices.items()}

    def advance(self, payer: str) -> None:
        """Pass some messages that were read for a payer, at most `_STEP`."""
        slices = self._read_slices[payer]
        key, reader, end, entries = slices[0]
        if self._readers.get(key) is reader:  # else it was removed meanwhile
            step = [entries.popleft() for _ in range(min(_STEP, len(entries)))]
            if not self._pass(key, reader, step):
                entries.clear()
            elif not entries:
                self._skip(reader, end)
            reader.advanced()
            if entries:
                return
            self._waiting[key] = None
        reader.is_reading = False
        slices.popleft()
        if not slices:
            del self._read_slices[payer]
        self._slices[payer] -= 1
        if not self._slices[payer]:
            del self._slices[payer]
        while (following := self._next_to_read()) is not None:
            del self._waiting[following]
            self.run(following)

    def _pass(self, key: int, reader: HistoryReader, entries: Iterable[tuple[int, Entry]]) -> bool:
        """Pass messages to a reader that is behind; return whether it has accepted all."""
        for offset, entry in entries:
            if offset not in self.history.cursor:
                continue  # it was dropped after it was requested
            self._skip(reader, offset)
            if is_note(entry):
                reader.missed(entry.source, entry.number)
            elif not self.offer(key, reader, offset, entry):
                return False
            reader.cursor = offset + 1
        return True

    def _skip(self, reader: HistoryReader, offset: int) -> None:
        """Move a reader to an offset; the messages skipped were dropped after they were requested, or are damaged."""
        dropped = min(offset, self.history.cursor.first) - reader.cursor
        if dropped > 0:
            reader.missed(_dropped(dropped), dropped)
            reader.cursor += dropped
        if reader.cursor < offset:
            damaged, reader.cursor = offset - reader.cursor, offset
            reader.missed(f"{damaged:,} messages of the history were damaged", damaged)

    def _written(self, entries: Sequence[tuple[int, Entry]]) -> None:
        """Pass messages that are on disk now to the readers at the end."""
        first, end = entries[0][0], entries[-1][0] + 1
        at_end = {
            key: reader for key, reader in self._readers.items() if reader.cursor >= first and not reader.is_reading
        }
        for offset, entry in entries if at_end else ():
            matching, undecided = ((), ()) if is_note(entry) else self._matching(self._table, entry)
            wanted = list(at_end) if is_note(entry) else [key for key in (*matching, *undecided) if key in at_end]
            for key in wanted:
                reader = at_end[key]
                if offset < reader.cursor:
                    continue
                if is_note(entry):
                    reader.missed(entry.source, entry.number)
                elif key in undecided:
                    self._undecided(reader)
                elif not reader.take(offset, entry):
                    reader.cursor = offset
                    reader.advanced()
                    del at_end[key]
        for reader in at_end.values():
            reader.cursor = max(reader.cursor, end)
            reader.advanced()

    def _undecided(self, reader: HistoryReader) -> None:
        self._context.drop(DropReason.UNDECIDED)
        reader.missed(UNDECIDED, 1)

    def _matching(self, table: LiveTable[int], entry: Entry) -> tuple[Sequence[int], Sequence[int]]:
        """Return the readers whose predicate a message matches, and those for which it is undecided."""
        members, tags, _ = _decode(entry.content)
        try:
            return table.match({**members, RESERVED_NAME: tags} if tags else members, self._credit.begin()), ()
        except UndecidedError as error:
            return error.rules, error.undecided


def _dropped(messages: int) -> str:
    return f"{messages:,} messages were dropped from the history before they were read"


_ROOM = 256  # messages; the limits of the subscription are checked for each


def scan_key(subscription: int) -> int:
    """Return the number of a durable subscription among the readers of the history."""
    return -subscription


class HistoryScan:
    """The search of a history for the messages of a durable subscription that begins in the past.

    The subscription is added to the sets of these messages, in the order of offsets; once the search reaches the end,
    it gets messages directly. The place of the search is saved in the same transaction, so it resumes after a restart
    without gaps or duplicates. While the subscription is full and refuses further messages, the search waits.
    """

    def __init__(
        self,
        subscription: DurableSubscription,
        context: RouterContext,
        queue: JournalQueue,
        replays: Replays,
        on_end: Callable[[DurableSubscription], None],
    ) -> None:
        """Initialise; on_end: called when the end is reached, in the turn in which the last message is added."""
        self._subscription = subscription
        self._context = context
        self._queue = queue
        self._replays = replays
        self._on_end = on_end
        self.key = scan_key(subscription.id)
        self.payer = subscription.saved.account or "durable subscriptions"
        self.weight = 1  # its clients may be away
        self.cursor = subscription.saved.start
        self.is_reading = False

    @property
    def room(self) -> int:
        """The number of messages to read now."""
        return 0 if self._subscription.refusal(1) else _ROOM

    def take(self, offset: int, entry: Entry) -> bool:
        """Add a message to the subscription, unless it is full and refuses it; return whether it was added."""
        if self._subscription.refusal(len(entry.content)):
            return False
        own = self._subscription.cursor
        if offset in self._replays.history.cursor and entry.position >= own.anchor(own.next):
            self._subscription.assign(entry)
        else:
            self.missed(_dropped(1), 1)  # the log may have no such message any more
        return True

    def missed(self, text: str, messages: int) -> None:
        """Count missing messages; the loss is saved together with the place of the search."""
        self._subscription.losses.add(messages, text)

    def advanced(self) -> None:
        """Save the place of the search."""
        saved = self._subscription.saved
        if saved.start and saved.start != self.cursor:
            self._save(self.cursor)

    def reached_end(self, unwritten: Iterable[tuple[int, Entry]]) -> None:
        """Add also the messages that are not on disk yet, and end: the subscription now receives messages directly."""
        for offset, entry in unwritten:
            if offset < self.cursor:
                continue
            if is_note(entry):
                self.missed(entry.source, entry.number)
            elif not self._replays.offer(self.key, self, offset, entry):
                self.cursor = offset
                self.advanced()
                return
            self.cursor = offset + 1
        self._replays.remove(self.key)
        self._save(0)
        self._on_end(self._subscription)

    def _save(self, start: int) -> None:
        subscription = self._subscription
        subscription.saved = replace(subscription.saved, start=start)
        self._queue.add(SaveSubscription(subscription.saved))
        self._queue.after(partial(self._assigned, subscription.cursor.next))

    def _assigned(self, end: int) -> None:
        """Deliver the messages that were added, which is on disk now."""
        self._subscription.assigned(end)
        self._subscription.deliver(self._context.now)
