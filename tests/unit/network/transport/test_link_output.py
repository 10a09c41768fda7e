"""Packets wait for credit of their hop class, in order; the counts of both sides agree."""

import pytest

from cbnet._kernels.link_output import LinkOutput
from cbnet.network.protocol.fields import MAX_CREDIT_HOPS
from cbnet.network.protocol.frames import Packet, Ping
from cbnet.network.protocol.wire import decode_packets, encode, encode_body

WINDOW, MARK = 1_000, 2_000


def packet(number, hops=1, size=100):
    """Return a packet of `size` bytes as a frame."""
    head = len(encode(Packet("a", 7, number, hops, 0, 5, 0, {}, [], b""))) + (
        size > 256
    )  # a longer length of the payload
    padded = Packet("a", 7, number, hops, 0, 5, 0, {}, [], bytes(size - head))
    assert len(encode(padded)) == size
    return padded


class Side:
    """One end of a link."""

    def __init__(self, max_queued=1 << 20):
        self.output = LinkOutput(1 << 20, 1 << 20, WINDOW, MARK, max_queued)
        self.output.open_queues()

    def send(self, *packets):
        for each in packets:
            self.output.add_packet(each.hops, encode_body(each))

    def receive(self, *packets):
        for each in packets:
            data = b"..." + encode(each)
            self.output.count_received(data, 3, len(data))

    def grant(self, hops, limit):
        self.output.grant(hops, limit)
        self.output.release()

    def written(self):
        return [each.number for each in decode_packets(self.output.take())]


@pytest.fixture
def side():
    return Side()


def test_packets_are_sent_while_their_bytes_are_below_the_limit(side):
    side.send(*(packet(number, size=300) for number in range(6)))
    assert side.written() == [0, 1, 2, 3]  # 900 bytes are below 1,000
    assert side.output.queued_packets == side.output.traffic.waiting == 600
    side.grant(1, 1_201)
    assert side.written() == [4]
    side.grant(1, 1_500)  # all of which was sent
    assert side.written() == []
    side.grant(1, 2_000)
    assert side.written() == [5]
    assert side.output.queued_packets == side.output.traffic.waiting == 0


def test_credit_is_never_less_than_before(side):
    side.grant(1, 5)
    side.send(packet(1))
    assert side.written() == [1]


def test_queued_packets_go_first(side):
    side.send(*(packet(number) for number in range(12)))
    assert side.written() == list(range(10))
    side.output.grant(1, 10_000)
    side.send(packet(12))
    assert side.written() == []
    side.output.release()
    assert side.written() == [10, 11, 12]


def test_each_class_has_its_own_credit_and_the_last_one_needs_none(side):
    side.send(*(packet(number) for number in range(11)), packet(20, hops=2))
    assert side.written() == [*range(10), 20]
    side.send(*(packet(number, hops=MAX_CREDIT_HOPS + 1) for number in range(50)))
    assert side.written() == list(range(50))
    side.send(*(packet(number, hops=MAX_CREDIT_HOPS) for number in range(50)))
    assert side.written() == list(range(10))


def test_packets_wait_while_the_neighbour_does_not_read(side):
    side.output.pause()
    side.send(packet(1), packet(2, hops=2))
    assert side.output.queued_packets == 200
    side.output.release()
    assert side.output.resume() == b""
    side.output.release()
    assert side.written() == [1, 2]


def test_queue_is_long_from_the_mark_until_half_of_it(side):
    side.send(*(packet(number) for number in range(30)))
    assert (side.output.queued_packets, side.output.take_fed()) == (2_000, [])
    side.send(packet(30), packet(0, hops=2))
    assert side.output.take_fed() == [1]
    assert side.output.take_fed() == []
    side.grant(1, 2_000)
    assert (side.output.queued_packets, side.output.take_relieved()) == (1_100, [])
    side.send(packet(31))
    assert side.output.take_fed() == [1]  # still long
    side.grant(1, 2_300)
    assert (side.output.queued_packets, side.output.take_relieved()) == (900, [1])
    side.send(packet(32))
    assert (side.output.take_fed(), side.output.take_relieved()) == ([], [])


def test_credit_is_granted_for_what_was_handled_in_steps_of_a_quarter(side):
    side.receive(packet(1), packet(2))
    assert side.output.take_grants() == []
    side.receive(packet(3, size=50), packet(4, hops=2, size=900))
    assert side.output.take_grants() == [(1, 1_250), (2, 1_900)]
    assert side.output.take_grants() == []


def test_withheld_credit_is_granted_later(side):
    side.output.withhold(1, True)
    side.receive(packet(1, size=900), packet(2, hops=2, size=900))
    assert side.output.take_grants() == [(2, 1_900)]
    side.output.withhold(1, False)
    assert side.output.take_grants() == [(1, 1_900)]


def test_packets_longer_than_the_window_pass_one_by_one(side):
    other = Side()
    for number in range(5):
        sent = packet(number, size=3_000)
        side.send(sent)
        assert side.written() == [number]
        other.receive(sent)
        for hops, limit in other.output.take_grants():
            side.grant(hops, limit)


def test_ping_follows_the_packets_before_it(side):
    side.send(*(packet(number) for number in range(12)), *(packet(number, hops=2) for number in range(11)))
    side.output.take()
    side.output.add_later(encode_body(Ping(5)))
    side.output.add_later(encode_body(Ping(6)))  # left out: one waits
    side.send(packet(12))
    side.grant(1, 1_200)
    assert side.written() == [10, 11]
    side.grant(2, 1_100)
    assert side.output.take() == encode(packet(10, hops=2)) + encode(Ping(5))
    side.grant(1, 5_000)
    assert side.written() == [12]
    side.output.add_later(encode_body(Ping(7)))
    assert side.output.take() == encode(Ping(7))


def test_oldest_packets_are_dropped_where_nobody_was_stopped():
    side = Side(max_queued=500)
    side.send(*(packet(number) for number in range(20)))
    assert side.output.take_dropped() == 5
    assert side.output.traffic.dropped == 5
    side.grant(1, 10_000)
    assert side.written() == [*range(10), *range(15, 20)]


def test_link_of_a_client_has_no_queues():
    output = LinkOutput(1 << 20, 1 << 20, WINDOW, MARK, 1 << 20)
    data = encode(packet(1))
    output.count_received(data, 0, len(data))
    output.withhold(1, True)
    output.grant(1, 5)
    output.release()
    assert (output.queued_packets, output.take_grants(), output.take_fed(), output.take_dropped()) == (0, [], [], 0)
