import pytest
from support.networks import TWELVE, Named

from cbnet.errors import InputError
from cbnet.routing import Network, deliver, scheme
from cbnet.routing.schemes.ips import classes_at
from cbnet.topology import topology

FIXTURE = Named(TWELVE)


def classes(router):
    node = FIXTURE.id(router)
    classes = classes_at(FIXTURE.graph, [node], range(len(FIXTURE.graph)))[node]
    return [FIXTURE.names(each) for each in classes]


def test_1_5_and_9_are_one_class_at_6():
    assert {1, 5, 9} in classes(6)


@pytest.mark.parametrize("router", [2, 3, 4, 7, 8, 11, 12])
def test_1_5_9_and_6_are_indistinguishable_at_all_descendants_of_6(router):
    assert any({1, 5, 6, 9} <= each for each in classes(router))


def test_6_writes_itself_into_the_header_of_a_message_from_1():
    delivery = deliver(scheme("ips")(FIXTURE.network), FIXTURE.id(1), FIXTURE.message(2, 3, 4, 8))
    headers = {FIXTURE.graph.name(p.receiver): FIXTURE.graph.name(p.header) for p in delivery.packets}
    assert headers == {6: 1, 2: 6, 7: 6, 3: 2, 4: 7, 8: 7}


def test_sources_of_one_class_share_a_table():
    router = scheme("ips")(FIXTURE.network).router(FIXTURE.id(6))
    one, five, nine, ten = (router.table(FIXTURE.id(source)) for source in (1, 5, 9, 10))
    assert one is five is nine
    assert one is not ten


def test_router_that_replaces_a_source_need_not_be_a_sender():
    fixture = Named("1-2:1 2-3:1 3-4:1", senders=[1])
    delivery = deliver(scheme("ips")(fixture.network), fixture.id(1), fixture.message(4))
    assert [fixture.graph.name(packet.header) for packet in delivery.packets] == [1, 2, 3]


def test_large_networks_are_refused():
    network = Network(topology("ring:5001"), {0: "true"}, [0])
    with pytest.raises(InputError, match="up to 5,000 nodes, not 5,001"):
        scheme("ips")(network)
