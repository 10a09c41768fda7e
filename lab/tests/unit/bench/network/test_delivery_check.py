import numpy as np

from cbnet_lab.bench.network.load_clients import Order
from cbnet_lab.bench.network.traffic import DeliveryCheck, ExpectedDeliveries

# Two contents, three subscribers: the first content goes to 0 and, by two subscriptions, to 2; the other to 1.
EXPECTED = ExpectedDeliveries(np.array([[1, 0, 2], [0, 1, 0]], np.uint16), checked=2)
ORDER = Order(first=10, count=4)  # contents 0, 1, 0, 1
RIGHT = [(0, 10), (2, 10), (2, 10), (1, 11), (0, 12), (2, 12), (2, 12), (1, 13)]


def check(deliveries):
    return EXPECTED.check(ORDER, *np.array(deliveries, np.int64).reshape(-1, 2).T)


def test_what_had_to_come_and_came_is_exact():
    assert EXPECTED.required(ORDER).sum() == 8
    found = check(RIGHT)
    assert found == DeliveryCheck(expected=8, deliveries=8, missing=0, twice=0, spurious=0)
    assert found.problem is None


def test_what_did_not_come_is_missing():
    rest = [each for each in RIGHT if each not in ((1, 11), (0, 12))]
    assert check(rest) == DeliveryCheck(8, 6, missing=2, twice=0, spurious=0)


def test_what_came_again_is_twice_and_to_who_did_not_ask_spurious():
    found = check([*RIGHT, (0, 10), (1, 10), (0, 11)])
    assert found == DeliveryCheck(8, 8, missing=0, twice=1, spurious=2)
    assert found.problem == "0 missing, 1 duplicate, 2 spurious"


def test_a_message_of_another_order_is_spurious():
    assert check([*RIGHT, (0, 9), (1, 14)]).spurious == 2


def test_if_nothing_came_all_is_missing():
    assert check([]) == DeliveryCheck(8, 0, missing=8, twice=0, spurious=0)
