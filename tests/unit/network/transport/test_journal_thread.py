"""The thread that writes a journal."""

import asyncio
import sqlite3
import threading

from support.journal_files import opened, overwrite_page, stored

from cbnet.network.durable.home_log.journal import Committed, Discard, Read, ReadResult, Stalled
from cbnet.network.transport.journals import journal_thread
from cbnet.network.transport.journals.journal_thread import JournalThread
from cbnet.network.transport.journals.sqlite_journal import SqliteJournal

SUBSCRIPTION = opened(1)


def entry(position, size=10):
    return stored(position, bytes(size))


def positions(folder):
    file = SqliteJournal(folder, "a")
    try:
        return [*file.recover().rows.positions]
    finally:
        file.close()


def test_operations_are_reported_when_they_are_on_disk_and_collect_meanwhile(tmp_path):
    events = []

    async def run():
        thread = JournalThread(SqliteJournal(tmp_path, "a"))
        thread.start(events.append)
        thread.submit(SUBSCRIPTION)
        for position in range(1, 201):
            thread.submit([entry(position)])
        while sum(event.submits for event in events) < 201:
            await asyncio.sleep(0.01)
        await thread.close()

    asyncio.run(run())
    assert len(events) < 100  # several in one transaction
    assert positions(tmp_path) == list(range(1, 201))


def test_what_was_submitted_before_the_end_is_written(tmp_path):
    async def run():
        thread = JournalThread(SqliteJournal(tmp_path, "a"))
        thread.start(lambda _: None)
        thread.submit([*SUBSCRIPTION, *(entry(position) for position in range(1, 1_001))])
        await thread.close()

    asyncio.run(run())
    assert positions(tmp_path) == list(range(1, 1_001))


def test_the_file_shrinks_while_there_is_nothing_to_write(tmp_path):
    async def run():
        file = SqliteJournal(tmp_path, "a")
        file.perform([*SUBSCRIPTION, *(entry(position, 250) for position in range(1, 40_001))])
        assert file.path.stat().st_size > 40_000 * 250
        thread = JournalThread(file)
        thread.start(lambda _: None)
        thread.submit([Discard(1, 40_000)])
        while file.path.stat().st_size > 4_400_000:
            await asyncio.sleep(0.01)
        await thread.close()

    asyncio.run(asyncio.wait_for(run(), 30))
    assert positions(tmp_path) == [40_000]


def test_a_full_disk_stalls_the_journal_until_there_is_room(tmp_path, monkeypatch):
    monkeypatch.setattr(journal_thread, "_RETRY", 0.05)
    events = []

    async def run():
        file = SqliteJournal(tmp_path, "a")
        file.perform(SUBSCRIPTION)
        (pages,) = file._file.execute("PRAGMA page_count").fetchone()
        file._file.execute(f"PRAGMA max_page_count = {pages + 1}")
        thread = JournalThread(file)
        thread.start(events.append)
        thread.submit([entry(1, 100_000)])
        while not events:
            await asyncio.sleep(0.01)
        assert events == [Stalled("the disk is full")]
        file._file.execute("PRAGMA max_page_count = 1000000")
        while len(events) < 2:
            await asyncio.sleep(0.01)
        await thread.close()

    asyncio.run(run())
    assert events[1] == Committed(1)
    assert positions(tmp_path) == [1]


class FailingJournal(SqliteJournal):
    """A journal on a disk that does not let some messages be read."""

    failing = frozenset()

    def read(self, read):
        if not self.failing.isdisjoint(read.positions):
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR_READ
            raise error
        return super().read(read)


def test_what_cannot_be_read_for_now_is_read_later_and_hinders_nobody(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(journal_thread, "_RETRY", 0.05)
    events = []

    async def until(count):
        while len(events) < count:
            await asyncio.sleep(0.01)

    async def run():
        file = FailingJournal(tmp_path, "a")
        file.failing = {1, 2}
        thread = JournalThread(file)
        thread.start(events.append)
        thread.submit([*SUBSCRIPTION, entry(1), entry(2), entry(3)])
        thread.submit([Read(1, [1]), Read(2, [2, 3]), Read(3, [3])])
        await until(2)
        thread.submit([entry(4)])
        while sum(event.submits for event in events if isinstance(event, Committed)) < 3:
            await asyncio.sleep(0.01)
        assert [event.id for event in events if isinstance(event, ReadResult)] == [3]
        file.failing = frozenset()
        await until(len(events) + 2)
        await thread.close()

    asyncio.run(asyncio.wait_for(run(), 30))
    results = [event for event in events if isinstance(event, ReadResult)]
    assert [(each.id, [entry.position for entry in each.entries]) for each in results] == [
        (3, [3]), (1, [1]), (2, [2, 3]),
    ]  # fmt: skip
    assert [(record.getMessage(), record.members.get("reason")) for record in caplog.records] == [
        ("journal unreadable", "disk I/O error"), ("journal readable again", None),
    ]  # fmt: skip
    assert positions(tmp_path) == [1, 2, 3, 4]


class GatedJournal(SqliteJournal):
    """A journal whose reads wait for a gate."""

    def read(self, read):
        self.gate.wait()
        return super().read(read)


def test_what_is_written_waits_for_some_reads_only_and_payers_take_turns(tmp_path, monkeypatch):
    monkeypatch.setattr(journal_thread, "_READING", 0.0)
    monkeypatch.setattr(journal_thread.time, "perf_counter", lambda: 0.0)
    events = []

    async def run():
        file = GatedJournal(tmp_path, "a")
        file.gate = threading.Event()
        thread = JournalThread(file)
        thread.start(events.append)
        thread.submit([*SUBSCRIPTION, entry(1)])
        thread.submit([Read(id, [1], "busy") for id in range(50)])
        while not thread._reads:  # they are waiting in the thread
            await asyncio.sleep(0)
        thread.submit([entry(2), Read(50, [1], "other")])
        file.gate.set()
        while sum(isinstance(event, ReadResult) for event in events) < 51:
            await asyncio.sleep(0.01)
        await thread.close()

    asyncio.run(asyncio.wait_for(run(), 60))
    reads = [event.id for event in events if isinstance(event, ReadResult)]
    assert [each for each in reads if each != 50] == [*range(50)]
    assert reads.index(50) <= 2
    last_written = max(at for at, event in enumerate(events) if isinstance(event, Committed))
    assert sum(isinstance(event, ReadResult) for event in events[:last_written]) <= 1


def test_a_damaged_file_stalls_the_journal_with_the_remedy(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(journal_thread, "_RETRY", 0.05)
    events = []

    async def run():
        file = SqliteJournal(tmp_path, "a")
        file.perform([*SUBSCRIPTION, *(entry(position, 1_000) for position in range(1, 101))])
        thread = JournalThread(file)
        thread.start(events.append)
        overwrite_page(file, -1)
        thread.submit([entry(position, 1_000) for position in range(101, 201)])
        while not events:
            await asyncio.sleep(0.01)
        await thread.close()

    asyncio.run(asyncio.wait_for(run(), 30))
    assert events == [Stalled("its file is damaged: database disk image is malformed")]
    (record,) = caplog.records
    assert record.members["hint"].startswith("stop the router; restore the journal from a backup, or move its folder")
