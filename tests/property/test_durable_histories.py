"""Random histories of durable publishing: what a receipt promises holds, and broken builds are found."""

from functools import partial

import pytest

from cbnet.lab.bench.histories.history_check import check_history
from cbnet.lab.bench.histories.simulated_history import SimulatedHistory
from cbnet.lab.bench.routing import Routing
from cbnet.network.durable.home import Home
from cbnet.network.durable.home_records import HomeRecords
from cbnet.network.durable.journal_queue import JournalQueue
from cbnet.network.durable.publications import Publications
from cbnet.network.durable.publisher_window import PublisherWindow
from cbnet.network.simulation.memory_disk import MemoryDisk

HISTORIES = 12
ROUTINGS = [Routing(1), Routing(2), Routing(None)]


def check(seed, **options):
    return check_history(SimulatedHistory(seed, ROUTINGS[seed % 3], **options).run())


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_what_a_receipt_promises_holds_under_faults(seed):
    checked = check(seed)
    assert checked.violations == {}
    assert checked.published > 100
    assert checked.faults.total() > 10


def test_a_seed_gives_the_same_history_again():
    assert SimulatedHistory(4, ROUTINGS[1]).run(10) == SimulatedHistory(4, ROUTINGS[1]).run(10)


def is_found(kind, histories=HISTORIES, **options):
    """Return whether the check of one of the histories finds this kind of violation."""
    return any(kind in check(seed, **options).violations for seed in range(histories))


def test_a_disk_that_loses_what_it_has_confirmed_is_found():
    assert is_found("lost", disk=partial(MemoryDisk, lies=True))


def test_an_answer_before_the_message_is_on_disk_is_found(monkeypatch):
    monkeypatch.setattr(JournalQueue, "after", lambda _, call: call())
    assert is_found("lost")


def test_a_build_that_sends_nothing_again_is_found(monkeypatch):
    monkeypatch.setattr(Publications, "_repeat", lambda _self, _publication: None)
    assert is_found("unanswered")


def test_a_build_that_holds_nothing_back_is_found(monkeypatch):
    """What comes too late is refused, to keep the order; without that, too, the order is wrong."""
    monkeypatch.setattr(Home, "_follows", lambda _self, _window, _packet: True)
    assert is_found("refused")
    monkeypatch.setattr(PublisherWindow, "is_late", lambda _self, _sequence: False)
    assert is_found("order")


def test_a_build_that_stores_repetitions_is_found(monkeypatch):
    monkeypatch.setattr(PublisherWindow, "add", lambda _self, _sequence: None)
    assert is_found("stored twice")


def test_a_router_without_a_journal_that_answers_before_it_knows_the_homes_is_found(monkeypatch):
    monkeypatch.setattr(HomeRecords, "is_synchronised", True)
    assert is_found("lost", histories=60)
