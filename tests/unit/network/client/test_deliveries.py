"""A client takes a message once, whichever routers deliver it, and reads its content when it is used."""

import pickle

import pytest

from cbnet._kernels.delivery import Delivery, DeliveryReader
from cbnet.network.client.client_link import delivery_of
from cbnet.network.protocol.frames import Deliver, Ping
from cbnet.network.protocol.wire import MAX_ROUTER_FRAME_BYTES, encode


def deliver(number, subscriptions=(1,), incarnation=7, source="r1"):
    return Deliver(list(subscriptions), source, incarnation, number, {"k": number}, [], b"")


def read(*frames):
    """Return the batches of frames that the kernel reads from bytes."""
    data = b"".join(map(encode, frames))
    end, count, batches = DeliveryReader().read(data, 0, MAX_ROUTER_FRAME_BYTES)
    assert (end, count) == (len(data), len(frames))
    return batches


def added(*frames):
    """Return the batches of frames that were decoded in Python."""
    reader = DeliveryReader()
    batches = {}
    for frame in frames:
        for id, deliveries in reader.add(frame.subscriptions, delivery_of(frame)).items():
            batches.setdefault(id, []).extend(deliveries)
    return batches


@pytest.fixture(params=[read, added])
def received(request):
    def numbers(*frames):
        """Return the numbers that each subscription receives out of some frames."""
        return {id: [each.message["k"] for each in batch] for id, batch in request.param(*frames).items()}

    return numbers


def test_message_delivered_again_after_a_restart_is_dropped(received):
    assert received(deliver(1), deliver(2), deliver(1), deliver(3)) == {1: [1, 2, 3]}


def test_last_message_delivered_again_is_dropped(received):
    assert received(deliver(1), deliver(1), deliver(1, [2]), deliver(1, [2])) == {1: [1], 2: [1]}


def test_number_of_another_incarnation_or_source_is_another_message(received):
    assert received(deliver(1), deliver(1, incarnation=8), deliver(1, source="r2")) == {1: [1, 1, 1]}


def test_message_for_very_many_subscriptions_comes_in_several_frames(received):
    first, second = range(2_000), range(1_990, 4_000)
    assert received(deliver(1, first), deliver(1, second)) == {id: [1] for id in range(4_000)}


def test_subscription_named_twice_in_a_frame_receives_the_message_once(received):
    assert received(deliver(1, [2, 1, 2]), deliver(2, [2])) == {2: [1, 2], 1: [1]}


def test_late_message_of_a_slow_tree_is_not_refused(received):
    assert received(deliver(20_000), deliver(1)) == {1: [20_000, 1]}


@pytest.mark.parametrize(
    "frame",
    [
        Ping(1),
        Deliver([1], "r1", 7, 2, {"x": {"y": 1}}, [], b""),  # nested
        Deliver([1], "", 7, 2, {}, [], b""),  # no source
        Deliver([1], "r" * 65, 7, 2, {}, [], b""),
        Deliver([*range(2_049)], "r1", 7, 2, {}, [], b""),
    ],
)
def test_reading_stops_before_a_frame_that_is_not_a_plain_delivery(frame):
    data = encode(deliver(1)) + encode(frame) + encode(deliver(3))
    assert DeliveryReader().read(data, 0, MAX_ROUTER_FRAME_BYTES)[:2] == (len(encode(deliver(1))), 1)


def test_frame_longer_than_allowed_is_left_to_python():
    data = encode(deliver(1))
    assert DeliveryReader().read(data, 0, len(data) - 4)[1] == 1
    assert DeliveryReader().read(data, 0, len(data) - 5)[1] == 0


MESSAGE = {"i": -7, "f": 1.0, "s": "é", "b": True, "n": None, "#": ["t", "u"]}
DELIVERY = Delivery(MESSAGE, b"payload", "r1", ("r1", 7, 9))


def test_content_is_decoded_when_it_is_used():
    attributes = {name: value for name, value in MESSAGE.items() if name != "#"}
    (delivery,) = read(Deliver([5], "r1", 7, 9, attributes, MESSAGE["#"], b"payload"))[5]
    assert (delivery.source, delivery.id) == ("r1", ("r1", 7, 9))
    assert delivery.payload == b"payload"
    assert delivery.message == MESSAGE
    assert [type(value) for value in delivery.message.values()] == [int, float, str, bool, type(None), list]
    assert delivery.message is delivery.message
    assert delivery == DELIVERY


def test_message_without_tags_has_no_member_for_them():
    assert read(deliver(1))[1][0].message == {"k": 1}


def test_delivery_is_a_value():
    assert pickle.loads(pickle.dumps(DELIVERY)) == DELIVERY
    assert hash(DELIVERY) == hash(Delivery({}, b"", "r1", ("r1", 7, 9)))
    assert Delivery(MESSAGE, b"", "r1", ("r1", 7, 9)) != DELIVERY
    assert DELIVERY != "text"
    assert repr(Delivery({"x": 1}, b"p", "r", ("r", 1, 2))) == (
        "Delivery(message={'x': 1}, payload=b'p', source='r', id=('r', 1, 2))"
    )
