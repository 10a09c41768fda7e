"""Thread that writes the journal of a router, so that the event loop never waits for the disk.

While one transaction is being synced, operations accumulate; the next transaction contains all of them. A slow disk
thus makes transactions larger, not the router slower. Messages are read after the transaction, so that an unreadable
message does not block writes. Then, and for as long as there is nothing else to do, the thread releases free space of
the file, in steps of a few milliseconds.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import chain
from typing import Final

from cbnet.network.durable.home_log.journal import (
    Committed,
    JournalEvent,
    Operation,
    Read,
    RecoveredState,
    Stalled,
    Write,
)
from cbnet.network.logs import log
from cbnet.network.transport.journals.journal_tables import REMEDY, is_damage
from cbnet.network.transport.journals.sqlite_journal import SqliteJournal, wall_clock

_RETRY: Final = 1.0  # seconds before a failed transaction is retried
_MAX_OPERATIONS: Final = 20_000  # of one transaction


class JournalThread:
    """A journal whose events are delivered in an event loop."""

    def __init__(self, file: SqliteJournal) -> None:
        self._file = file
        self._queue: queue.SimpleQueue[Sequence[Operation] | None] = queue.SimpleQueue()
        self._ending = threading.Event()
        self._reads: list[Read] = []  # pending
        self._unreadable = ""  # why messages cannot be read; empty if they can
        self._thread = threading.Thread(target=self._run, name="cbnet-journal", daemon=True)
        self._loop: asyncio.AbstractEventLoop
        self._on_event: Callable[[JournalEvent], None]

    def start(self, on_event: Callable[[JournalEvent], None]) -> RecoveredState:
        """Return the recovered state, and start the thread; events are delivered in the running event loop."""
        self._on_event = on_event
        self._loop = asyncio.get_running_loop()
        try:
            state = self._file.recover()
        except BaseException:
            self._file.close()
            raise
        self._thread.start()
        return state

    def submit(self, operations: Sequence[Operation]) -> None:
        """Queue operations for the next transaction."""
        self._queue.put(operations)

    def time(self) -> float:
        """Return the time of the wall clock, in seconds."""
        return wall_clock()

    async def close(self) -> None:
        """Write the submitted operations, if possible, and close the file."""
        self._ending.set()
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)
        self._file.close()

    # --- in the thread

    def _run(self) -> None:
        is_last = False
        while not is_last:
            submits: list[Sequence[Operation]] = []
            size = 0
            while size < _MAX_OPERATIONS and not is_last and (not submits or not self._queue.empty()):
                try:
                    submitted = self._queue.get(timeout=_RETRY if self._reads else None)
                except queue.Empty:
                    break
                if submitted is None:
                    is_last = True
                else:
                    submits.append(submitted)
                    size += len(submitted)
            if submits:
                self._perform(submits)
            self._read()
            while not is_last and self._shrink() and self._queue.empty():
                pass

    def _perform(self, submits: Sequence[Sequence[Operation]]) -> None:
        """Perform operations in one transaction; if it fails, retry until the journal is closed."""
        writes: list[Write] = []
        for operation in chain.from_iterable(submits):
            if isinstance(operation, Read):
                self._reads.append(operation)
            else:
                writes.append(operation)
        reason = ""
        while True:
            try:
                if writes:
                    self._file.perform(writes)
            except sqlite3.Error as error:
                if str(error) != reason:
                    reason = str(error)
                    problem, hint = _explained(error)
                    log(logging.ERROR, "journal stalled", file=str(self._file.path), reason=problem, hint=hint)
                    self._report(Stalled(problem))
                if self._ending.wait(_RETRY):
                    return
            else:
                if reason:
                    log(logging.WARNING, "journal resumed", file=str(self._file.path))
                self._report(Committed(len(submits)))
                return

    def _read(self) -> None:
        """Read the requested messages; where the disk fails, retry later."""
        reads, self._reads = self._reads, []
        for read in reads:
            try:
                self._report(self._file.read(read))
            except sqlite3.Error as error:
                self._reads.append(read)
                self._log_unreadable(str(error))
        if reads and not self._reads:
            self._log_unreadable("")

    def _log_unreadable(self, reason: str) -> None:
        """Log that messages are unreadable at present; without a reason, log that they are readable again."""
        before, self._unreadable = self._unreadable, reason
        if reason and reason != before:
            log(logging.ERROR, "journal unreadable", file=str(self._file.path), reason=reason, hint="check the disk")
        elif before and not reason:
            log(logging.WARNING, "journal readable again", file=str(self._file.path))

    def _shrink(self) -> bool:
        """Release some free space of the file; return whether there is more."""
        try:
            return self._file.shrink()
        except sqlite3.Error:  # such as a full disk, which the next transaction reports
            return False

    def _report(self, event: JournalEvent) -> None:
        with suppress(RuntimeError):  # the event loop is closed
            self._loop.call_soon_threadsafe(self._on_event, event)


def _explained(error: sqlite3.Error) -> tuple[str, str]:
    """Return why a journal cannot be written, and the remedy."""
    if is_damage(error):
        return f"its file is damaged: {error}", f"stop the router; {REMEDY}"
    if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL:
        return "the disk is full", "free some space"
    return str(error), "check the disk"
