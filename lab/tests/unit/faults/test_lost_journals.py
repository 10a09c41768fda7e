"""Simulated histories whose homes start again with empty journals or backups: promises hold, broken builds are found."""

import pytest

from cbnet.network.durable.home_log.losses import Losses
from cbnet.network.durable.records.foreign_records import ForeignRecords
from cbnet.network.durable.records.home_records import HomeRecords
from cbnet_lab.bench.plan_options import Routing
from cbnet_lab.faults.check.checker import check_record
from cbnet_lab.faults.history_plan import HistoryPlan
from cbnet_lab.faults.memory_history import MemoryHistory

ROUTINGS = [Routing(1), Routing(2), Routing(None)]
SEARCHED = 40  # histories in which a violation of a broken build is searched


@pytest.fixture(autouse=True)
def plans(monkeypatch):
    monkeypatch.setattr(HistoryPlan, "in_memory", HistoryPlan.of_replaced_journals)


def check(seed):
    return check_record(MemoryHistory(seed, ROUTINGS[seed % 3]).run())


def is_found(*first):
    """Return whether a history has a false receipt; first: seeds of histories that had, which only saves time."""
    return any("lost" in check(seed).violations for seed in dict.fromkeys((*first, *range(SEARCHED))))


def test_receipts_and_reports_of_losses_hold_when_journals_are_lost_or_restored():
    five = [check(seed) for seed in range(5)]
    assert [each.violations for each in five] == [{}] * 5
    assert sum(each.faults["lost journal"] for each in five) > 1
    assert sum(each.faults["restored journal"] for each in five) > 1
    assert sum(each.counts["due"] for each in five) > 500


def test_a_build_that_reviews_no_record_of_another_journal_is_found(monkeypatch):
    monkeypatch.setattr(ForeignRecords, "is_unknown", lambda *_: False)
    assert is_found()


def test_a_build_that_reports_no_loss_is_found(monkeypatch):
    add = Losses.add
    monkeypatch.setattr(Losses, "add", lambda self, number, cause: add(self, number, cause) if number else None)
    assert is_found()


def test_a_router_that_publishes_before_it_knows_its_own_new_record_is_found(monkeypatch):
    monkeypatch.setattr(ForeignRecords, "are_superseded", True)
    assert is_found(5)


def test_a_home_that_announces_a_new_journal_before_it_has_neighbours_is_found(monkeypatch):
    monkeypatch.setattr(HomeRecords, "_is_early", False)
    assert is_found(45)
