"""What a client may have missed during an interruption."""

from cbnet._kernels.delivery import DeliveryReader
from cbnet.network.client.client_events import Interruption
from cbnet.network.client.client_link import delivery_of
from cbnet.network.protocol.frames import Deliver


def delivery(number, source="a", incarnation=1):
    return delivery_of(
        Deliver(
            subscriptions=[1],
            source=source,
            incarnation=incarnation,
            number=number,
            attributes={},
            tags=[],
            payload=b"",
        )
    )


def newest(*deliveries):
    reader = DeliveryReader()
    for each in deliveries:
        reader.add([1], each)
    return reader.highest()


def test_highest_numbers_are_those_of_each_source_and_incarnation():
    given = [delivery(7), delivery(5), delivery(3, incarnation=2), delivery(9, "b")]
    assert newest(*given) == {("a", 1): 7, ("a", 2): 3, ("b", 1): 9}


def test_first_message_after_an_interruption_bounds_what_was_missed():
    interruption = Interruption()
    interruption.begin(newest(delivery(7), delivery(9, "b"), delivery(1, "c")), 0.0)
    assert interruption.check({1: [delivery(12), delivery(13)], 2: [delivery(11)]}, 1.0) == [("a", 3)]  # 8 to 10
    assert interruption.check({1: [delivery(20), delivery(10, "b")]}, 1.0) == []  # nothing between 9 and 10
    assert interruption.is_open
    assert interruption.check({1: [delivery(5, "c", incarnation=2)]}, 1.0) == []  # another incarnation counts anew
    assert interruption.missed == 3


def test_of_two_interruptions_the_first_one_counts():
    interruption = Interruption()
    interruption.begin({("a", 1): 7}, 0.0)
    interruption.begin({("a", 1): 8, ("b", 1): 4}, 1.0)
    assert interruption.check({1: [delivery(10), delivery(5, "b")]}, 2.0) == [("a", 2)]
    assert not interruption.is_open


def test_message_long_after_an_interruption_says_nothing():
    interruption = Interruption()
    interruption.begin({("a", 1): 7}, 0.0)
    assert interruption.check({1: [delivery(1_000)]}, 61.0) == []
    assert (interruption.is_open, interruption.missed) == (False, 0)
