"""Stores of journals: what the thread that writes needs of SQLite and of PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from cbnet.network.durable.home_log.journal import JournalSize, Read, ReadResult, RecoveredState, Write
from cbnet.network.transport.journals.journal_backup import Backup


class FencedError(Exception):
    """Another router holds the home, or its journal is another one: the text says which."""


class JournalStore(Protocol):
    """Where a journal is stored. One thread at a time uses it."""

    @property
    def place(self) -> Mapping[str, str]:
        """Where it is, for log lines."""

    @property
    def errors(self) -> type[Exception]:
        """The errors raised where it cannot be read or written for now."""

    @property
    def is_held(self) -> bool:
        """Whether this router may act for the home: always, without a lease."""

    def is_answer(self, error: Exception, /) -> bool:
        """Return whether an error means that nothing can be written, and not that there is no answer for a while."""

    @property
    def renewal(self) -> float | None:
        """Seconds without a transaction after which `renew` is called; None: never."""

    @property
    def shortage(self) -> str:
        """Why no more messages should be stored, though all else can be written; empty: they can."""

    def recover(self) -> RecoveredState:
        """Return the recovered state; raise an `InputError` if the journal is damaged."""

    def perform(self, operations: Sequence[Write], /) -> None:
        """Perform operations in one transaction, which is on disk on return; or raise `FencedError` or one of `errors`.

        After one of `errors`, the next call must have the same operations: they may be on disk.
        """

    def renew(self) -> None:
        """Renew the lease of the home, or a reserve of the disk, if there is one and that is due.

        Raise `FencedError` or one of `errors`.
        """

    def read(self, read: Read, /) -> ReadResult:
        """Return the undamaged messages of a read; or raise one of `errors`."""

    def shrink(self) -> bool:
        """Release some free space, for some milliseconds; return whether more can be released."""

    def size(self) -> JournalSize | None:
        """Return the space of the journal, if it is in a folder; or raise one of `errors`."""

    def back_up(self, name: str, between: Callable[[], None], /) -> Backup:
        """Copy the journal, and call a function between the steps; raise an `InputError`, or one of `errors`."""

    def explain(self, error: Exception, /) -> tuple[str, str]:
        """Return the reason of an error, and the remedy."""

    def close(self) -> None:
        """Close it."""
