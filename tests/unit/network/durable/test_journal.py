"""The journal in SQLite does what the simulated disk does, and survives what a disk may do to it."""

import shutil
import sqlite3
from random import Random

import pytest

from cbnet.errors import InputError
from cbnet.network.durable.journal import (
    Append,
    Discard,
    DropSubscription,
    DropWindow,
    Entry,
    Read,
    SavedSubscription,
    SaveHome,
    SaveSubscription,
    SaveWindow,
)
from cbnet.network.protocol.frames import DurableLimits
from cbnet.network.simulation.memory_disk import DiskContent
from cbnet.network.transport.sqlite_journal import SqliteJournal


def subscription(id, **limits):
    return SaveSubscription(SavedSubscription(id, "", f"s{id}", "x > 0", DurableLimits(**limits)))


def entry(id, offset, content=b"content"):
    return Append(Entry(id, offset, 1.5, "a", 2**61, offset, content))


@pytest.fixture
def journal(tmp_path):
    opened = SqliteJournal(tmp_path / "journal", "a")
    yield opened
    opened.close()


def test_random_operations_have_the_same_effect_in_sqlite_and_in_memory(tmp_path):
    for seed in range(6):
        random = Random(seed)
        journal = SqliteJournal(tmp_path / str(seed), "a")
        memory = DiskContent(journal.recover().id)
        offsets = {}
        for _ in range(30):
            operations = [operation(random, offsets) for _ in range(random.randrange(1, 8))]
            assert journal.perform(operations) == memory.perform(operations), seed
            if random.random() < 0.2:
                journal.close()
                journal = SqliteJournal(tmp_path / str(seed), "a")
            assert journal.recover() == memory.recover(), seed
        journal.close()


def operation(random, offsets):
    """Return an operation that a router might perform; offsets: the next one of each subscription."""
    kind = random.randrange(9)
    id = random.choice([*offsets, 0])
    if kind == 0 or not id:
        id = random.randrange(1, 5)
        offsets.setdefault(id, 1)
        return subscription(id, messages=random.randrange(5))
    if kind == 1 and random.random() < 0.3:
        del offsets[id]
        return DropSubscription(id)
    if kind <= 4:
        offsets[id] += 1
        return entry(id, offsets[id] - 1, bytes(random.randrange(40)))
    first = random.randrange(offsets[id] + 1)
    if kind == 5:
        return Discard(id, first, first + random.randrange(4))
    if kind == 6:
        return random.choice([DropWindow(3), SaveWindow(3, random.randrange(9), b"\x05", 7.0)])
    if kind == 7:
        return SaveHome("b", random.randbytes(3))
    return Read(id, first, random.randrange(1, 5), random.randrange(100))


def test_a_transaction_that_was_not_committed_is_gone(journal, tmp_path):
    journal.perform([subscription(1), entry(1, 1)])
    journal._file.execute("BEGIN IMMEDIATE")
    journal._perform(Append, [entry(1, 2)])
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "journal", copy)  # as after a crash
    journal._file.execute("ROLLBACK")
    after = SqliteJournal(copy, "a")
    assert [item.offset for item in after.recover().stock[1]] == [1]
    after.close()


@pytest.mark.parametrize("lost", [1, 100, 5_000])
def test_torn_writes_at_the_end_lose_only_the_last_transactions(journal, tmp_path, lost):
    journal.perform([subscription(1)])
    for offset in range(1, 20):
        journal.perform([entry(1, offset, bytes(500))])
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "journal", copy)
    log = copy / "journal.sqlite-wal"
    data = bytearray(log.read_bytes())
    data[-lost:] = bytes(255 - byte for byte in data[-lost:])
    log.write_bytes(data)
    after = SqliteJournal(copy, "a")
    kept = [item.offset for item in after.recover().stock[1]]
    assert kept == list(range(1, len(kept) + 1))
    assert 15 <= len(kept) < 19
    after.close()


def test_a_full_disk_fails_the_transaction_as_a_whole(journal):
    journal.perform([subscription(1), entry(1, 1)])
    (pages,) = journal._file.execute("PRAGMA page_count").fetchone()
    journal._file.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(sqlite3.OperationalError, match="database or disk is full"):
        journal.perform([Discard(1, 1, 2), entry(1, 2, bytes(100_000))])
    assert [item.offset for item in journal.recover().stock[1]] == [1]
    journal._file.execute("PRAGMA max_page_count = 1000000")
    journal.perform([Discard(1, 1, 2), entry(1, 2, bytes(100_000))])
    assert [item.offset for item in journal.recover().stock[1]] == [2]


def test_a_journal_belongs_to_one_router_and_one_process(journal, tmp_path):
    with pytest.raises(InputError, match="cannot open the journal: database is locked"):
        SqliteJournal(tmp_path / "journal", "a")
    journal.close()
    with pytest.raises(InputError, match="the journal belongs to router a, not b"):
        SqliteJournal(tmp_path / "journal", "b")


def test_a_file_that_is_no_journal_is_named(tmp_path):
    (tmp_path / "journal.sqlite").write_bytes(b"no journal" * 100)
    with pytest.raises(InputError, match="the journal is damaged: file is not a database") as error:
        SqliteJournal(tmp_path, "a")
    assert error.value.file == str(tmp_path / "journal.sqlite")
