"""Journal of a home that several routers may hold: takeover by lease, in a thread, again whenever it was lost.

    stands by ──► taken: content recovered, a journal thread ──► fenced, or released by the router ──► stands by

Each tenure has a journal thread of its own, so nothing that was submitted in an earlier one has an effect.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cbnet.errors import CbnetError, InputError
from cbnet.network.durable.home_log.journal import JournalEvent, OpenJournal, Standby
from cbnet.network.logs import log
from cbnet.network.transport.journals.journal_place import JournalOwner, JournalPlace
from cbnet.network.transport.journals.journal_store import FencedError
from cbnet.network.transport.journals.journal_thread import JournalThread
from cbnet.network.transport.journals.sqlite_journal import SqliteJournal

if TYPE_CHECKING:
    from cbnet.network.transport.journals.postgres_journal import PostgresJournal

LEASE: Final = 3.0  # seconds
MARGIN: Final = 1.0  # seconds
RENEWAL: Final = 0.75  # seconds between renewals of a router that writes nothing
POLL: Final = 0.25  # seconds between attempts to take a home


class Lease:
    """The lease of one router: how long it may act for the home without an answer from the database.

    renewed ──────────────────► stops acting ─────────► ends: another router may take the home
            LEASE − MARGIN                     MARGIN

    The lease ends by the clock of the database. The router counts by its own, from when it sent what renewed the lease,
    and stops earlier: so no two routers act for a home unless the clock of one loses a third of the time. Even then
    they cannot both store, as each transaction is refused unless its router has taken the home last.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """Initialise; clock: seconds, also of those for which the router is suspended."""
        self.clock = clock
        self.renewed_at = -inf
        self._end = -inf

    @property
    def is_held(self) -> bool:
        """Whether the router may act for the home."""
        return self.clock() < self._end

    @property
    def is_due(self) -> bool:
        """Whether the lease is to be renewed."""
        return self.clock() >= self.renewed_at + RENEWAL

    def renew(self, sent: float) -> None:
        """Record that the lease was renewed by what was sent at a time."""
        self.renewed_at, self._end = sent, sent + LEASE - MARGIN

    def end(self) -> None:
        """Stop acting."""
        self._end = -inf


_CLOSE: Final = 15.0  # timeout for the last transaction, in seconds


class LeasedJournal:
    """The journal of a home group, as one router sees it."""

    def __init__(self, store: PostgresJournal) -> None:
        self._store = store
        self._is_closing = threading.Event()
        self._tenure: JournalThread | None = None
        self._standby: Standby | None = None  # that was reported
        self._thread = threading.Thread(target=self._run, name="cbnet-lease", daemon=True)
        self._loop: asyncio.AbstractEventLoop
        self._on_event: Callable[[JournalEvent], None]

    def start(self, on_event: Callable[[JournalEvent], None]) -> OpenJournal | Standby:
        """Take the home, if it is free, and start the thread; events are delivered in the running event loop."""
        self._on_event = on_event
        self._loop = asyncio.get_running_loop()
        try:
            taken = self._take()
        except InputError:
            self._store.close()
            raise
        self._standby = taken if isinstance(taken, Standby) else None
        self._thread.start()
        return taken

    async def close(self) -> None:
        """Write the submitted operations, if possible, and let another router take the home."""
        self._is_closing.set()
        if self._tenure is not None:
            self._tenure.release()
        await asyncio.to_thread(self._thread.join, _CLOSE)

    # --- in the thread

    def _run(self) -> None:
        while not self._is_closing.is_set():
            if self._tenure is not None:
                self._tenure.run()
                self._tenure = None
                self._store.close()
                self._report(Standby(""))
            try:
                taken = self._take()
            except InputError as error:
                self._store.close()
                taken = Standby("", error.summary)
            if isinstance(taken, OpenJournal):
                self._standby = None
                self._report(taken)
            else:
                self._stand_by(taken)
                self._is_closing.wait(POLL)
        if self._tenure is not None:  # taken while the journal was being closed
            self._tenure.release()
            self._tenure.run()
        self._store.close()

    def _take(self) -> OpenJournal | Standby:
        """Take the home, and recover its content; return why it cannot be taken."""
        try:
            holder = self._store.acquire()
            if holder is not None:
                return Standby(holder)
            journal = JournalThread(self._store)
            opened = OpenJournal(journal, journal.recover(self._on_event, self._loop))
        except FencedError as error:  # the lease ended before the content was read, and another router took the home
            self._store.close()
            return Standby("", str(error))
        except self._store.errors as error:
            return Standby("", self._store.explain(error)[0])
        self._tenure = journal
        return opened

    def _stand_by(self, standby: Standby) -> None:
        if standby != self._standby:
            self._standby = standby
            level = logging.WARNING if standby.problem else logging.INFO
            members = {"reason": standby.problem} if standby.problem else {"holder": standby.holder}
            log(level, "standing by", **self._store.place, **members)
            self._report(standby)

    def _report(self, event: JournalEvent) -> None:
        with suppress(RuntimeError):  # the event loop is closed
            self._loop.call_soon_threadsafe(self._on_event, event)


def open_journal(
    place: JournalPlace, owner: JournalOwner, *, is_synced: bool = True
) -> JournalThread | LeasedJournal:  # fmt: skip
    """Return the journal at a place, which is created if it does not exist; is_synced: before messages are answered."""
    if isinstance(place, Path):
        return JournalThread(SqliteJournal(place, owner.home, is_synced=is_synced))
    if not is_synced:
        raise InputError("a journal in PostgreSQL is always synced", hint='remove sync = "interval"')
    try:
        from cbnet.network.transport.journals.postgres_journal import (
            PostgresJournal,  # imports an optional package
        )
    except ImportError as error:
        raise CbnetError(f"a journal in PostgreSQL needs psycopg ({error}): pip install 'cbnet[postgresql]'") from None
    return LeasedJournal(PostgresJournal(place, owner))
