"""All objects of a router process are visited in quiet moments, and not because many are made."""

import gc

import pytest

from cbnet.network.transport import event_loop
from cbnet.network.transport.event_loop import GarbageTimer


class Times:
    """The time, and the time in which the loop was busy, as the test says."""

    def __init__(self):
        self.now = self.busy = 0.0

    def look(self, timer, seconds, share):
        self.now += seconds
        self.busy += seconds * share
        return timer.look()


@pytest.fixture
def times():
    threshold = gc.get_threshold()
    yield Times()
    gc.unfreeze()
    gc.set_threshold(*threshold)


@pytest.fixture
def timer(times):
    return GarbageTimer(lambda: times.now, lambda: times.busy)


class Node:
    """A part of a cycle."""


def cycle():
    one = Node()
    one.self = one


def nodes():
    return sum(type(each) is Node for each in gc.get_objects())


def test_garbage_is_collected_in_a_quiet_moment_once_a_minute(timer, times):
    assert not times.look(timer, 30, 0.01)
    assert times.look(timer, 31, 0.01)
    assert not times.look(timer, 59, 0.01)
    assert times.look(timer, 1, 0.01)


def test_a_busy_router_collects_nothing_for_an_hour(timer, times):
    assert not any(times.look(timer, 1, 0.5) for _ in range(3599))
    assert times.look(timer, 1, 0.5)


@pytest.mark.usefixtures("timer")
def test_making_very_many_objects_visits_no_old_ones():
    before = gc.get_stats()[2]["collections"]
    kept = [[number] for number in range(300_000)]
    assert gc.get_stats()[2]["collections"] == before
    assert len(kept) == 300_000


def test_what_is_there_is_frozen_if_the_visit_took_long_and_thawed_within_the_hour(times, monkeypatch):
    timer = GarbageTimer(lambda: times.now, lambda: times.busy)
    kept = [Node()]
    assert times.look(timer, 60, 0)
    assert nodes() == 1  # not frozen: the visit took no time
    collect = gc.collect

    def slowly():
        times.busy += 2 * event_loop._LONG
        return collect()

    monkeypatch.setattr(gc, "collect", slowly)
    assert times.look(timer, 60, 0)
    assert nodes() == 0  # no generation has it
    node = kept.pop()
    node.self = node
    del node
    assert times.look(timer, 60, 0)
    assert times.look(timer, 3600, 0)
    gc.unfreeze()
    assert nodes() == 0  # it was found


def test_a_cycle_of_old_objects_is_found_in_a_quiet_moment(timer, times):
    for _ in range(100):
        cycle()
    assert times.look(timer, 60, 0)
    assert nodes() == 0
