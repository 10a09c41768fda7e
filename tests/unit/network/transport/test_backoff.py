from random import Random

from cbnet.network.transport.backoff import Backoff


def test_delays_double_up_to_a_maximum_with_jitter():
    backoff = Backoff(first=0.1, maximum=1.0, random=Random(1))
    waits = [backoff.next() for _ in range(7)]
    for wait, longest in zip(waits, [0.1, 0.2, 0.4, 0.8, 1.0, 1.0, 1.0], strict=True):
        assert longest / 2 <= wait <= longest
    assert waits != [Backoff(first=0.1, maximum=1.0, random=Random(2)).next() for _ in range(7)]


def test_success_resets_the_delay():
    backoff = Backoff(first=0.1, maximum=10.0, random=Random(1))
    for _ in range(5):
        backoff.next()
    backoff.reset()
    assert backoff.next() <= 0.1
