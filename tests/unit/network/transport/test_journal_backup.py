"""Backups of journals: made while messages are written, restored once, and marked as restored."""

import asyncio
import sqlite3

import pytest
from support.journal_files import PAGE, opened, read, stored

from cbnet.errors import InputError
from cbnet.network.durable.home_log.journal import BackedUp, Committed, Discard, Loss, SaveLosses
from cbnet.network.transport.journals.journal_restore import RESTORED, restore
from cbnet.network.transport.journals.journal_thread import JournalThread
from cbnet.network.transport.journals.sqlite_journal import SqliteJournal


def journal_with(folder, *operations):
    journal = SqliteJournal(folder, "r1")
    journal.perform([*opened(1), *operations])
    return journal


def backup_of(journal, name="monday", between=lambda: None):
    backup = journal.back_up(name, between)
    assert backup.finish() == backup.path.stat().st_size
    return backup.path


def state_of(folder):
    journal = SqliteJournal(folder, "r1")
    try:
        return journal.recover()
    finally:
        journal.close()


def test_a_backup_has_what_was_written_while_it_was_made(tmp_path):
    journal = journal_with(tmp_path / "j", *(stored(n, bytes(2_000)) for n in range(1, 2_001)))
    steps, written = [], []

    def between():
        steps.append(len(steps))
        written[:] = journal.recover().rows.positions  # in the last step, all are copied
        journal.perform([stored(2_001 + len(steps), bytes(2_000)), Discard(len(steps), len(steps) + 1)])

    path = backup_of(journal, between=between)
    journal.close()
    assert len(steps) > 3
    restore(path, tmp_path / "restored")
    assert [*state_of(tmp_path / "restored").rows.positions] == written


def test_a_router_writes_messages_while_its_journal_is_backed_up(tmp_path):
    events = []

    async def run():
        journal = journal_with(tmp_path / "j", *(stored(n, bytes(2_000)) for n in range(1, 5_001)))
        thread = JournalThread(journal)
        thread.start(events.append)
        thread.back_up(7, "monday")
        for n in range(100):
            thread.submit([stored(5_001 + n, bytes(2_000))])
        while not any(isinstance(each, BackedUp) for each in events):
            await asyncio.sleep(0.01)
        while sum(each.submits for each in events if isinstance(each, Committed)) < 100:
            await asyncio.sleep(0.01)
        await thread.close()

    asyncio.run(asyncio.wait_for(run(), 60))
    (event,) = [each for each in events if isinstance(each, BackedUp)]
    path = tmp_path / "j" / "backups" / "monday.sqlite"
    assert event == BackedUp(7, str(path.resolve()), path.stat().st_size)
    restore(path, tmp_path / "restored")
    positions = [*state_of(tmp_path / "restored").rows.positions]
    assert positions == [*range(1, len(positions) + 1)]
    assert len(positions) >= 5_000


def test_a_restored_journal_is_another_one_and_reports_a_loss(tmp_path):
    losses = SaveLosses(1, 5, (Loss(3, 5, ""),))
    journal = journal_with(tmp_path / "j", *opened(2), losses, stored(1), stored(2, b"second"))
    before = journal.recover()
    path = backup_of(journal)
    journal.perform([stored(3)])
    journal.close()
    restored = restore(path, tmp_path / "restored")
    assert restored == ("r1", 2, 2, 0)
    after = SqliteJournal(tmp_path / "restored", "r1")
    state = after.recover()
    assert [entry.content for entry in read(after, 1, 2, 3)] == [b"content", b"second"]
    after.close()
    assert state.id != before.id
    assert (state.cursors, state.subscriptions) == (before.cursors, before.subscriptions)
    assert state.losses == {
        1: SaveLosses(1, 5, (Loss(3, 5, ""), Loss(4, 0, RESTORED))),
        2: SaveLosses(2, 0, (Loss(1, 0, RESTORED),)),
    }
    assert sorted(path.name for path in (tmp_path / "restored").iterdir()) == ["journal.reserve", "journal.sqlite"]


def test_a_journal_is_not_overwritten(tmp_path):
    journal = journal_with(tmp_path / "j")
    path = backup_of(journal)
    journal.close()
    with pytest.raises(InputError, match="there is a journal already; stop its router, and move the journal away"):
        restore(path, tmp_path / "j")


def test_a_backup_is_not_overwritten_and_has_a_name_of_a_file(tmp_path):
    journal = journal_with(tmp_path / "j")
    backup_of(journal)
    with pytest.raises(InputError, match="there is a backup 'monday' already"):
        journal.back_up("monday", lambda: None)
    for name in ("", ".hidden", "../up", "a/b", "a b", "x" * 65):
        with pytest.raises(InputError, match="not the name of a backup"):
            journal.back_up(name, lambda: None)
    journal.close()


def test_a_backup_that_fails_leaves_no_file(tmp_path):
    journal = journal_with(tmp_path / "j", *(stored(n, bytes(2_000)) for n in range(1, 1_001)))

    def fail():
        raise OSError("the router stops")

    with pytest.raises(OSError, match="the router stops"):
        journal.back_up("monday", fail)
    assert [*(tmp_path / "j" / "backups").iterdir()] == []
    journal.close()


def test_a_damaged_backup_is_refused_and_leaves_nothing(tmp_path):
    journal = journal_with(tmp_path / "j", *(stored(n, bytes(2_000)) for n in range(1, 101)))
    path = backup_of(journal)
    journal.close()
    with path.open("r+b") as raw:
        raw.seek(12 * PAGE)
        raw.write(bytes(PAGE))
    with pytest.raises(InputError, match=r"monday\.sqlite: the journal is damaged: .*; use another backup"):
        restore(path, tmp_path / "restored")
    assert [*(tmp_path / "restored").iterdir()] == []


def test_a_damaged_message_of_a_backup_is_counted(tmp_path):
    journal = journal_with(tmp_path / "j", stored(1), stored(2))
    path = backup_of(journal)
    journal.close()
    with sqlite3.connect(path) as file:
        file.execute("UPDATE log SET content = ? WHERE position = 1", (b"changed",))
    file.close()
    assert restore(path, tmp_path / "restored").damaged == 1


def test_another_file_is_no_backup(tmp_path):
    (tmp_path / "text").write_text("not a database" * 1_000)
    with pytest.raises(InputError, match="not a backup of a journal"):
        restore(tmp_path / "text", tmp_path / "restored")
    with pytest.raises(InputError, match="cannot restore the backup: No such file"):
        restore(tmp_path / "missing", tmp_path / "restored")
