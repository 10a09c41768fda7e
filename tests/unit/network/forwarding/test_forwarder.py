"""What a router does with messages: deliver here, send on, drop and count."""

import pytest
from support.memory_networks import Alone, Lab, links_of, sent, shut

from cbnet import parse_filter
from cbnet.network.forwarding import forwarder as forwarding
from cbnet.network.protocol.filter_codec import filter_to_bytes
from cbnet.network.protocol.frames import (
    Deliver,
    FilterChange,
    LinkRecord,
    Packet,
    Publish,
    Published,
    RefusedFrame,
    Subscribe,
)
from cbnet.routing import SCHEMES


def packet(number=1, header="b", hops=1, source="b", **attributes):
    return Packet(
        source=source, life=1, number=number, hops=hops, header=header, attributes=attributes, tags=[], payload=b"p"
    )


def between(scheme="psf"):
    """Return a router a between b and c, who want x = 1, with a client that wants y = 1."""
    alone = Alone("a", scheme=scheme)
    for link, name in ((1, "b"), (2, "c")):
        alone.router_link(link, name, scheme=scheme)
        wants = [filter_to_bytes(parse_filter("x = 1"))]
        alone.say(
            link,
            LinkRecord(name, 1, 1, 0, {"a": 1}),
            FilterChange(owner=name, life=1, sequence=1, age=0, added=wants, removed=[], wants_ack=False),
        )
    alone.client_link(9)
    alone.say(9, Subscribe(5, "y = 1", 0))
    alone.wait(0.2)
    return alone


def test_message_is_delivered_locally_and_forwarded():
    alone = between()
    done = alone.say(9, Publish(1, {"x": 1, "y": 1}, ["t"], b"pay", True))
    assert sent(done, Published, link=9) == [Published(1)]
    assert sent(done, Deliver, link=9) == [
        Deliver(
            subscriptions=[5], source="a", life=100, number=1, attributes={"x": 1, "y": 1}, tags=["t"], payload=b"pay"
        )
    ]
    assert sent(done, Packet, link=1) == [
        Packet(
            source="a", life=100, number=1, hops=1, header="a", attributes={"x": 1, "y": 1}, tags=["t"], payload=b"pay"
        )
    ]
    assert links_of(done, Packet) == [1, 2]


def test_message_without_receivers_is_not_forwarded():
    assert between().say(9, Publish(1, {"z": 1}, [], b"", False)) == []


def test_a_packet_is_sent_on_but_not_back():
    alone = between()
    done = alone.say(1, packet(x=1, y=1))
    assert links_of(done, Packet) == [2]
    assert sent(done, Packet)[0].hops == 2
    assert len(sent(done, Deliver, link=9)) == 1


def test_duplicate_packet_is_dropped_and_counted():
    alone = between()
    alone.say(1, packet(x=1, y=1))
    assert alone.say(2, packet(x=1, y=1)) == []
    assert alone.router.counters["dropped.duplicate"] == 1


def test_own_message_that_returns_is_dropped():
    alone = between()
    alone.say(9, Publish(1, {"x": 1, "y": 1}, [], b"", False))
    came_back = Packet(
        source="a", life=100, number=1, hops=2, header="a", attributes={"x": 1, "y": 1}, tags=[], payload=b""
    )
    assert alone.say(1, came_back) == []


def test_packet_at_the_hop_limit_is_delivered_and_not_forwarded():
    alone = between()
    done = alone.say(1, packet(hops=255, x=1, y=1))
    assert links_of(done, Packet) == []
    assert len(sent(done, Deliver)) == 1
    assert alone.router.counters["dropped.too_many_hops"] == 1


def test_packet_with_an_unknown_header_is_still_delivered_locally():
    alone = between()
    done = alone.say(1, packet(header="far", source="far", x=1, y=1))
    assert links_of(done, Packet) == []
    assert len(sent(done, Deliver)) == 1
    assert alone.router.counters["dropped.header_unreachable"] == 1


def test_packet_for_a_closed_link_is_counted_as_dropped():
    alone = between()
    alone.router_link(3, "d")  # makes a record; the next one must wait
    alone.close(2)
    done = alone.say(9, Publish(1, {"x": 1}, [], b"", False))
    assert links_of(done, Packet) == [1]
    assert alone.router.counters["dropped.link_closed"] == 1
    alone.wait(0.1)
    alone.say(9, Publish(2, {"x": 1}, [], b"", False))
    assert alone.router.counters["dropped.link_closed"] == 1


@pytest.mark.parametrize(("scheme", "header"), [("psf", ["b"]), ("drp", "b"), ("multitree", "b")])
def test_the_header_of_another_scheme_closes_the_link(scheme, header):
    alone = Alone("a", scheme=scheme)
    alone.router_link(1, "b", scheme=alone.router.settings.routing)
    assert "the header of a packet must be" in shut(alone.say(1, packet(header=header, x=1)))[1]


def test_the_reserved_name_closes_the_link_of_a_router_and_is_refused_to_a_client():
    alone = between()
    refused = sent(alone.say(9, Publish(3, {"#": "t"}, [], b"", True)))
    assert refused == [
        RefusedFrame(22, 3, 'the name "#" is reserved for the tags of a message; choose another name'),
    ]
    assert 'the name "#" is reserved' in shut(alone.say(1, packet(**{"#": 1})))[1]


def test_a_client_with_many_matching_subscriptions_gets_them_in_several_frames(monkeypatch):
    monkeypatch.setattr(forwarding, "MAX_ENTRIES", 2)
    alone = between()
    for id in range(6, 10):
        alone.say(9, Subscribe(id, "y > 0", 0))
    done = alone.say(9, Publish(1, {"y": 1}, [], b"", False))
    assert [frame.subscriptions for frame in sent(done, Deliver)] == [[5, 6], [7, 8], [9]]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_receiver_gets_a_message_once(scheme):
    lab = Lab("a-b b-c c-d d-e e-a b-e c-f", scheme=scheme)
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
