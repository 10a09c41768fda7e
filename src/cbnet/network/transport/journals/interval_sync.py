"""Sync of SQLite's log file at intervals, for a journal that answers before its transactions are synced."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from time import monotonic
from typing import Final

INTERVAL: Final = 1.0  # seconds


class IntervalSync:
    """The transactions of a journal that are not synced yet."""

    def __init__(self, path: Path, *, is_needed: bool) -> None:
        """Initialise; path: of the database. is_needed: False if SQLite syncs each transaction."""
        self._path = path.with_name(f"{path.name}-wal")
        self._is_needed = is_needed
        self._since = 0.0  # time of the first transaction that is not synced
        self.is_due = False  # whether there is one

    def committed(self) -> None:
        """Record that a transaction was committed."""
        if self._is_needed and not self.is_due:
            self.is_due, self._since = True, monotonic()

    def sync(self) -> None:
        """Sync the transactions if the first one is a second old; raise a `sqlite3.Error` if that fails."""
        if not self.is_due or monotonic() < self._since + INTERVAL:
            return
        try:
            file = os.open(self._path, os.O_RDONLY)  # closing it releases no lock: SQLite has none on this file
            try:
                os.fsync(file)
            finally:
                os.close(file)
        except OSError as error:
            raise sqlite3.OperationalError(f"cannot sync: {error.strerror}") from None
        self.is_due = False
