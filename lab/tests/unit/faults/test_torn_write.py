import shutil
from random import Random

import pytest
from support.journal_files import opened, stored

from cbnet.network.transport.journals.sqlite_journal import FILE, SqliteJournal
from cbnet_lab.faults.driver.processes import committed_end, tear


def fill(folder, messages):
    """Write a journal, and return the log of a copy that was never closed, as if the router was killed."""
    journal = SqliteJournal(folder / "open", "r")
    journal.perform(opened(1))
    for position in range(1, messages + 1):
        journal.perform([stored(position, b"x" * 500)])
    for suffix in ("", "-wal"):
        shutil.copy(folder / "open" / f"{FILE}{suffix}", folder)
    journal.close()
    return folder / f"{FILE}-wal"


def positions(folder):
    journal = SqliteJournal(folder, "r")
    found = [*journal.recover().rows.positions]
    journal.close()
    return found


@pytest.mark.parametrize("seed", range(8))
def test_torn_writes_after_the_last_transaction_lose_nothing(tmp_path, seed):
    log = fill(tmp_path, 20)
    end = committed_end(log)
    assert end == len(log.read_bytes())
    assert tear(log, Random(seed)) == len(log.read_bytes()) - end > 0
    assert committed_end(log) == end
    assert positions(tmp_path) == list(range(1, 21))


def test_a_log_that_is_cut_before_has_lost_its_last_transaction(tmp_path):
    log = fill(tmp_path, 20)
    log.write_bytes(log.read_bytes()[:-1])
    assert positions(tmp_path) == list(range(1, 20))


def test_there_is_nothing_to_tear_without_a_log(tmp_path):
    log = tmp_path / f"{FILE}-wal"
    assert tear(log, Random(0)) == 0
    log.write_bytes(b"short")
    assert tear(log, Random(0)) == committed_end(log) == 0
