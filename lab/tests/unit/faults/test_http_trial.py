"""The record of a HTTP trial, and what counts as a problem."""

import pytest

from cbnet_lab.bench.network.traffic import Traffic
from cbnet_lab.faults import http_trial
from cbnet_lab.faults.http_trial import HttpRecord

# Two contents, two subscribers: the first content goes to both, the other to the second subscriber.
TRAFFIC = Traffic([["price = 1"], ["true"]], [{"price": 1, "#": ["eu"]}, {"price": 2, "#": []}], 2)
RIGHT = [(0, 0), (1, 0), (1, 1), (0, 2), (1, 2)]  # subscriber, number of a message


def problems(deliveries, *events):
    record = HttpRecord(TRAFFIC)
    sent = [record.publish(number) for number in range(3)]
    for subscriber, number, *changes in deliveries:
        message = {**sent[number]["message"], **(changes[0] if changes else {})}
        record.receive(subscriber, {"message": message, "payload": sent[number]["payload"]})
    for event in events:
        event(record)
    return [*http_trial.delivery_problems(record.findings())]


def test_exact_deliveries_are_no_problem():
    assert problems(RIGHT) == []
    assert problems(sorted(RIGHT)) == []  # the order between subscribers does not matter


@pytest.mark.parametrize(
    ("deliveries", "problem"),
    [
        (RIGHT[:-1], "1 deliveries missing"),
        ([*RIGHT, (1, 2)], "1 deliveries duplicate"),
        ([*RIGHT, (0, 1)], "1 deliveries spurious"),
        ([*RIGHT[:-1], (1, 2, {"price": 5})], "1 deliveries altered"),
        ([*RIGHT[:-1], (1, 2, {"#": ["us"]})], "1 deliveries altered"),
        ([*RIGHT[:1], *reversed(RIGHT[1:3]), *RIGHT[3:]], "1 deliveries out of order"),
    ],
)
def test_wrong_deliveries_are_counted(deliveries, problem):
    assert problems(deliveries) == [problem]


def test_a_message_that_nobody_published_is_spurious():
    stray = {"message": {"price": 1}, "payload": "7 ..."}
    assert problems(RIGHT, lambda record: record.receive(0, stray)) == ["1 deliveries spurious"]


def test_losses_closed_connections_and_failed_health_checks_are_problems():
    found = problems(
        RIGHT,
        lambda record: record.receive(0, {"messages": 4}),
        lambda record: record.end(1),
        lambda record: record.compare("health", "health checks of 10 that failed", 2, 0),
    )
    assert found[0] == "4 deliveries reported as lost"
    assert found[1].startswith("subscriber 1, at ")
    assert found[1].endswith(": closed, not open")
    assert found[2].endswith(": 2, not 0")
    assert len(found) == 3
