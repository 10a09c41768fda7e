"""Random histories of a home group: what was promised holds over takeovers, and broken builds are found."""

from itertools import islice

import pytest

from cbnet.network.durable.home_log.journal_queue import JournalQueue
from cbnet.network.durable.publisher_windows import PublisherWindows
from cbnet.network.simulation.shared_disk import SharedDisk, Tenure
from cbnet.network.transport.journals import leased_journal
from cbnet_lab.bench.plan_options import Routing
from cbnet_lab.faults.check.checker import check_record
from cbnet_lab.faults.history_plan import HistoryPlan
from cbnet_lab.faults.memory_history import MemoryHistory
from cbnet_lab.faults.record import HoldEvent

ROUTINGS = [Routing(1), Routing(2), Routing(None)]
HISTORIES = 400  # of which some have a group: searched for a violation of a broken build


def has_group(seed):
    return bool(HistoryPlan.in_memory(seed).groups)


def run(seed):
    return MemoryHistory(seed, ROUTINGS[seed % 3]).run()


def test_what_a_receipt_promises_holds_over_takeovers():
    records = [run(seed) for seed in islice(filter(has_group, range(10, 100)), 8)]
    found = [check_record(events) for events in records]
    assert [each.violations for each in found] == [{}] * 8
    taken = [event.router for events in records for event in events if isinstance(event, HoldEvent)]
    assert len(taken) > 10
    faults = sum((each.faults for each in found), start=found[0].faults.__class__())
    assert {"kill for good", "suspend", "database away", "database cut", "slow clock"} <= {*faults}
    assert sum(each.counts["due"] for each in found) > 500


def is_found(kind, first):
    """Return whether the check of a history finds this kind of violation; first: a seed that found it, to save time."""
    for seed in dict.fromkeys((first, *filter(has_group, range(HISTORIES)))):
        try:
            if kind in check_record(run(seed)).violations:
                return True
        except AssertionError:  # a journal that two routers write may hold anything, also what no client can read
            continue
    return False


@pytest.mark.parametrize(("kind", "first"), [("lost", 78), ("stored twice", 120)])
def test_a_database_without_a_fence_is_found(kind, first, monkeypatch):
    monkeypatch.setattr(SharedDisk, "is_fenced", lambda *_: False)
    assert is_found(kind, first)


def test_a_lease_without_a_margin_for_clocks_is_found(monkeypatch):
    monkeypatch.setattr(leased_journal, "MARGIN", 0.0)
    assert is_found("stale", first=204)


def test_a_router_that_acts_after_its_lease_is_found(monkeypatch):
    monkeypatch.setattr(Tenure, "is_held", True)
    assert is_found("stale", first=83)


@pytest.mark.parametrize(("kind", "first"), [("lost", 4), ("stored twice", 15)])
def test_a_home_that_answers_before_the_commit_is_found(monkeypatch, kind, first):
    monkeypatch.setattr(JournalQueue, "after", lambda _, call: call())
    assert is_found(kind, first)


def test_a_home_that_forgets_its_publishers_in_a_takeover_is_found(monkeypatch):
    init = PublisherWindows.__init__
    monkeypatch.setattr(PublisherWindows, "__init__", lambda self, context, queue, _: init(self, context, queue, ()))
    assert is_found("stored twice", first=15)
