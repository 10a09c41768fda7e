"""The journal in SQLite does what the simulated disk does, and survives what a disk may do to it."""

import shutil
import sqlite3
from itertools import pairwise
from random import Random

import pytest
from support.journal_files import opened, overwrite_page, read, stored
from support.journal_script import Scripted, home, perform

from cbnet.errors import InputError
from cbnet.network.durable.home_log.journal import Discard
from cbnet.network.simulation.memory_disk import DiskContent
from cbnet.network.transport.journals import sqlite_journal
from cbnet.network.transport.journals.journal_tables import changes
from cbnet.network.transport.journals.sqlite_journal import SqliteJournal


def positions(journal):
    return [*journal.recover().rows.positions]


@pytest.fixture
def journal(tmp_path):
    opened = SqliteJournal(tmp_path / "journal", "a")
    yield opened
    opened.close()


def test_random_operations_have_the_same_effect_in_sqlite_and_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite_journal, "_SPARE", -1_000)  # always give back free space
    for seed in range(6):
        random = Random(seed)
        journal = SqliteJournal(tmp_path / str(seed), "a")
        memory = DiskContent(journal.recover().id)
        router = Scripted(random)
        for _ in range(30):
            perform(journal, memory, [each for _ in range(random.randrange(1, 8)) for each in router.operations()])
            journal.shrink()
            if random.random() < 0.2:
                journal.close()
                journal = SqliteJournal(tmp_path / str(seed), "a")
            assert journal.recover() == memory.recover(), seed
        journal.close()


def test_a_transaction_that_was_not_committed_is_gone(journal, tmp_path):
    journal.perform([*opened(1), stored(1)])
    journal._file.execute("BEGIN IMMEDIATE")
    for statement, rows in changes([stored(2)]):
        journal._file.executemany(statement, rows)
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "journal", copy)  # as after a crash
    journal._file.execute("ROLLBACK")
    after = SqliteJournal(copy, "a")
    assert positions(after) == [1]
    after.close()


@pytest.mark.parametrize("lost", [1, 100, 5_000])
def test_torn_writes_at_the_end_lose_only_the_last_transactions(journal, tmp_path, lost):
    journal.perform(opened(1))
    for position in range(1, 20):
        journal.perform([stored(position, bytes(500))])
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "journal", copy)
    log = copy / "journal.sqlite-wal"
    data = bytearray(log.read_bytes())
    data[-lost:] = bytes(255 - byte for byte in data[-lost:])
    log.write_bytes(data)
    after = SqliteJournal(copy, "a")
    kept = positions(after)
    assert kept == list(range(1, len(kept) + 1))
    assert 15 <= len(kept) < 19
    after.close()


def fill(journal, first, end, size=250):
    for start in range(first, end, 500):
        journal.perform([stored(each, bytes(size)) for each in range(start, min(start + 500, end))])


def pages(journal):
    return journal._file.execute("PRAGMA page_count").fetchone()[0]


def test_the_file_shrinks_in_steps_when_most_messages_are_gone(journal):
    journal.perform(opened(1))
    fill(journal, 1, 40_001)
    assert journal.path.stat().st_size > 40_000 * 250
    kept = [7, 20_000, 39_999]
    journal.perform([Discard(after + 1, before) for after, before in pairwise([0, *kept, 40_001])])
    sizes = []
    while journal.shrink():
        sizes.append(pages(journal))
    assert {before - after for before, after in pairwise(sizes)} <= {256, 257}  # and a page of pointers
    assert len(sizes) > 5
    assert journal.path.stat().st_size < 4_400_000  # 1,024 free pages, and some
    assert not journal.shrink()
    assert [each.position for each in read(journal, 6, *kept)] == kept
    assert journal._file.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_the_space_of_messages_that_are_gone_is_used_again(journal):
    journal.perform(opened(1))
    fill(journal, 1, 5_001)
    journal.perform([Discard(0, 5_001)])
    before = pages(journal)
    assert before > 5_000 * 250 // 4_096
    for first in range(5_001, 50_001, 5_000):
        fill(journal, first, first + 5_000)
        journal.perform([Discard(first, first + 5_000)])
        assert not journal.shrink()  # so little is kept for further messages
    assert pages(journal) <= before + 5


def test_a_full_disk_fails_the_transaction_as_a_whole(journal):
    journal.perform([*opened(1), stored(1)])
    (pages,) = journal._file.execute("PRAGMA page_count").fetchone()
    journal._file.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(sqlite3.OperationalError, match="database or disk is full"):
        journal.perform([Discard(1, 2), stored(2, bytes(100_000))])
    assert positions(journal) == [1]
    journal._file.execute("PRAGMA max_page_count = 1000000")
    journal.perform([Discard(1, 2), stored(2, bytes(100_000))])
    assert positions(journal) == [2]


@pytest.mark.parametrize("page", [-2, -10, -20])
def test_a_read_returns_what_can_be_read(journal, caplog, page):
    journal.perform(opened(1))
    fill(journal, 1, 201, 700)
    overwrite_page(journal, page)
    found = read(journal, *range(1, 201))
    assert 190 <= len(found) < 200  # a page has at most five of them
    assert all(each == stored(each.position, bytes(700)).entries[0] for each in found)
    assert caplog.records[0].members["reason"] == "database disk image is malformed"
    journal.perform([home("b")])  # writing goes on


def test_a_journal_belongs_to_one_router_and_one_process(journal, tmp_path):
    with pytest.raises(InputError, match="cannot open the journal: database is locked"):
        SqliteJournal(tmp_path / "journal", "a")
    journal.close()
    with pytest.raises(InputError, match="the journal belongs to router a, not b") as refused:
        SqliteJournal(tmp_path / "journal", "b")
    SqliteJournal(tmp_path / "journal", "a").close()  # the file is free again, though the error lives on
    assert refused.value.file == str(journal.path)


def test_a_file_that_is_no_journal_is_named(tmp_path):
    (tmp_path / "journal.sqlite").write_bytes(b"no journal" * 100)
    with pytest.raises(InputError, match="the journal is damaged: file is not a database") as error:
        SqliteJournal(tmp_path, "a")
    assert error.value.file == str(tmp_path / "journal.sqlite")
