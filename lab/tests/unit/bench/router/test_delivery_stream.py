"""Deliveries are checked in large pieces, and any difference is found."""

import pytest

from cbnet.errors import CbnetError
from cbnet.network.protocol.frames import Deliver, Ping
from cbnet.network.protocol.wire import encode
from cbnet_lab.bench.router.generators import DeliveryStream
from cbnet_lab.bench.router.load import MessagePool
from cbnet_lab.bench.router.wire_formats import CbnetFormat

POOL = MessagePool(7, 20, "UA", seed=3)


class Pieces:
    """A link that receives given bytes, so many at a time."""

    is_tls = False

    def __init__(self, data, size):
        self._data, self._size = data, size

    def receive_into(self, space):
        piece = self._data[: min(self._size, len(space))]
        self._data = self._data[len(piece) :]
        space[: len(piece)] = piece
        return len(piece)


def delivery(stamp, number=None, members=None):
    payload = stamp.to_bytes(8) + POOL.contents[0].tobytes()[-12:]
    return encode(
        Deliver([1], "a", 5, stamp + 1 if number is None else number, members or attributes(stamp), [], payload)
    )


def attributes(stamp):
    return POOL.attributes[stamp % 7]


def received(frames, size=1 << 20, publishers=1):
    stream = DeliveryStream(Pieces(b"".join(frames), size), CbnetFormat("UA"), POOL, publishers)
    while stream.receive():
        pass
    stream.check()
    return stream.count


@pytest.mark.parametrize("size", [1, 50, 1_000, 1 << 20])
def test_all_messages_in_order(size):
    # the numbers of packets grow from one byte to five
    frames = [delivery(stamp, number=stamp * 100) for stamp in range(800)]
    assert received(frames, size) == 800


def test_pings_between_deliveries():
    assert received([delivery(0), encode(Ping(1)), delivery(1), delivery(2), encode(Ping(2))]) == 3


def test_more_bytes_than_the_buffer_holds():
    assert received([delivery(stamp) for stamp in range(5_000)]) == 5_000


@pytest.mark.parametrize("stamps", [(0, 1, 3), (0, 1, 1), (0, 2, 1), (1,)])
def test_missing_duplicate_and_swapped_messages(stamps):
    with pytest.raises(CbnetError, match="was expected"):
        received([delivery(stamp) for stamp in stamps])


def test_changed_attributes():
    with pytest.raises(CbnetError, match="content"):
        received([delivery(0), delivery(1, members=attributes(2))])


def test_changed_payload():
    changed = bytearray(delivery(1))
    changed[-1] ^= 1
    with pytest.raises(CbnetError, match="content"):
        received([delivery(0), bytes(changed)])


def test_order_of_each_of_several_publishers():
    # with 2 publishers, even stamps are of one and odd ones of the other
    assert received(map(delivery, (0, 2, 1, 4, 3)), publishers=2) == 5
    with pytest.raises(CbnetError, match="message 4 arrived where 2 was expected"):
        received(map(delivery, (0, 1, 4, 2, 3)), publishers=2)
