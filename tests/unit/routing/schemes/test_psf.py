from support.networks import TIES, TWELVE, Named

from cbnet.routing import deliver, judge, scheme
from cbnet.routing.simulate.verdict import fewest_packets, is_ideal

TWELVE_NODES = Named(TWELVE)


def branches_at_6(source):
    """Return T_source/(6, w) for each neighbour w, by name [2006 Fig. 1]."""
    fixture = TWELVE_NODES
    table = scheme("psf")(fixture.network).router(fixture.id(6)).table(fixture.id(source))
    return {fixture.graph.name(w): fixture.names(behind) for w, behind in table.receivers.items()}


def test_the_branches_at_6_in_the_tree_of_1_are_those_of_figure_1():
    branches = branches_at_6(1)
    assert branches[7] == {4, 7, 8, 11, 12}
    assert 9 not in branches  # T_1/(6, 9) is empty
    assert branches[2] == {2, 3}


def test_the_table_of_6_for_messages_from_1_has_the_disjunctions_of_figure_1():
    fixture = TWELVE_NODES
    table = scheme("psf")(fixture.network).router(fixture.id(6)).table(fixture.id(1))
    assert set(map(str, table[fixture.id(7)].filters)) == {'#"4"', '#"7"', '#"8"', '#"11"', '#"12"'}
    assert set(map(str, table[fixture.id(2)].filters)) == {'#"2"', '#"3"'}


def test_header_is_the_source_on_every_link():
    fixture = TWELVE_NODES
    delivery = deliver(scheme("psf")(fixture.network), fixture.id(1), fixture.message(2, 3, 4, 8))
    assert fixture.packets(delivery) == {(1, 6), (6, 2), (2, 3), (6, 7), (7, 4), (7, 8)}
    assert {packet.header for packet in delivery.packets} == {fixture.id(1)}


def test_with_ties_psf_is_latency_minimal_and_not_ideal():
    fixture = Named(TIES)  # 0 next to 1 and 2, both next to 3 and 4
    message = fixture.message(2, 3, 4)
    delivery = deliver(scheme("psf")(fixture.network), 0, message)
    assert fixture.packets(delivery) == {(0, 1), (0, 2), (1, 3), (1, 4)}  # 1 is the smaller parent of 3 and of 4
    assert judge(fixture.network, delivery).is_latency_minimal
    assert fewest_packets(fixture.network, 0, [2, 3, 4]) == 3  # 0 to 2, which has to hear it anyway, then 3 and 4
    assert not is_ideal(fixture.network, delivery)
