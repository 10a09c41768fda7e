"""The reserve of a journal: real space, released once, and taken again when the disk has room."""

import resource
import sqlite3

import pytest
from support.journal_files import opened, stored

from cbnet.network.durable.home_log.journal import Discard
from cbnet.network.transport.journals import disk_reserve
from cbnet.network.transport.journals.disk_reserve import DiskReserve
from cbnet.network.transport.journals.sqlite_journal import SqliteJournal

SIZE = 1 << 20


def test_a_reserve_takes_space_on_the_disk_until_it_is_released(tmp_path):
    path = tmp_path / "reserve"
    reserve = DiskReserve(path, SIZE)
    assert (reserve.fill(), reserve.is_whole) == (True, True)
    assert path.stat().st_blocks * 512 >= SIZE
    assert (reserve.release(), reserve.is_whole, path.exists()) == (True, False, False)
    assert not reserve.release()


def test_a_reserve_of_an_earlier_run_is_used(tmp_path):
    assert DiskReserve(tmp_path / "reserve", SIZE).fill()
    before = (tmp_path / "reserve").stat().st_mtime_ns
    assert DiskReserve(tmp_path / "reserve", SIZE).fill()
    assert (tmp_path / "reserve").stat().st_mtime_ns == before


def test_a_part_of_a_reserve_is_none(tmp_path):
    reserve = DiskReserve(tmp_path / "reserve", SIZE)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (SIZE // 2, hard))
    try:
        assert not reserve.fill()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not (tmp_path / "reserve").exists()
    assert reserve.fill()


@pytest.mark.parametrize(("free", "is_filled"), [(SIZE - 1, False), (SIZE, False), (2 * SIZE, True)])
def test_a_reserve_is_taken_again_when_there_is_room_for_messages_too(tmp_path, monkeypatch, free, is_filled):
    reserve = DiskReserve(tmp_path / "reserve", SIZE)
    monkeypatch.setattr(disk_reserve.shutil, "disk_usage", lambda _: type("Usage", (), {"free": free}))
    assert reserve.refill() == is_filled
    assert reserve.fill() == (free >= SIZE)


class SmallDisk(DiskReserve):
    """A reserve of a disk that has room for so many pages of a journal; those of the reserve are further ones."""

    def __init__(self, path, pages, reserved):
        super().__init__(path, SIZE)
        self.pages, self.reserved = pages, reserved
        self.file = None

    def limit(self, journal):
        self.file = journal._file
        self.file.execute(f"PRAGMA max_page_count = {self.pages}")

    def release(self):
        self.file.execute(f"PRAGMA max_page_count = {self.pages + self.reserved}")
        return super().release()


def test_messages_are_removed_from_a_full_disk_with_the_reserve(tmp_path, caplog):
    disk = SmallDisk(tmp_path / "reserve", pages=100, reserved=20)
    journal = SqliteJournal(tmp_path, "a", disk)
    journal.perform(opened(1))
    disk.limit(journal)
    position = 0
    while not journal.shortage:
        position += 1
        journal.perform([stored(position, bytes(4_000))])
    assert journal.shortage == "the disk is full"
    assert (journal.renewal is None, disk.is_whole) == (False, False)
    assert [line.getMessage() for line in caplog.records] == ["journal short of space"]
    for first in range(1, position):
        journal.perform([Discard(first, first + 1)])
    assert [*journal.recover().rows.positions] == [position]
    journal.renew()
    assert (journal.shortage, journal.renewal) == ("", None)
    assert [line.getMessage() for line in caplog.records][1:] == ["journal has space again"]
    journal.close()


def failure(journal, position):
    """Store a message; return the error."""
    try:
        journal.perform([stored(position, bytes(4_000))])
    except sqlite3.Error as error:
        return error
    return None


def test_a_disk_whose_reserve_is_used_up_fails_and_loses_nothing(tmp_path):
    disk = SmallDisk(tmp_path / "reserve", pages=50, reserved=2)
    journal = SqliteJournal(tmp_path, "a", disk)
    journal.perform(opened(1))
    disk.limit(journal)
    position = 0
    while (error := failure(journal, position + 1)) is None:
        position += 1
    assert (str(error), journal.shortage) == ("database or disk is full", "the disk is full")
    assert [*journal.recover().rows.positions] == [*range(1, position + 1)]
    journal.close()
