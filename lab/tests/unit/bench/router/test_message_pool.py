"""Messages of the router benchmark: what subscribers and other clients want of them, by the reference."""

from itertools import islice

import msgspec

from cbnet.language.message import Message
from cbnet.language.syntax.parser import parse
from cbnet.matching import reference
from cbnet.network.protocol.frames import Publish
from cbnet_lab.bench.router.load import Load, MessagePool, enclosed, random_filters, subscriber_filter


def test_every_message_matches_every_subscriber():
    wanted = {index: parse(subscriber_filter("UA", index)) for index in range(3)}
    for members in MessagePool(50, 100, "UA", seed=1).attributes:
        assert reference.match(wanted, Message.from_dict(members)) == [0, 1, 2]


def test_no_message_matches_a_random_filter():
    pool = MessagePool(200, 100, "UA", seed=1)
    texts = list(random_filters(500, [pool], seed=2))
    assert len(set(texts)) == 500
    held = {index: parse(text) for index, text in enumerate(texts)}
    assert all(len(each.filters[0].constraints) == 3 for each in held.values())
    assert not any(reference.match(held, Message.from_dict(members)) for members in pool.attributes)


def test_random_filters_that_would_match_are_left_out():
    # 20,000 messages and 17,576 airports: about every second draw with the messages' airline would match.
    pool = Load().pool()
    by_dest = {members["dest"]: members for members in pool.attributes}
    for text in islice(random_filters(3_000, [pool], seed=0), 3_000):
        dest = text.split('"')[1]
        if dest in by_dest:
            assert not reference.match({0: parse(text)}, Message.from_dict(by_dest[dest]))


def test_content_is_part_of_the_frame():
    pool = MessagePool(3, 20, "UA", seed=0)
    for content, members in zip(pool.contents, pool.attributes, strict=True):
        frame = msgspec.msgpack.decode(enclosed(content.tobytes())[4:], type=Publish)
        assert (frame.attributes, frame.tags, len(frame.payload)) == (members, [], 20)
        assert frame.payload[:8] == bytes(8) == content[pool.stamp].tobytes()
        assert not frame.wants_answer


def test_small_pools_are_the_first_messages_of_large_ones():
    assert Load(payload=10_000, batch=20).pool().attributes == Load().pool().attributes[:300]
