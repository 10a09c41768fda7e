"""Journals that are synced at intervals."""

import os
from pathlib import Path

import pytest
from support.journal_files import opened, read, stored

from cbnet.errors import InputError
from cbnet.network.link.settings import Settings
from cbnet.network.transport.journals import sqlite_journal
from cbnet.network.transport.journals.journal_place import DatabaseUri, JournalOwner
from cbnet.network.transport.journals.leased_journal import open_journal
from cbnet.network.transport.journals.sqlite_journal import SqliteJournal


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(sqlite_journal, "monotonic", clock)
    return clock


@pytest.fixture
def synced(monkeypatch):
    """Return the names of the files that were synced."""
    names, real = [], os.fsync

    def fsync(file):
        names.append(Path(f"/proc/self/fd/{file}").readlink().name)
        real(file)

    monkeypatch.setattr(sqlite_journal.os, "fsync", fsync)
    return names


def test_transactions_are_synced_a_second_after_the_first_one(tmp_path, clock, synced):
    journal = SqliteJournal(tmp_path, "a", is_synced=False)
    journal.perform([*opened(1), stored(1)])
    clock.now += 0.9
    journal.perform([stored(2)])
    journal.renew()
    assert synced == []
    assert journal.renewal == 1.0  # the thread calls `renew` then, also if nothing else happens
    clock.now += 0.1
    journal.renew()
    assert synced == ["journal.sqlite-wal"]
    assert journal.renewal is None
    clock.now += 10
    journal.renew()
    assert len(synced) == 1
    assert [entry.position for entry in read(journal, 1, 2)] == [1, 2]
    journal.close()


def test_a_journal_that_syncs_each_transaction_leaves_nothing_to_sync(tmp_path, clock, synced):
    journal = SqliteJournal(tmp_path, "a")
    journal.perform([*opened(1), stored(1)])
    clock.now += 5
    journal.renew()
    assert synced == []
    assert journal.renewal is None
    journal.close()


@pytest.mark.parametrize(("is_synced", "level"), [(True, 2), (False, 1)])
def test_sqlite_syncs_each_transaction_or_only_checkpoints(tmp_path, is_synced, level):
    journal = SqliteJournal(tmp_path, "a", is_synced=is_synced)
    assert journal._file.execute("PRAGMA synchronous").fetchone() == (level,)
    journal.close()


def test_a_file_that_cannot_be_synced_is_an_error_of_the_disk(tmp_path, clock, monkeypatch):
    def fail(_):
        raise OSError(5, "Input/output error")

    journal = SqliteJournal(tmp_path, "a", is_synced=False)
    journal.perform([*opened(1), stored(1)])
    monkeypatch.setattr(sqlite_journal.os, "fsync", fail)
    clock.now += 2
    with pytest.raises(journal.errors, match="cannot sync: Input/output error"):
        journal.renew()
    journal.close()


def test_other_values_and_databases_are_refused():
    with pytest.raises(InputError, match="unknown value 'never' of `sync`"):
        Settings("a", sync="never")
    with pytest.raises(InputError, match="always synced"):
        open_journal(DatabaseUri("postgresql://host/db"), JournalOwner("cbnet", "a", "a"), is_synced=False)
