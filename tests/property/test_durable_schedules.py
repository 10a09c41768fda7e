"""Random schedules of durable publishing: what a receipt promises holds, and broken builds are found out."""

from functools import partial

import pytest
from support.durable_schedules import DurableSchedule

from cbnet.network.durable.journal_queue import JournalQueue
from cbnet.network.simulation.memory_disk import MemoryDisk

SCHEDULES = 12


@pytest.mark.parametrize("seed", range(SCHEDULES))
def test_what_a_receipt_promises_holds_under_faults(seed):
    assert DurableSchedule(seed).run() > 100


def is_found(**options):
    """Return whether the check of one of the schedules fails."""
    for seed in range(SCHEDULES):
        try:
            DurableSchedule(seed, **options).run()
        except AssertionError:
            return True
    return False


def test_a_disk_that_loses_what_it_has_confirmed_is_found():
    assert is_found(disk=partial(MemoryDisk, lies=True))


def test_an_answer_before_the_message_is_on_disk_is_found(monkeypatch):
    monkeypatch.setattr(JournalQueue, "after", lambda _, call: call())
    assert is_found()
