from support.networks import RING, TWELVE, Named, via

from cbnet.routing import deliver, judge, scheme
from cbnet.routing.schemes.pif import FStar
from cbnet.routing.simulate.verdict import is_ideal

FIXTURE = Named(TWELVE)
SIX, SEVEN, NINE, TEN = map(FIXTURE.id, (6, 7, 9, 10))


def test_what_6_associates_with_9_is_the_union_over_all_sources_of_figure_2():
    table = scheme("pif")(FIXTURE.network).router(SIX).table
    union = set().union(*(via(FIXTURE.network, v, SIX, NINE) for v in range(12)))
    assert FIXTURE.names(union) == {5, 9, 10}
    assert set(map(str, table[NINE].filters)) == {'#"5"', '#"9"', '#"10"'}


def test_message_from_6_for_7_and_10_matches_as_the_paper_states():
    router, message = scheme("pif")(FIXTURE.network).router, FIXTURE.message(7, 10)
    assert {NINE, SEVEN} <= set(router(SIX).table.match(message))
    assert TEN in router(SEVEN).table.match(message)
    assert SEVEN in router(TEN).table.match(message)


def test_message_loops_and_multiplies_without_trees():
    message = FIXTURE.message(7, 10)
    counts = []
    for limit in (100, 1000, 10_000):
        delivery = deliver(FStar(FIXTURE.network), SIX, message, limit=limit)
        assert delivery.is_cut
        assert delivery.cost == limit
        counts.append(sum(packet.receiver == SEVEN for packet in delivery.packets))
    assert counts[0] < counts[1] < counts[2]  # 7 hears it again and again
    whole = deliver(scheme("pif")(FIXTURE.network), SIX, message)
    assert not whole.is_cut
    assert judge(FIXTURE.network, whole).is_correct


def test_children_are_those_of_the_source_tree():
    router = scheme("pif")(FIXTURE.network).router(SIX)
    assert FIXTURE.names(router.children(FIXTURE.id(1))) == {2, 7}


def test_3_gets_a_spurious_message_in_figure_3():
    ring = Named(RING)
    message = ring.message(2, 4)
    pif = deliver(scheme("pif")(ring.network), ring.id(1), message)
    assert set(map(str, scheme("pif")(ring.network).router(ring.id(4)).table[ring.id(3)].filters)) == {'#"2"', '#"3"'}
    assert ring.packets(pif) == {(1, 2), (1, 4), (4, 3)}
    verdict = judge(ring.network, pif)
    assert (verdict.delivered, verdict.missed, verdict.spurious, verdict.duplicates) == (2, 0, 1, 0)
    assert not is_ideal(ring.network, pif)
    psf = deliver(scheme("psf")(ring.network), ring.id(1), message)
    assert ring.packets(psf) == {(1, 2), (1, 4)}
    assert is_ideal(ring.network, psf)
