"""Thread that writes the journal of a router, so that the event loop never waits for the disk.

While one transaction is being synced, operations accumulate; the next transaction contains all of them. A slow disk
thus makes transactions larger, not the router slower. Messages are read after the transaction, so that an unreadable
message does not block writes: while others wait for the next transaction, for as long as the last one took, and for
`_READING` at least. Accounts take turns (`ReadQueue`): one with a thousand subscriptions delays neither the receipts
nor the messages of others by more than some milliseconds. Then, and for as long as there is nothing else to do, the
thread releases free space of the file, in steps of a few milliseconds.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Final, NamedTuple

from cbnet.errors import InputError
from cbnet.network.durable.home_log import journal
from cbnet.network.logs import log
from cbnet.network.transport.journals.journal_backup import Backup
from cbnet.network.transport.journals.journal_store import FencedError, JournalStore

_RETRY: Final = 1.0  # seconds before a failed transaction is retried
_CLOSE: Final = 10.0  # timeout for the last transaction, in seconds
_MEASUREMENT: Final = 10.0  # seconds between measurements of a journal that nobody uses
_MAX_OPERATIONS: Final = 20_000  # of one transaction
_READING: Final = 0.01  # seconds for reads between two transactions, at least; 256 messages take some milliseconds


class _Order(NamedTuple):
    """A backup that was ordered."""

    id: int
    name: str


class _EndedError(Exception):
    """The journal is closed."""


class ReadQueue:
    """The reads that wait: payers take turns, so that those of one wait for one of each other payer at most.

    payer a     read 1  read 2  read 3            next: 1, 4, 2, 5, 3
    payer b     read 4  read 5
    """

    def __init__(self) -> None:
        self._reads: dict[str, deque[journal.Read]] = {}  # by payer; the next one in turn is first

    def __bool__(self) -> bool:
        return bool(self._reads)

    def add(self, read: journal.Read) -> None:
        """Add a read."""
        self._reads.setdefault(read.payer, deque()).append(read)

    def take(self) -> journal.Read:
        """Remove and return the next read; there must be one."""
        payer = next(iter(self._reads))
        reads = self._reads.pop(payer)
        read = reads.popleft()
        if reads:
            self._reads[payer] = reads
        return read


class JournalThread:
    """A journal whose events are delivered in an event loop."""

    def __init__(self, store: JournalStore) -> None:
        self._store = store
        self._queue: queue.SimpleQueue[Sequence[journal.Operation] | _Order | None] = queue.SimpleQueue()
        self._ending = threading.Event()
        self._reads = ReadQueue()
        self._committing = 0.0  # seconds for the last transaction
        self._unreadable = ""  # why messages cannot be read; empty if they can
        self._shortage = ""  # that was reported
        self._orders: list[_Order] = []  # of backups
        self._is_backing_up = False
        self._is_ended = False
        self._is_over = False  # the store may serve another tenure
        self.statistics = journal.JournalStatistics()
        self._measured = float("-inf")  # time of the last measurement
        self._thread = threading.Thread(target=self.run, name="cbnet-journal", daemon=True)
        self._loop: asyncio.AbstractEventLoop
        self._on_event: Callable[[journal.JournalEvent], None]

    def start(self, on_event: Callable[[journal.JournalEvent], None]) -> journal.OpenJournal:
        """Open the journal, and start the thread; events are delivered in the running event loop."""
        try:
            opened = journal.OpenJournal(self, self.recover(on_event, asyncio.get_running_loop()))
        except BaseException:
            self._store.close()
            raise
        self._thread.start()
        return opened

    def recover(
        self, on_event: Callable[[journal.JournalEvent], None], loop: asyncio.AbstractEventLoop
    ) -> journal.RecoveredState:  # fmt: skip
        """Return the recovered state; then `run` delivers events in an event loop."""
        self._on_event, self._loop = on_event, loop
        return self._store.recover()

    def submit(self, operations: Sequence[journal.Operation]) -> None:
        """Queue operations for the next transaction."""
        self._queue.put(operations)

    def back_up(self, id: int, name: str) -> None:
        """Back up what was submitted so far."""
        self._queue.put(_Order(id, name))

    def time(self) -> float:
        """Return the time of the wall clock, in seconds."""
        return time.time()

    @property
    def is_held(self) -> bool:
        """Whether this router may act for the home."""
        return not self._is_over and self._store.is_held

    def release(self) -> None:
        """End after what was submitted, if that can be written."""
        self._ending.set()
        self._queue.put(None)

    async def close(self) -> None:
        """Write the submitted operations, if possible, and close the store."""
        self.release()
        await asyncio.to_thread(self._thread.join, _CLOSE)
        if not self._thread.is_alive():  # else the disk, or the server, does not answer
            self._store.close()

    # --- in the thread

    def run(self) -> None:
        """Write what is submitted, until the journal is released or another router holds the home."""
        try:
            while self._step():
                pass
        except FencedError as fenced:
            log(logging.WARNING, "journal fenced", **self._store.place, reason=str(fenced))
        finally:
            self._is_over = True

    def _step(self) -> bool:
        """Perform what is submitted in one transaction; return whether the journal stays open."""
        is_last = False
        submits: list[Sequence[journal.Operation]] = []
        size = 0
        while size < _MAX_OPERATIONS and not is_last and (not (submits or self._orders) or not self._queue.empty()):
            try:
                submitted = self._queue.get(timeout=_RETRY if self._reads else self._store.renewal or _MEASUREMENT)
            except queue.Empty:
                break
            if submitted is None:
                is_last = self._is_ended = True
            elif isinstance(submitted, _Order):
                self._orders.append(submitted)
            else:
                submits.append(submitted)
                size += len(submitted)
        if submits:
            self._perform(submits)
        self._try(self._store.renew, 0)
        self._report_shortage()
        self._read()
        self._measure()
        while not self._is_ended and not self._is_backing_up and self._queue.empty() and self._shrink():
            pass
        if self._orders and not self._is_backing_up:
            self._back_up(self._orders.pop(0))
        return not self._is_ended

    def _back_up(self, order: _Order) -> None:
        """Make a backup, and write what is submitted meanwhile; it is synced apart, as that may take seconds."""
        self._is_backing_up = True
        try:
            backup = self._store.back_up(order.name, self._write_meanwhile)
        except (InputError, _EndedError) as error:
            self._report(journal.BackedUp(order.id, "", 0, str(error)))
        except (self._store.errors, OSError) as error:
            self._report(journal.BackedUp(order.id, "", 0, f"the backup cannot be written: {error}"))
        else:
            threading.Thread(target=self._finish, args=(order.id, backup), name="cbnet-backup", daemon=True).start()
        finally:
            self._is_backing_up = False

    def _write_meanwhile(self) -> None:
        if not self._queue.empty() and not self._step():
            raise _EndedError("the router stops")

    def _finish(self, id: int, backup: Backup) -> None:
        try:
            self._report(journal.BackedUp(id, str(backup.path.resolve()), backup.finish()))
        except OSError as error:
            self._report(journal.BackedUp(id, "", 0, f"the backup cannot be written: {error}"))

    def _perform(self, submits: Sequence[Sequence[journal.Operation]]) -> None:
        """Perform operations in one transaction."""
        writes: list[journal.Write] = []
        for operation in chain.from_iterable(submits):
            if isinstance(operation, journal.Read):
                self._reads.add(operation)
            else:
                writes.append(operation)
        self._try(partial(self._commit, writes) if writes else lambda: None, len(submits))

    def _commit(self, writes: Sequence[journal.Write]) -> None:
        began = time.perf_counter()
        self._store.perform(writes)
        self._committing = time.perf_counter() - began
        self.statistics.committed(self._committing)

    def _measure(self) -> None:
        """Measure the space of the journal, at most once per second."""
        if time.monotonic() >= self._measured + 1.0:
            with suppress(self._store.errors, OSError):
                self.statistics.size = self._store.size()
            self._measured = time.monotonic()

    def _try(self, call: Callable[[], None], submits: int) -> None:
        """Call a function until it does not fail, or the journal is closed; report that so many submits are on disk."""
        reason = ""
        while True:
            try:
                call()
            except self._store.errors as error:
                if str(error) != reason:
                    reason = str(error)
                    problem, hint = self._store.explain(error)
                    log(logging.ERROR, "journal stalled", **self._store.place, reason=problem, hint=hint)
                    if self._store.is_answer(error):
                        self._report(journal.Stalled(problem))
                if self._ending.wait(_RETRY):
                    return
            else:
                if reason:
                    log(logging.WARNING, "journal resumed", **self._store.place)
                if reason or submits:
                    self._report(journal.Committed(submits))
                return

    def _report_shortage(self) -> None:
        if self._store.shortage != self._shortage:
            self._shortage = self._store.shortage
            self._report(journal.Shortage(self._shortage))

    def _read(self) -> None:
        """Read requested messages, until others have waited long enough; where the disk fails, retry later."""
        end = time.perf_counter() + max(_READING, self._committing)
        failed: list[journal.Read] = []
        is_read = False
        while self._reads and (self._queue.empty() or time.perf_counter() < end):
            read = self._reads.take()
            try:
                self._report(self._store.read(read))
                is_read = True
            except self._store.errors as error:
                failed.append(read)
                self._log_unreadable(str(error))
        for read in failed:
            self._reads.add(read)
        if is_read and not self._reads:
            self._log_unreadable("")

    def _log_unreadable(self, reason: str) -> None:
        """Log that messages are unreadable at present; without a reason, log that they are readable again."""
        before, self._unreadable = self._unreadable, reason
        if reason and reason != before:
            log(logging.ERROR, "journal unreadable", **self._store.place, reason=reason, hint="check the disk")
        elif before and not reason:
            log(logging.WARNING, "journal readable again", **self._store.place)

    def _shrink(self) -> bool:
        """Release some free space of the file; return whether there is more."""
        try:
            return self._store.shrink()
        except self._store.errors:  # such as a full disk, which the next transaction reports
            return False

    def _report(self, event: journal.JournalEvent) -> None:
        with suppress(RuntimeError):  # the event loop is closed
            self._loop.call_soon_threadsafe(self._on_event, event)
