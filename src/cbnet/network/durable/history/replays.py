"""Replay of a history: each reader reads it at its own pace, and then follows its end.

    history   120 … 300 … 480 ─► 481 482
               ▲     ▲      ▲
               │     │      └── at the end: gets each message when it is on disk, from memory
               └─────┴───────── behind: reads slices from the journal, one at a time

A reader receives the messages that match its predicate, in the order of offsets, each once: there is no gap or overlap
between stored and new messages. A reader without room stays at its cursor, and no message waits in memory for it.
Messages that are dropped from the history before it reads them are reported to it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Protocol

from msgspec.msgpack import Decoder
from msgspec.structs import replace

from cbnet.errors import UndecidedError
from cbnet.language.values import RESERVED_NAME
from cbnet.matching import LiveTable
from cbnet.matching.storage.filter_encoding import tests_from_bytes
from cbnet.network.durable.durable_subscription import DurableSubscription
from cbnet.network.durable.history.history import History, is_note
from cbnet.network.durable.home import Home
from cbnet.network.durable.journal import HISTORY_ID, Entry, Read, ReadResult, SaveSubscription
from cbnet.network.durable.journal_queue import JournalQueue
from cbnet.network.forwarding.search_credit import UNDECIDED, FilterCredit
from cbnet.network.forwarding.timed_table import empty_table
from cbnet.network.link.context import RouterContext
from cbnet.network.link.counters import DropReason

_MIN_SLICE, _MAX_SLICE, _SLICE_BYTES = 16, 256, 1 << 18  # messages and bytes read at once, for one reader
_MAX_READS = 8  # slices read at once: durable publishers wait for the same disk
_decode = Decoder(tuple[dict[str, Any], list[str], bytes]).decode


class HistoryReader(Protocol):
    """A subscription that reads the history: a replay, or a durable one that begins in the past."""

    cursor: int  # the next offset
    is_reading: bool  # whether a slice was requested for it

    @property
    def payer(self) -> str:
        """Who pays for the search for its filters."""

    @property
    def room(self) -> int:
        """The maximum number of messages to read now."""

    def take(self, entry: Entry) -> bool:
        """Handle a message that matches; return False if there is no room for it."""

    def missed(self, text: str, messages: int, /) -> None:
        """Handle a gap at this point; messages: the maximum number of missing messages, 0 if unknown."""

    def advanced(self) -> None:
        """Handle a move of the cursor."""

    def reached_end(self, unwritten: Iterable[Entry], /) -> None:
        """Handle the end of the messages on disk; unwritten: those that are not on disk yet."""


class Replays:
    """The readers of one router's history, by key: positive for clients, negative for durable subscriptions."""

    def __init__(self, context: RouterContext, history: History, queue: JournalQueue) -> None:
        self._context = context
        self._credit = FilterCredit(context, lambda key: self._readers[key].payer)
        self.history = history
        self._queue = queue
        self._readers: dict[int, HistoryReader] = {}
        self._filters: dict[int, Collection[bytes]] = {}
        self._table: LiveTable[int] = LiveTable(empty_table())
        self._reading: deque[tuple[int, HistoryReader]] = deque()  # whose slices are being read, in order
        self._waiting: dict[int, None] = {}  # readers that wait to read a slice, in order
        history.on_written = self._written
        history.on_read = self._read
        history.replays = lambda: len(self._readers)

    def __len__(self) -> int:
        return len(self._readers)

    def offer(self, key: int, reader: HistoryReader, entry: Entry) -> bool:
        """Pass a message to a reader if its predicate matches; return whether the reader accepts more."""
        matching, undecided = self._matching(entry)
        if key in undecided:
            self._undecided(reader)
        return key not in matching or reader.take(entry)

    # --- changes

    def add(self, key: int, reader: HistoryReader, filters: Collection[bytes]) -> None:
        """Add a reader; `run` starts it."""
        self.remove(key)
        self._readers[key] = reader
        self._filters[key] = filters
        self._table.add_tests(key, [*map(tests_from_bytes, filters)])

    def remove(self, key: int) -> bool:
        """Remove a reader; return whether there was one."""
        if self._readers.pop(key, None) is None:
            return False
        self._table.remove_tests(key, [*map(tests_from_bytes, self._filters.pop(key))])
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
        first = self.history.backlog.first
        if reader.cursor < first:
            self._skip(reader, first)
            reader.advanced()
        if reader.cursor >= self.history.on_disk:
            reader.reached_end(self.history.unwritten)
        elif len(self._reading) >= _MAX_READS:
            self._waiting[key] = None
        elif room := reader.room:
            size = min(max(_MIN_SLICE, 2 * room), _MAX_SLICE)
            reader.is_reading = True
            self._reading.append((key, reader))
            self._queue.add(Read(HISTORY_ID, reader.cursor, size, _SLICE_BYTES))

    def _read(self, result: ReadResult) -> None:
        """Handle a slice of the journal; slices arrive in the order in which they were requested."""
        key, reader = self._reading.popleft()
        reader.is_reading = False
        if self._readers.get(key) is reader:  # else it was removed meanwhile
            end = min(result.end, self.history.on_disk)
            if self._pass(key, reader, [entry for entry in result.entries if entry.offset < end]):
                self._skip(reader, end)
            reader.advanced()
            self._waiting[key] = None
        while self._waiting and len(self._reading) < _MAX_READS:
            following = next(iter(self._waiting))
            del self._waiting[following]
            self.run(following)

    def _pass(self, key: int, reader: HistoryReader, entries: Iterable[Entry]) -> bool:
        """Pass messages to a reader that is behind; return whether it has accepted all."""
        for entry in entries:
            self._skip(reader, entry.offset)
            if is_note(entry):
                reader.missed(entry.source, entry.number)
            elif not self.offer(key, reader, entry):
                return False
            reader.cursor = entry.offset + 1
        return True

    def _skip(self, reader: HistoryReader, offset: int) -> None:
        """Move a reader to an offset; the messages skipped were dropped after they were requested, or are damaged."""
        dropped = min(offset, self.history.backlog.first) - reader.cursor
        if dropped > 0:
            reader.missed(f"{dropped:,} messages were dropped from the history before they were read", dropped)
            reader.cursor += dropped
        if reader.cursor < offset:
            damaged, reader.cursor = offset - reader.cursor, offset
            reader.missed(f"{damaged:,} messages of the history were damaged", damaged)

    def _written(self, entries: Sequence[Entry]) -> None:
        """Pass messages that are on disk now to the readers at the end."""
        first, end = entries[0].offset, entries[-1].offset + 1
        at_end = {
            key: reader for key, reader in self._readers.items() if reader.cursor >= first and not reader.is_reading
        }
        for entry in entries if at_end else ():
            matching, undecided = ((), ()) if is_note(entry) else self._matching(entry)
            wanted = list(at_end) if is_note(entry) else [key for key in (*matching, *undecided) if key in at_end]
            for key in wanted:
                reader = at_end[key]
                if entry.offset < reader.cursor:
                    continue
                if is_note(entry):
                    reader.missed(entry.source, entry.number)
                elif key in undecided:
                    self._undecided(reader)
                elif not reader.take(entry):
                    reader.cursor = entry.offset
                    reader.advanced()
                    del at_end[key]
        for reader in at_end.values():
            reader.cursor = max(reader.cursor, end)
            reader.advanced()

    def _undecided(self, reader: HistoryReader) -> None:
        self._context.drop(DropReason.UNDECIDED)
        reader.missed(UNDECIDED, 1)

    def _matching(self, entry: Entry) -> tuple[Sequence[int], Sequence[int]]:
        """Return the readers whose predicate a message matches, and those for which it is undecided."""
        members, tags, _ = _decode(entry.content)
        try:
            return self._table.match({**members, RESERVED_NAME: tags} if tags else members, self._credit.begin()), ()
        except UndecidedError as error:
            return error.rules, error.undecided


