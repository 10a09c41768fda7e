"""A simulated disk with the journal of a router, which outlives the router.

Operations take effect after a delay, those of one `submit` together. A crash loses operations that have not taken
effect. A disk may be slow, full, damaged, or *lie*: report operations as written that a crash before the next sync
loses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import chain
from typing import TYPE_CHECKING

from cbnet.network.durable.journal import (
    Append,
    Committed,
    Discard,
    DropHome,
    DropSubscription,
    DropWindow,
    Entry,
    JournalEvent,
    Operation,
    Read,
    ReadResult,
    RecoveredState,
    SaveHome,
    SaveLosses,
    SaveSubscription,
    SaveWindow,
    Stalled,
    StockItem,
    Write,
)

if TYPE_CHECKING:
    from cbnet.network.simulation.memory_network import MemoryNetwork

_RETRY = 1.0  # seconds before a write to a full disk is retried
_END = 1 << 40  # above all offsets


class DiskContent:
    """The content of a disk: the meaning of each operation, in plain Python."""

    def __init__(self, id: int) -> None:
        self.state = RecoveredState(id)
        self.entries: dict[int, dict[int, Entry]] = {}  # by subscription and offset

    def recover(self) -> RecoveredState:
        """Return a copy of the state, as a journal does at startup."""
        stock = {
            id: [StockItem(offset, len(entry.content), entry.time) for offset, entry in sorted(entries.items())]
            for id, entries in self.entries.items()
        }
        state = deepcopy(self.state)
        state.subscriptions.sort(key=lambda saved: saved.id)
        state.stock = stock
        return state

    def perform(self, operation: Write) -> None:
        """Perform an operation."""
        state = self.state
        match operation:
            case SaveSubscription(saved):
                state.subscriptions = [*(each for each in state.subscriptions if each.id != saved.id), saved]
                state.next_offsets.setdefault(saved.id, 1)
                state.losses.setdefault(saved.id, SaveLosses(saved.id))
                self.entries.setdefault(saved.id, {})
            case DropSubscription(id):
                state.subscriptions = [each for each in state.subscriptions if each.id != id]
                state.next_offsets.pop(id, None)
                state.losses.pop(id, None)
                self.entries.pop(id, None)
            case Append(entry):
                self.entries[entry.subscription][entry.offset] = entry
                state.next_offsets[entry.subscription] = entry.offset + 1
            case Discard(id, first, end):
                entries = self.entries.get(id, {})
                known = range(first, end) if end - first <= len(entries) else list(entries)
                for offset in known:
                    if first <= offset < end:
                        entries.pop(offset, None)
            case SaveLosses(id):
                if id in state.losses:
                    state.losses[id] = operation
            case SaveWindow(publisher):
                state.windows[publisher] = operation
            case DropWindow(publisher):
                state.windows.pop(publisher, None)
            case SaveHome(owner, record):
                state.homes[owner] = record
            case DropHome(owner):
                state.homes.pop(owner, None)

    def read(self, read: Read) -> ReadResult:
        """Return the requested messages."""
        chosen: list[Entry] = []
        size, end = 0, _END
        for offset, entry in sorted(self.entries.get(read.subscription, {}).items()):
            if offset >= read.first:
                chosen.append(entry)
                size += len(entry.content)
                if size >= read.max_bytes or len(chosen) == read.max_messages:
                    end = offset + 1
                    break
        return ReadResult(read.subscription, read.first, end, chosen)


class MemoryDisk:
    """The journal of one router of a network in memory."""

    def __init__(self, memory: MemoryNetwork, *, delay: float = 0.005, lies: bool = False) -> None:
        """Initialise; delay: of a transaction, in seconds. lies: a crash before `sync` loses what was written."""
        self._memory = memory
        self.delay = delay
        self.lies = lies
        self.is_full = False
        self.clock_offset = 0.0  # seconds
        self.transactions = 0
        self._written = DiskContent(memory.random.getrandbits(62))
        self._synced: DiskContent | None = None  # content at the last sync, if it lies and was written since
        self._queue: list[Sequence[Operation]] = []
        self._is_busy = False
        self._starts = 0  # operations submitted by an earlier router have no effect
        self._on_event: Callable[[JournalEvent], None] = lambda _: None

    # --- journal

    def start(self, on_event: Callable[[JournalEvent], None]) -> RecoveredState:
        """Return the recovered state."""
        self._on_event = on_event
        return self._written.recover()

    def submit(self, operations: Sequence[Operation]) -> None:
        """Queue operations for the next transaction."""
        self._queue.append(operations)
        if not self._is_busy:
            self._begin()

    def time(self) -> float:
        """Return the time of the simulation, by the wall clock of this host."""
        return self._memory.now + self.clock_offset

    def entries(self, subscription: int) -> list[Entry]:
        """Return the messages of a subscription on the disk, in the order of offsets."""
        return [entry for _, entry in sorted(self._written.entries.get(subscription, {}).items())]

    # --- faults

    def crash(self) -> None:
        """Lose everything that is not on disk: the router was killed."""
        self._starts += 1
        self._queue.clear()
        self._is_busy = False
        if self._synced is not None:
            self._written, self._synced = self._synced, None

    def damage(self, subscription: int, offset: int) -> None:
        """Make a message unreadable."""
        del self._written.entries[subscription][offset]

    def sync(self) -> None:
        """Sync a lying disk: everything reported as written is now safe."""
        self._synced = None

    # --- transactions

    def _begin(self) -> None:
        self._is_busy = True
        submits, self._queue = self._queue, []
        self._memory.after(self.delay, lambda start=self._starts: self._write(submits, start))  # type: ignore[misc]

    def _write(self, submits: list[Sequence[Operation]], start: int) -> None:
        if start != self._starts:
            return
        if self.is_full:
            self._on_event(Stalled("the disk is full"))
            self._memory.after(_RETRY, lambda: self._write(submits, start))
            return
        if self.lies and self._synced is None:
            self._synced = deepcopy(self._written)
        self.transactions += 1
        reads: list[Read] = []
        for operation in chain.from_iterable(submits):
            if isinstance(operation, Read):
                reads.append(operation)
            else:
                self._written.perform(operation)
        events: list[JournalEvent] = [Committed(len(submits)), *map(self._written.read, reads)]
        self._is_busy = False
        for event in events:
            self._on_event(event)
        if self._queue and not self._is_busy:
            self._begin()
