import pytest
from support.networks import RING, Named

from cbnet.errors import InputError
from cbnet.language import Message
from cbnet.routing import DeliveryTree, SentPacket, deliver, judge, scheme

RING_OF_FOUR = Named(RING, senders=[1])
NETWORK = RING_OF_FOUR.network


def test_packets_have_cause_ends_and_latency():
    delivery = deliver(scheme("psf")(NETWORK), 0, RING_OF_FOUR.message(2, 3))
    assert delivery.packets == [
        SentPacket(cause=-1, sender=0, receiver=1, header=0, latency=3),
        SentPacket(cause=-1, sender=0, receiver=3, header=0, latency=2),
        SentPacket(cause=1, sender=3, receiver=2, header=0, latency=4),
    ]
    assert delivery.latencies == {0: 0, 1: 3, 3: 2, 2: 4}
    assert (delivery.cost, delivery.header_bytes) == (3, 3)
    assert delivery.edges == {(0, 1), (0, 3), (3, 2)}


def test_message_without_receivers_causes_no_packet():
    assert deliver(scheme("drp")(NETWORK), 0, Message()).packets == []


def test_only_senders_send():
    with pytest.raises(InputError, match="node 3 is not a sender"):
        deliver(scheme("psf")(NETWORK), RING_OF_FOUR.id(3), Message())


def handmade(*hops, interested):
    """Return the verdict on a delivery from node 0 (called 1) by packets (cause, sender, receiver, latency)."""
    packets = [SentPacket(cause, u, w, 0, latency) for cause, u, w, latency in hops]
    return judge(NETWORK, DeliveryTree(0, RING_OF_FOUR.message(*interested), packets, is_cut=False))


def test_a_node_that_is_not_reached_is_missed():
    verdict = handmade((-1, 0, 1, 3), interested=(2, 3))
    assert (verdict.delivered, verdict.missed, verdict.spurious) == (1, 1, 0)
    assert not verdict.is_correct
    assert not verdict.is_latency_minimal


def test_packets_that_lead_to_no_interested_node_are_spurious():
    verdict = handmade((-1, 0, 1, 3), (-1, 0, 3, 2), (1, 3, 2, 4), interested=(2,))
    assert verdict.spurious == 2
    assert handmade((-1, 0, 1, 3), (0, 1, 2, 5), interested=(3,)).spurious == 0  # 2 is passed on the path to 3


def test_a_second_packet_to_a_node_and_one_back_to_the_source_are_duplicates():
    verdict = handmade((-1, 0, 1, 3), (-1, 0, 3, 2), (1, 3, 2, 4), (2, 2, 1, 6), (0, 1, 0, 6), interested=(2, 3))
    assert verdict.duplicates == 2
    assert verdict.is_latency_minimal  # the first copy counts


def test_a_detour_shows_as_stretch():
    verdict = handmade((-1, 0, 1, 3), (0, 1, 2, 5), interested=(2, 3))
    assert verdict.stretches == (1.0, 1.25)  # 3 is reached over 2 by 5, and could be over 4 by 4
    assert verdict.late == 1
    assert verdict.is_correct
    assert not verdict.is_latency_minimal


def test_latency_is_that_of_the_shortest_path_even_if_it_arrives_last():
    verdict = handmade((-1, 0, 1, 3), (0, 1, 2, 5), (-1, 0, 3, 2), (2, 3, 2, 4), interested=(3,))
    assert verdict.stretches == (1.0,)


def test_the_source_is_not_counted_among_the_receivers():
    assert handmade(interested=(1,)) == handmade(interested=())
