import numpy as np

from cbnet.network.client.load_clients import Order, PublishTiming
from cbnet_lab.bench.network.delivery_check import DeliveryCheck, check_deliveries, expected_count
from cbnet_lab.bench.network.load_processes import ReceivedDeliveries
from cbnet_lab.bench.network.traffic import ExpectedDeliveries

# Two contents, three subscribers: the first content goes to 0 and, by two subscriptions, to 2; the other to 1.
EXPECTED = ExpectedDeliveries(np.array([[1, 0, 2], [0, 1, 0]], np.uint16), checked=2)
ORDER = Order(first=10, count=4)  # contents 0, 1, 0, 1
RIGHT = [(0, 10), (2, 10), (2, 10), (1, 11), (0, 12), (2, 12), (2, 12), (1, 13)]


def came(deliveries):
    subscribers, numbers = np.array(deliveries, np.int64).reshape(-1, 2).T
    return ReceivedDeliveries(
        PublishTiming(0, 1, 0.0), subscribers, numbers, np.zeros(len(numbers)), np.zeros(len(numbers), np.int64)
    )


def test_what_had_to_come_and_came_is_exact():
    assert expected_count(ORDER, EXPECTED) == 8
    found = check_deliveries(ORDER, EXPECTED, came(RIGHT))
    assert found == DeliveryCheck(expected=8, deliveries=8, missing=0, twice=0, spurious=0)
    assert found.problem is None


def test_what_did_not_come_is_missing():
    rest = [each for each in RIGHT if each not in ((1, 11), (0, 12))]
    assert check_deliveries(ORDER, EXPECTED, came(rest)) == DeliveryCheck(8, 6, missing=2, twice=0, spurious=0)


def test_what_came_again_is_twice_and_to_who_did_not_ask_spurious():
    found = check_deliveries(ORDER, EXPECTED, came([*RIGHT, (0, 10), (1, 10), (0, 11)]))
    assert found == DeliveryCheck(8, 8, missing=0, twice=1, spurious=2)
    assert found.problem == "0 missing, 1 duplicate, 2 spurious"


def test_a_message_of_another_order_is_spurious():
    assert check_deliveries(ORDER, EXPECTED, came([*RIGHT, (0, 9), (1, 14)])).spurious == 2


def test_if_nothing_came_all_is_missing():
    assert check_deliveries(ORDER, EXPECTED, came([])) == DeliveryCheck(8, 0, missing=8, twice=0, spurious=0)
