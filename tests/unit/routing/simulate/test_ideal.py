import pytest
from support.networks import RING, TWELVE, Named

from cbnet.errors import InputError
from cbnet.routing.simulate.ideal import fewest_packets


def test_the_fewest_packets_are_those_of_a_smallest_tree():
    fixture = Named(TWELVE)
    destinations = list(map(fixture.id, (2, 3, 4, 8)))
    assert fewest_packets(fixture.network, fixture.id(1), destinations) == 6  # 1-6, 6-2, 2-3, 6-7, 7-4, 7-8
    assert fewest_packets(fixture.network, fixture.id(1), [fixture.id(1)]) == 0


def test_too_many_destinations_for_the_exact_search_are_refused():
    fixture = Named(TWELVE)
    with pytest.raises(InputError, match="up to 10 destinations, not for 11"):
        fewest_packets(fixture.network, 0, range(12))


def test_longer_paths_are_not_used_to_save_packets():
    ring = Named(RING)  # from 1 to 3 the path over 4 has length 4, over 2 length 5
    destinations = [ring.id(2), ring.id(3)]
    assert fewest_packets(ring.network, ring.id(1), destinations) == 3
