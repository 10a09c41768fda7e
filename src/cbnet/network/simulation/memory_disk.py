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

from cbnet.network.durable.home_log import journal
from cbnet.network.durable.home_log.cursor import spans
from cbnet.network.durable.home_log.journal import JournalStatistics

if TYPE_CHECKING:
    from cbnet.network.simulation.memory_network import MemoryNetwork

_RETRY = 1.0  # seconds before a write to a full disk is retried


class DiskContent:
    """The content of a disk: the meaning of each operation, in plain Python."""

    def __init__(self, id: int) -> None:
        self.state = journal.RecoveredState(id)
        self.entries: dict[int, journal.Entry] = {}  # by position, in that order
        self.damaged: set[int] = set()  # positions

    def recover(self) -> journal.RecoveredState:
        """Return a copy of the state, as a journal does at startup."""
        state = deepcopy(self.state)
        state.subscriptions.sort(key=lambda saved: saved.id)
        state.rows = journal.RecoveredRows()
        for entry in self.entries.values():
            state.rows.add(entry.position, entry.set_id, len(entry.content), entry.time)
        return state

    def unacknowledged(self, subscription: int) -> dict[int, journal.Entry]:
        """Return the messages that a subscription has not acknowledged, by offset."""
        state = self.recover()
        if subscription not in state.cursors:
            return {}
        positions = state.positions(subscription)
        return {
            stretch.offset + index - start: self.entries[positions[index]]
            for stretch, start, end in spans(state.cursors[subscription], positions)
            for index in range(start, end)
        }

    def perform(self, operation: journal.Write) -> None:
        """Perform an operation."""
        state = self.state
        match operation:
            case journal.SaveSubscription(saved):
                state.subscriptions = [*(each for each in state.subscriptions if each.id != saved.id), saved]
                state.losses.setdefault(saved.id, journal.SaveLosses(saved.id))
            case journal.DropSubscription(id):
                state.subscriptions = [each for each in state.subscriptions if each.id != id]
                state.cursors.pop(id, None)
                state.losses.pop(id, None)
            case journal.SaveCursor(id):
                state.cursors[id] = operation
            case journal.SaveSet(id, members):
                state.sets[id] = members
            case journal.DropSet(id):
                state.sets.pop(id, None)
            case journal.Append(entries):
                self.entries.update((entry.position, entry) for entry in entries)
            case journal.Assign(position, set_id):
                self.entries[position] = self.entries[position]._replace(set_id=set_id)
            case journal.Discard(first, end):
                known = range(first, end) if end - first <= len(self.entries) else list(self.entries)
                for position in known:
                    if first <= position < end:
                        self.entries.pop(position, None)
            case journal.SaveLosses(id):
                if id in state.losses:
                    state.losses[id] = operation
            case journal.SaveWindow(publisher):
                state.windows[publisher] = operation
            case journal.DropWindow(publisher):
                state.windows.pop(publisher, None)
            case journal.SaveHome(owner, record):
                state.homes[owner] = record
            case journal.DropHome(owner):
                state.homes.pop(owner, None)

    def read(self, read: journal.Read) -> journal.ReadResult:
        """Return the requested messages."""
        present = [each for each in read.positions if each in self.entries and each not in self.damaged]
        return journal.ReadResult(read.id, [self.entries[each] for each in present])


class MemoryDisk:
    """The journal of one router of a network in memory."""

    def __init__(self, memory: MemoryNetwork, *, delay: float = 0.005, lies: bool = False) -> None:
        """Initialise; delay: of a transaction, in seconds. lies: a crash before `sync` loses what was written."""
        self._memory = memory
        self.delay = delay
        self.lies = lies
        self.is_full = False  # and its reserve is used up
        self.is_short = False  # full, with a reserve
        self._is_shortage_known = False
        self.clock_offset = 0.0  # seconds
        self.transactions = 0
        self.statistics = JournalStatistics()
        self.backups: dict[str, DiskContent] = {}  # by name
        self._written = DiskContent(memory.random.getrandbits(62))
        self._synced: DiskContent | None = None  # content at the last sync, if it lies and was written since
        self._queue: list[Sequence[journal.Operation]] = []
        self._is_busy = False
        self._starts = 0  # operations submitted by an earlier router have no effect
        self._on_event: Callable[[journal.JournalEvent], None] = lambda _: None

    # --- journal

    def start(self, on_event: Callable[[journal.JournalEvent], None]) -> journal.OpenJournal:
        """Open the journal; from then on call a function with every event, never within `submit`."""
        self._on_event = on_event
        return journal.OpenJournal(self, self._written.recover())

    def submit(self, operations: Sequence[journal.Operation]) -> None:
        """Queue operations for the next transaction."""
        self._queue.append(operations)
        if not self._is_busy:
            self._begin()

    def back_up(self, id: int, name: str) -> None:
        """Copy the content of the disk to `backups`, once what was submitted so far is written."""

        def copy() -> None:
            if self._is_busy:
                self._memory.after(self.delay, copy)
            else:
                self.backups[name] = deepcopy(self._written)
                self._on_event(journal.BackedUp(id, name, 0))

        self._memory.after(self.delay, copy)

    is_held = True

    def release(self) -> None:
        """Do nothing: no other router can use the disk."""

    def time(self) -> float:
        """Return the time of the simulation, by the wall clock of this host."""
        return self._memory.now + self.clock_offset

    def entries(self, subscription: int) -> dict[int, journal.Entry]:
        """Return the messages on the disk that a subscription has not acknowledged, by offset."""
        return self._written.unacknowledged(subscription)

    # --- faults

    def crash(self) -> None:
        """Lose everything that is not on disk: the router was killed."""
        self._starts += 1
        self._queue.clear()
        self._is_busy = False
        if self._synced is not None:
            self._written, self._synced = self._synced, None

    def copy(self) -> DiskContent:
        """Return a copy of the content, with the same id."""
        return deepcopy(self._written)

    def replace(self, content: DiskContent | None = None) -> None:
        """Replace the disk, while no router runs there, by one with some content, or by an empty one."""
        self._written = content or DiskContent(self._memory.random.getrandbits(62))
        self._synced = None

    def damage(self, subscription: int, offset: int) -> None:
        """Make a message unreadable."""
        self._written.damaged.add(self.entries(subscription)[offset].position)

    def sync(self) -> None:
        """Sync a lying disk: everything reported as written is now safe."""
        self._synced = None

    # --- transactions

    def _begin(self) -> None:
        self._is_busy = True
        submits, self._queue = self._queue, []
        self._memory.after(self.delay, lambda start=self._starts: self._write(submits, start))  # type: ignore[misc]

    def _write(self, submits: list[Sequence[journal.Operation]], start: int) -> None:
        if start != self._starts:
            return
        if self.is_full:
            self._on_event(journal.Stalled("the disk is full"))
            self._memory.after(_RETRY, lambda: self._write(submits, start))
            return
        if self.lies and self._synced is None:
            self._synced = deepcopy(self._written)
        self.transactions += 1
        self.statistics.committed(self.delay)
        reads: list[journal.Read] = []
        for operation in chain.from_iterable(submits):
            if isinstance(operation, journal.Read):
                reads.append(operation)
            else:
                self._written.perform(operation)
        events: list[journal.JournalEvent] = [journal.Committed(len(submits)), *map(self._written.read, reads)]
        if self.is_short != self._is_shortage_known:
            self._is_shortage_known = self.is_short
            events.append(journal.Shortage("the disk is full" if self.is_short else ""))
        self._is_busy = False
        for event in events:
            self._on_event(event)
        if self._queue and not self._is_busy:
            self._begin()
