import pytest
from support.networks import RING, TWELVE, Named

from cbnet.errors import InputError
from cbnet.routing.simulate.ideal import fewest_packets


def test_the_fewest_packets_are_those_of_a_smallest_tree():
    fixture = Named(TWELVE)
    wanted = list(map(fixture.id, (2, 3, 4, 8)))
    assert fewest_packets(fixture.network, fixture.id(1), wanted) == 6  # 1-6, 6-2, 2-3, 6-7, 7-4, 7-8
    assert fewest_packets(fixture.network, fixture.id(1), [fixture.id(1)]) == 0


def test_destinations_beyond_the_reach_of_an_exact_search_are_refused():
    fixture = Named(TWELVE)
    with pytest.raises(InputError, match="up to 10 destinations, not for 11"):
        fewest_packets(fixture.network, 0, range(12))


def test_longer_ways_are_not_taken_to_save_packets():
    ring = Named(RING)  # from 1 to 3 the way over 4 is 4 long, over 2 it is 5
    wanted = [ring.id(2), ring.id(3)]
    assert fewest_packets(ring.network, ring.id(1), wanted) == 3
