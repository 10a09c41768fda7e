"""Nobody can publish under the identity of another durable publisher."""

from hashlib import blake2b

import pytest
from support.durable_networks import DurableLab, answers, home_behind_link, payloads

from cbnet.network.client.durable.durable_publishing import new_publisher
from cbnet.network.durable.publications import publisher_incarnation
from cbnet.network.protocol.fields import MAX_INT
from cbnet.network.protocol.frames import DurableMark, DurablePublish, DurablePublished, Packet
from cbnet.network.protocol.wire import encode


def test_an_incarnation_is_the_documented_function_of_the_number():
    for number in (0, 1, MAX_INT):
        digest = blake2b(number.to_bytes(8, "little"), digest_size=8, person=b"cbnet publisher").digest()
        assert publisher_incarnation(number) == int.from_bytes(digest, "little") % 2**63


def test_numbers_of_clients_are_drawn_from_the_whole_range():
    drawn = {new_publisher().publisher for _ in range(100)}
    assert len(drawn) == 100
    assert 2**62 < max(drawn) <= MAX_INT


@pytest.mark.parametrize("where", ["a", "c"])
def test_a_client_that_has_seen_messages_cannot_publish_as_their_publisher(where):
    """It raises the floor of what it takes for the publisher, at the router of the publisher or at the home."""
    net = DurableLab("a-b b-c", diskless="b")
    alice, carol, mallory = net.client("a"), net.client("c"), net.client(where)
    carol.subscribe_durable(1, "billing", "x > 0")
    mallory.subscribe(1, "x > 0")
    net.run(3)
    sent = [alice.publish_durable({"x": 1}, b"before")]
    net.run(2)
    _, incarnation, _ = mallory.deliveries[0].message
    assert carol.stored[0].incarnation == incarnation != alice.publisher.publisher
    mallory.send(DurablePublish(incarnation, 900, 900, 5.0, {"x": 1}, [], b"forged"))
    net.run(2)
    sent += [alice.publish_durable({"x": 1}, b"after %d" % n) for n in range(3)]
    net.run(3)
    assert [alice.receipts[each].subscriptions for each in sent] == [1] * 4
    assert payloads(carol) == [b"before", b"forged", b"after 0", b"after 1", b"after 2"]


def test_answers_name_the_publisher_by_its_own_number():
    net = DurableLab("a")
    alice = net.client("a")
    alice.publish_durable({"x": 1})
    net.run(1)
    (answer,) = answers(alice, DurablePublished)
    assert (answer.publisher, answer.sequence) == (alice.publisher.publisher, 1)


def test_a_home_says_of_no_message_below_the_floor_that_it_is_stored():
    net, bob, host, link = home_behind_link()
    entries, publications = [], net.memory.router("a").durable.publications
    publications.stored = lambda frame: entries.extend(frame.entries)

    def arrive(number, floor):
        mark = DurableMark(floor, {"b": 0}, False)
        host.received_bytes(
            link, encode(Packet("a", 77, number, 1, 0, 0, 0, {"x": 1}, [], b"%d" % number, durable=mark))
        )
        net.run(1)

    arrive(1, floor=1)
    arrive(5, floor=5)
    arrive(1, floor=1)  # it is stored, and the home does not know it any more
    arrive(2, floor=1)
    assert payloads(bob) == [b"1", b"5"]
    past = "its publisher waits for no answer any more, or it arrived before lost subscriptions were created again"
    assert [(each.number, each.subscriptions, each.problem) for each in entries] == [
        (1, 1, ""), (5, 1, ""), (1, 0, past), (2, 0, past)
    ]  # fmt: skip
