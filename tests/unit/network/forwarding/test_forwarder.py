"""What a router does with messages: deliver here, send on along the tree, commit again, drop and count."""

import pytest
from support.memory_networks import Alone, Lab, links_of, sent, shut

from cbnet.network.forwarding import forwarder as forwarding
from cbnet.network.protocol.frames import Deliver, LinkField, Packet, Publish, Published, RefusedFrame, Subscribe
from cbnet.network.protocol.reasons import ReasonCode


def between(**settings):
    """Return a router a between b and c, who want x = 1, with a client that wants y = 1."""
    alone = Alone("a", **settings)
    alone.leaf(1, "b", wants=["x = 1"])
    alone.leaf(2, "c", wants=["x = 1"])
    alone.client_link(9)
    alone.say(9, Subscribe(5, "y = 1", 0))
    alone.wait(0.2)
    return alone


def packet(alone, link=1, number=1, hops=1, tries=0, source="b", incarnation=1, side=None, **attributes):
    """Return a packet that comes over a link, for all nodes on this side."""
    return Packet(
        source=source,
        incarnation=incarnation,
        number=number,
        hops=hops,
        tree=0,
        side=alone.tree_link(link).near if side is None else side,
        tries=tries,
        attributes=attributes,
        tags=[],
        payload=b"p",
    )


def test_message_is_delivered_locally_and_forwarded():
    alone = between()
    done = alone.say(9, Publish(1, {"x": 1, "y": 1}, ["t"], b"pay", True))
    assert sent(done, Published, link=9) == [Published(1)]
    assert sent(done, Deliver, link=9) == [
        Deliver(
            subscriptions=[5],
            source="a",
            incarnation=100,
            number=1,
            attributes={"x": 1, "y": 1},
            tags=["t"],
            payload=b"pay",
        )
    ]
    (to_b,) = sent(done, Packet, link=1)
    assert (to_b.source, to_b.incarnation, to_b.number, to_b.hops, to_b.tries) == ("a", 100, 1, 1, 0)
    assert (to_b.attributes, to_b.tags, to_b.payload) == ({"x": 1, "y": 1}, ["t"], b"pay")
    assert to_b.side == alone.tree_link(1).side
    assert to_b.tree == 0  # the only one
    assert links_of(done, Packet) == [1, 2]


def test_message_without_receivers_is_not_forwarded():
    assert between().say(9, Publish(1, {"z": 1}, [], b"", False)) == []


def test_a_packet_is_sent_on_but_not_back():
    alone = between()
    done = alone.say(1, packet(alone, x=1, y=1))
    assert links_of(done, Packet) == [2]
    assert (sent(done, Packet)[0].hops, sent(done, Packet)[0].side) == (2, alone.tree_link(2).side)
    assert len(sent(done, Deliver, link=9)) == 1


def test_duplicate_packet_is_delivered_once_and_counted():
    alone = between()
    alone.say(1, packet(alone, x=1, y=1))
    assert sent(alone.say(2, packet(alone, link=2, tries=1, x=1, y=1)), Deliver) == []
    assert alone.router.counters["dropped.duplicate"] == 1


def test_packet_at_the_hop_limit_is_delivered_and_not_forwarded():
    alone = between()
    done = alone.say(1, packet(alone, hops=255, x=1, y=1))
    assert links_of(done, Packet) == []
    assert len(sent(done, Deliver)) == 1
    assert alone.router.counters["dropped.too_many_hops"] == 1


def test_packet_for_nodes_of_an_unknown_side_is_delivered_and_committed_again_here():
    alone = between()
    done = alone.say(1, packet(alone, side=12345, x=1, y=1))
    assert len(sent(done, Deliver)) == 1
    assert links_of(done, Packet) == [1, 2]  # also back: all nodes must get it
    assert {frame.tries for frame in sent(done, Packet)} == {1}
    assert alone.router.counters["packets_retried"] == 1


def test_packet_is_committed_again_once_at_each_router_and_at_most_three_times_in_all():
    alone = between()
    alone.say(1, packet(alone, side=12345, x=1))
    assert alone.say(1, packet(alone, side=12345, x=1)) == []
    assert alone.say(1, packet(alone, number=2, side=12345, tries=3, x=1)) == []
    assert alone.router.counters["dropped.link_closed"] == 2
    assert links_of(alone.say(1, packet(alone, number=3, side=12345, tries=2, x=1)), Packet) == [1, 2]


