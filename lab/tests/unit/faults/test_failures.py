"""The record of a run with failures: what is missed in a settled network, and what during a change."""

import numpy as np
import pytest

from cbnet_lab.bench.network.load_clients import Order, PublishTiming
from cbnet_lab.bench.network.load_processes import ReceivedDeliveries
from cbnet_lab.bench.network.traffic import Traffic
from cbnet_lab.faults.failures import _check, _in_flight, _missed
from cbnet_lab.faults.record import FaultEvent, SettleEvent

# A message each second from 1 on, delivered after 100 ms to both subscribers; a failure at 5.05, a repair at 8.05.
TRAFFIC = Traffic([["k = 1"], ["k = 1"]], [{"k": 1}], 2)
EVENTS = [
    FaultEvent(5.05, "r", "kill"), SettleEvent(6.5, since=5.05),
    FaultEvent(8.05, "r", "kill", is_end=True), SettleEvent(8.5, since=8.05),
]  # fmt: skip
ORDER = Order(0, 10, 1.0)
ALL = [(subscriber, number) for number in range(10) for subscriber in (0, 1)]


def check(deliveries):
    subscribers, numbers = np.array(deliveries, np.int64).T
    at = ((numbers + 1.1) * 1e9).astype(np.int64)
    received = ReceivedDeliveries(PublishTiming(0, 1, 0.0), subscribers, numbers, np.full(len(at), 100.0), at)
    events = [*_in_flight(EVENTS, received)]
    return _check(TRAFFIC, ORDER, received, events, 1), events


def without(*missing):
    return [each for each in ALL if each not in missing]


def test_nothing_is_missed():
    found, events = check(ALL)
    assert found.is_good
    assert (found.counts["expected"], found.counts["missed"]) == (20, 0)
    assert _missed(found, events, is_repair=False).converged == pytest.approx(1.45)


@pytest.mark.parametrize("number", [0, 3, 6, 9])  # sent at 1, 4, 7 and 10
def test_a_miss_in_a_settled_network_is_a_loss(number):
    found, _ = check(without((1, number)))
    assert {kind: len(texts) for kind, texts in found.violations.items()} == {"lost": 1}
    assert [(count, is_promised) for _, count, is_promised in found.missed] == [(1, True)]


@pytest.mark.parametrize(
    ("missing", "is_repair"), [([(0, 4)], False), ([(0, 5), (1, 5)], False), ([(1, 7)], True)]
)  # sent at 5, 6 and 8
def test_a_miss_during_a_change_belongs_to_its_event(missing, is_repair):
    found, events = check(without(*missing))
    assert found.is_good
    missed = _missed(found, events, is_repair=is_repair)
    assert (missed.messages, missed.deliveries) == (1, len(missing))
    assert _missed(found, events, is_repair=not is_repair).messages == 0


def test_copies_and_strange_deliveries_are_found():
    assert [*check([*ALL, (0, 3)])[0].violations] == ["repeated"]
    assert [*check([*ALL, (0, 30)])[0].violations] == ["spurious"]