_ROOM = 256  # messages; the limits of the subscription are checked for each


def copy_key(subscription: int) -> int:
    """Return the number of a durable subscription among the readers of the history."""
    return -subscription


class HistoryCopy:
    """The copy of a history into a durable subscription that begins in the past, and then receives messages directly.

    The position of the copy is saved in the same transaction as the messages, so it resumes after a restart without
    gaps or duplicates. While the subscription is full and refuses further messages, the copy waits.
    """

    def __init__(
        self,
        subscription: DurableSubscription,
        home: Home,
        queue: JournalQueue,
        replays: Replays,
        on_end: Callable[[DurableSubscription], None],
    ) -> None:
        """Initialise; on_end: called when all messages are copied, in the turn in which the last one is."""
        self._subscription = subscription
        self._home = home
        self._queue = queue
        self._replays = replays
        self._on_end = on_end
        self.key = copy_key(subscription.id)
        self.payer = subscription.saved.account or "durable subscriptions"
        self.cursor = subscription.saved.start
        self.is_reading = False

    @property
    def room(self) -> int:
        """The number of messages to read now."""
        return 0 if self._subscription.refusal(1) else _ROOM

    def take(self, entry: Entry) -> bool:
        """Store a message, unless the subscription is full and refuses it; return whether it was stored."""
        if self._subscription.refusal(len(entry.content)):
            return False
        self._home.copy(self._subscription, entry)
        return True

    def missed(self, text: str, messages: int) -> None:
        """Count missing messages; the loss is saved together with the position of the copy."""
        self._subscription.losses.add(messages, text)

    def advanced(self) -> None:
        """Save the position of the copy."""
        saved = self._subscription.saved
        if saved.start and saved.start != self.cursor:
            self._save(self.cursor)

    def reached_end(self, unwritten: Iterable[Entry]) -> None:
        """Copy also the messages that are not on disk yet, and end: the subscription now receives messages directly."""
        for entry in unwritten:
            if entry.offset < self.cursor:
                continue
            if is_note(entry):
                self.missed(entry.source, entry.number)
            elif not self._replays.offer(self.key, self, entry):
                self.cursor = entry.offset
                self.advanced()
                return
            self.cursor = entry.offset + 1
        self._replays.remove(self.key)
        self._save(0)
        self._on_end(self._subscription)

    def _save(self, start: int) -> None:
        self._subscription.saved = replace(self._subscription.saved, start=start)
        self._queue.add(SaveSubscription(self._subscription.saved))
