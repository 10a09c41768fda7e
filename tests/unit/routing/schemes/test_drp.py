from itertools import combinations

import pytest
from support.networks import TRIANGLE, TWELVE, TWELVE_TIED, Named

from cbnet.errors import InputError
from cbnet.routing import deliver, judge, scheme
from cbnet.routing.scheme import header_bytes
from cbnet.routing.schemes.drp import Drp
from cbnet.routing.schemes.unicast import OneTree, ReplacedHops, ShortestPaths, unicast
from cbnet.routing.simulate.verdict import is_ideal

FIXTURE = Named(TWELVE)


def group(*names):
    return tuple(sorted(map(FIXTURE.id, names)))


def test_1_sends_6_the_destinations_of_figure_4():
    router = scheme("drp")(FIXTURE.network).router(FIXTURE.id(1))
    header = router.init(FIXTURE.message(2, 3, 4, 8))
    assert router.fwd(header, FIXTURE.message(2, 3, 4, 8)) == [FIXTURE.id(6)]
    assert router.hdr(header, FIXTURE.id(6)) == group(2, 3, 4, 8)


def test_6_splits_them_by_next_hop():
    router = scheme("drp")(FIXTURE.network).router(FIXTURE.id(6))
    assert router.groups(group(2, 3, 4, 8)) == {FIXTURE.id(2): group(2, 3), FIXTURE.id(7): group(4, 8)}


def test_in_the_plain_form_both_next_hops_get_the_whole_partition():
    router = Drp(FIXTURE.network, partition=True).router(FIXTURE.id(6))
    came = ((FIXTURE.id(6), group(2, 3, 4, 8)),)
    split = ((FIXTURE.id(2), group(2, 3)), (FIXTURE.id(7), group(4, 8)))
    assert router.fwd(came, FIXTURE.message()) == [FIXTURE.id(2), FIXTURE.id(7)]
    assert router.hdr(came, FIXTURE.id(2)) == router.hdr(came, FIXTURE.id(7)) == split
    # Outer list, two pairs, each with a neighbour and a list of two: 1 + 2 * (1 + 1 + 1 + 2) bytes; alone 1 + 2.
    assert [header_bytes(split), header_bytes(group(2, 3))] == [11, 3]


def test_router_removes_itself_from_its_group():
    router = scheme("drp")(FIXTURE.network).router(FIXTURE.id(2))
    assert router.groups(group(2, 3)) == {FIXTURE.id(3): group(3)}


def test_7_sees_two_packets_when_8_goes_by_9_and_11_by_1():
    tied = Named(TWELVE_TIED)
    five = tied.id(5)
    hops = {(five, tied.id(8)): tied.id(9), (five, tied.id(11)): tied.id(1)}
    by_hand = ReplacedHops(ShortestPaths(tied.network), hops)
    delivery = deliver(Drp(tied.network, by_hand), five, tied.message(7, 8, 11))
    assert sum(packet.receiver == tied.id(7) for packet in delivery.packets) >= 2
    verdict = judge(tied.network, delivery)
    assert (verdict.missed, verdict.is_latency_minimal) == (0, True)
    assert verdict.duplicates >= 1
    assert not is_ideal(tied.network, delivery)


def test_next_hops_of_one_tree_per_node_cause_no_duplicates():
    tied = Named(TWELVE_TIED)
    for source in range(12):
        for targets in combinations(range(1, 13), 3):
            delivery = deliver(scheme("drp")(tied.network), source, tied.message(*targets))
            assert judge(tied.network, delivery).duplicates == 0


def test_drp_may_be_ideal_although_shortest_paths_are_not_unique():
    triangle = Named(TRIANGLE)  # from 1 to 3: directly, or by 2, both of length 2
    one, three = triangle.id(1), triangle.id(3)
    fewest_hops = ReplacedHops(ShortestPaths(triangle.network), {(one, three): three, (three, one): one})
    for source in range(3):
        for targets in ((1,), (2,), (3,), (1, 2), (1, 3), (2, 3), (1, 2, 3)):
            delivery = deliver(Drp(triangle.network, fewest_hops), source, triangle.message(*targets))
            assert is_ideal(triangle.network, delivery)


def test_path_from_12_to_8_is_longer_along_one_tree():
    # 7 has the most neighbours, five; in its tree 8 and 12 hang on two branches.
    assert FIXTURE.graph.name(OneTree(FIXTURE.network).tree.root) == 7
    delivery = deliver(Drp(FIXTURE.network, OneTree(FIXTURE.network)), FIXTURE.id(12), FIXTURE.message(8))
    assert FIXTURE.packets(delivery) == {(12, 11), (11, 7), (7, 8)}
    assert judge(FIXTURE.network, delivery).stretches == (5 / 3,)  # 2 + 1 + 2 over 3


def test_a_next_hop_must_be_a_neighbour():
    with pytest.raises(InputError, match="node 1, the next hop from 0 to 8, is not a neighbour of 0"):
        ReplacedHops(ShortestPaths(FIXTURE.network), {(0, 7): 5, (0, 8): 1})


def test_an_unknown_unicast_is_refused():
    with pytest.raises(InputError, match="use one of shortest, tree"):
        unicast("pigeon", FIXTURE.network)
