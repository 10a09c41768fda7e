from random import Random

from cbnet.network.transport.backoff import Backoff


def test_times_double_up_to_a_limit_and_are_never_the_same_for_all():
    backoff = Backoff(first=0.1, most=1.0, random=Random(1))
    waits = [backoff.next() for _ in range(7)]
    for wait, longest in zip(waits, [0.1, 0.2, 0.4, 0.8, 1.0, 1.0, 1.0], strict=True):
        assert longest / 2 <= wait <= longest
    assert waits != [Backoff(first=0.1, most=1.0, random=Random(2)).next() for _ in range(7)]


def test_after_a_success_it_begins_again():
    backoff = Backoff(first=0.1, most=10.0, random=Random(1))
    for _ in range(5):
        backoff.next()
    backoff.reset()
    assert backoff.next() <= 0.1
