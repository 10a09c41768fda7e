"""The messages of a durable publisher that have no answer."""

from cbnet.network.client.durable.durable_publishing import DurablePublisher


def sequences(publisher, now):
    return [frame.sequence for frame in publisher.frames(now)]


def test_what_has_no_answer_is_sent_again_until_its_timeout():
    publisher = DurablePublisher(7)
    for timeout in (3.0, 10.0, 5.0):
        publisher.add({"x": 1}, [], b"", 0.0, timeout)
    assert sequences(publisher, 0.0) == [1, 2, 3]
    assert sequences(publisher, 3.0) == [2, 3]
    publisher.settle(3)
    assert sequences(publisher, 4.0) == [2]


def test_what_has_no_answer_keeps_its_number_until_the_client_gives_it_up():
    publisher = DurablePublisher(7)
    for _ in range(2):
        publisher.add({"x": 1}, [], b"", 0.0, 3.0)
    assert (sequences(publisher, 4.0), publisher.floor) == ([], 1)
    publisher.settle(1)
    assert publisher.floor == 2
