"""The log of deliveries, and what counts as a problem."""

import numpy as np
import pytest

from cbnet.network.client.load_clients import Order
from cbnet_lab.bench.network.delivery_check import check_deliveries
from cbnet_lab.bench.network.traffic import ExpectedDeliveries
from cbnet_lab.faults.door.delivery_log import DeliveryLog
from cbnet_lab.faults.door.door_result import DoorPlan, DoorResult
from cbnet_lab.faults.door.door_traffic import PAYLOAD

# Two contents, two subscribers: the first content goes to both, the other to the second subscriber.
CONTENTS = [{"price": 1, "#": ["eu"]}, {"price": 2, "#": []}]
EXPECTED = ExpectedDeliveries(np.array([[1, 1], [0, 1]], np.uint16), checked=2)
RIGHT = [(0, 0), (1, 0), (1, 1), (0, 2), (1, 2)]  # subscriber, number of a message


class QuietWatch:
    checks = 10
    failures = 0


def delivered(number, **changes):
    message = {"n": number, "price": number % 2 + 1, **({"#": ["eu"]} if number % 2 == 0 else {})}
    return {"message": {**message, **changes}, "payload": PAYLOAD}


def problems(deliveries, *, watch=None, closed_after=31.0, **losses):
    log = DeliveryLog(CONTENTS, 2)
    for subscriber, number, *changes in deliveries:
        log.note(subscriber, delivered(number, **(changes[0] if changes else {})))
    for name, value in losses.items():
        setattr(log, name, value)
    check = check_deliveries(Order(0, 3), EXPECTED, log)
    plan = DoorPlan(streams=1, sockets=2, messages=3, seed=0)
    return DoorResult(plan, check, log, watch or QuietWatch(), 0, 0.0, 0.0, closed_after).problems()


def test_exact_deliveries_are_no_problem():
    assert problems(RIGHT) == []
    assert problems(sorted(RIGHT, reverse=False)) == []  # the order between subscribers does not matter


@pytest.mark.parametrize(
    ("deliveries", "problem"),
    [
        (RIGHT[:-1], "1 deliveries missing"),
        ([*RIGHT, (1, 2)], "1 deliveries duplicate"),
        ([*RIGHT, (0, 3)], "1 deliveries spurious"),
        ([*RIGHT[:-1], (1, 2, {"price": 5})], "1 deliveries altered"),
        ([*RIGHT[:-1], (1, 2, {"#": ["us"]})], "1 deliveries altered"),
        ([*RIGHT[:1], *reversed(RIGHT[1:3]), *RIGHT[3:]], "1 deliveries out of order"),
    ],
)
def test_wrong_deliveries_are_counted(deliveries, problem):
    assert problems(deliveries) == [problem]


def test_losses_closed_connections_and_failed_health_checks_are_problems():
    watch = QuietWatch()
    watch.failures = 2
    assert problems(RIGHT, lost=4, ended=["WebSocket 1"], watch=watch, closed_after=None) == [
        "4 deliveries reported as lost",
        "1 connections closed, first: WebSocket 1",
        "the client that never reads is still connected after 60 s",
        "2 of 10 health checks failed",
    ]
