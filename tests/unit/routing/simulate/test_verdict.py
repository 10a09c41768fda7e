import pytest
from support.networks import RING, TWELVE, Named

from cbnet.errors import InputError
from cbnet.routing import Totals, scheme, sweep
from cbnet.routing.schemes.drp import Drp
from cbnet.routing.schemes.pif import FStar
from cbnet.routing.schemes.unicast import OneTree
from cbnet.routing.simulate.verdict import fewest_packets


def test_totals_are_sums_over_the_deliveries():
    ring = Named(RING)
    traffic = [(ring.id(1), ring.message(2, 4)), (ring.id(1), ring.message(2, 4)), (ring.id(2), ring.message())]
    totals = sweep(scheme("pif")(ring.network), traffic)
    assert totals == Totals(
        messages=3, delivered=4, missed=0, spurious=2, duplicates=0, packets=6, header_bytes=6, stretch_sum=4.0
    )
    assert totals.stretch_mean == 1.0


def test_maximum_stretch_is_over_all_deliveries():
    fixture = Named(TWELVE)
    along_one_tree = Drp(fixture.network, OneTree(fixture.network))
    messages = [(fixture.id(12), fixture.message(8)), (fixture.id(7), fixture.message(8))]
    totals = sweep(along_one_tree, messages)
    assert (totals.stretch_max, totals.stretch_mean) == (5 / 3, (5 / 3 + 1) / 2)


def test_without_deliveries_there_is_no_stretch():
    assert sweep(scheme("psf")(Named(RING).network), []).stretch_mean == 1.0


def test_loops_are_counted():
    fixture = Named(TWELVE)
    totals = sweep(FStar(fixture.network), [(fixture.id(6), fixture.message(7, 10))], limit=50)
    assert (totals.cut, totals.packets) == (1, 50)


def test_ideal_deliveries_are_counted_if_asked_for():
    """On the ring of [2006 Figure 3] PIF sends one packet more than needed; a message for nobody is not checked."""
    ring = Named(RING)
    traffic = [(ring.id(1), ring.message(2, 4)), (ring.id(1), ring.message(2)), (ring.id(1), ring.message())]
    counts = {}
    for name in ("psf", "pif"):
        totals = sweep(scheme(name)(ring.network), traffic, check_ideal=True)
        counts[name] = (totals.ideal, totals.ideal_checked)
    assert counts["psf"] == (2, 2)
    assert counts["pif"][0] < counts["pif"][1] == 2
    assert sweep(scheme("psf")(ring.network), traffic).ideal_checked == 0


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
