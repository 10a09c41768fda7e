"""Backups of a journal in a folder, made while a router uses it.

A backup is a file of SQLite, copied some pages at a time; transactions between two steps are in it. It has the state of
the journal at one moment, as if the router had been killed then.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, NamedTuple

from cbnet.errors import InputError

FOLDER: Final = "backups"  # beside the journal
_NAME: Final = re.compile(r"\w[\w.-]{0,63}", re.ASCII)
_STEP: Final = 256  # pages of 4 KiB, copied in about 1 ms


def backup_path(journal: Path, name: str) -> Path:
    """Return the file of a new backup; raise an `InputError` if it exists, or for a name that is not one of a file."""
    if not _NAME.fullmatch(name):
        raise InputError(f"not the name of a backup: {name!r}", hint="use letters, digits, and . _ -")
    path = journal.parent / FOLDER / f"{name}.sqlite"
    if path.exists():
        raise InputError(f"there is a backup {name!r} already", hint="use another name", file=str(path))
    return path


def copy_journal(source: sqlite3.Connection, part: Path, between: Callable[[], None]) -> None:
    """Copy a journal, and call a function between the steps, which may change it; raise a `sqlite3.Error`."""
    part.parent.mkdir(exist_ok=True)
    part.unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(part, isolation_level=None)) as target:
            target.execute("PRAGMA synchronous = OFF")  # synced at the end
            source.backup(target, pages=_STEP, progress=lambda *_: between(), sleep=0)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


class Backup(NamedTuple):
    """A copy that is not synced yet."""

    part: Path
    path: Path  # when it is

    def finish(self) -> int:
        """Sync the copy, and give it its name; return its size."""
        sync(self.part)
        self.part.rename(self.path)
        sync(self.path.parent)
        return self.path.stat().st_size


def sync(path: Path) -> None:
    """Sync a file or a folder to disk."""
    if path.is_dir() and os.name == "nt":
        return  # folders cannot be opened there
    file = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError):  # of file systems that do not sync folders
            os.fsync(file)
    finally:
        os.close(file)