def test_packet_is_committed_to_the_newest_topology_if_a_link_of_its_tree_is_gone():
    alone = between()
    # c is also linked to b, which is no link of a's tree as long as a and c are linked
    alone.say(1, alone.record(1, "b", sequence=2, c=LinkField(9, [77])))
    alone.say(2, alone.record(2, "c", sequence=2, b=LinkField(9, [77])))
    alone.wait(0.2)
    done = alone.close(2)
    done += alone.say(9, Publish(1, {"x": 1}, [], b"", False))
    assert links_of(done, Packet) == [1]
    (to_b,) = sent(done, Packet)
    assert to_b.side == alone.tree_link(1).side
    assert alone.tree_link(1).behind == {"b", "c"}


def test_side_of_which_nothing_is_known_gets_everything():
    alone = Alone("a")
    alone.leaf(1, "b")
    alone.client_link(9)
    assert links_of(alone.say(9, Publish(1, {"q": 1}, [], b"", False)), Packet) == [1]
    assert alone.router.counters["packets_unpruned"] == 1
    alone.announce(1, ["x = 1"])
    assert links_of(alone.say(9, Publish(1, {"q": 1}, [], b"", False)), Packet) == []


def test_the_reserved_name_closes_the_link_of_a_router_and_is_refused_to_a_client():
    alone = between()
    refused = sent(alone.say(9, Publish(3, {"#": "t"}, [], b"", True)))
    assert refused == [
        RefusedFrame(
            22, 3, 'the name "#" is reserved for the tags of a message; choose another name', ReasonCode.INVALID
        ),
    ]
    assert 'the name "#" is reserved' in shut(alone.say(1, packet(alone, **{"#": 1})))[1]


def test_a_client_with_many_matching_subscriptions_gets_them_in_several_frames(monkeypatch):
    monkeypatch.setattr(forwarding, "MAX_ENTRIES", 2)
    alone = between()
    for id in range(6, 10):
        alone.say(9, Subscribe(id, "y > 0", 0))
    done = alone.say(9, Publish(1, {"y": 1}, [], b"", False))
    assert [frame.subscriptions for frame in sent(done, Deliver)] == [[5, 6], [7, 8], [9]]


@pytest.mark.parametrize("settings", [{"trees": 1}, {"trees": 4}, {"scheme": "pif"}, {"trees": 4, "commit": "message"}])
def test_every_receiver_gets_a_message_once(settings):
    lab = Lab("a-b b-c c-d d-e e-a b-e c-f", **settings)
    for number, name in enumerate(lab.names):
        lab.clients[name].subscribe(1, f"x > {number}")
    lab.run(1)
    lab.clients["d"].publish({"x": 3}, b"m")
    lab.run(1)
    assert {name: lab.payloads(name) for name in lab.names} == {
        **{name: [b"m"] for name in "abc"},
        **{name: [] for name in "def"},
    }


def test_tags_and_payload_arrive_as_they_were_sent():
    lab = Lab("a-b")
    lab.clients["b"].subscribe(1, '#"é t" and x = 0.5')
    lab.run(1)
    lab.clients["a"].publish({"x": 0.5}, bytes(range(256)), ("é t", "other"))
    lab.run(1)
    assert lab.payloads("b") == [bytes(range(256))]


RING = "a-b b-c c-d d-a a-c"


def test_messages_of_one_publisher_keep_their_order_on_four_trees():
    lab = Lab(RING, trees=4)
    for name in "bcd":
        lab.clients[name].subscribe(1, "exists x")
    lab.run(1)
    for number in range(100):
        lab.clients["a"].publish({"x": number}, str(number).encode())
        lab.run(0.003)
    lab.run(1)
    for name in "bcd":
        assert lab.payloads(name) == [str(number).encode() for number in range(100)]


def test_messages_of_one_publisher_may_take_all_trees():
    alone = between(trees=4, commit="message")
    alone.wait(3)
    frames = [frame for n in range(8) for frame in sent(alone.say(9, Publish(n, {"x": 1}, [], b"", False)), Packet, 1)]
    assert [frame.tree for frame in frames] == [1, 2, 3, 0, 1, 2, 3, 0]


def test_of_very_many_messages_with_one_slow_tree_none_is_lost_and_none_comes_twice():
    alone = between(trees=1)
    alone.say(9, Subscribe(6, "x = 1", 0))
    count, kept, got = 60_000, [], []
    template = packet(alone, x=1)
    for number in range(1, count + 1):
        sending = Packet(
            **{name: getattr(template, name) for name in template.__struct_fields__}
            | {"number": number, "tree": number % 4}
        )
        if number % 4 == 3:
            kept.append(sending)  # this tree is slow
        else:
            got += sent(alone.say(1, sending), Deliver, link=9)
    for sending in kept:
        got += sent(alone.say(1, sending), Deliver, link=9)
    assert len(got) == count
    assert {frame.number for frame in got} == set(range(1, count + 1))
    again = [sent(alone.say(1, sending), Deliver) for sending in kept[-1_000:]]
    assert not any(again)
