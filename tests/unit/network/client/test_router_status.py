import msgspec

from cbnet.network.client.router_status import router_rates
from cbnet.network.protocol.addresses import Address
from cbnet.network.protocol.frames import InterfaceStatus, Peer, Status

ADDRESS = Address("127.0.0.1", 4001)
INTERFACE = InterfaceStatus(
    neighbour="b", trees=[0], routers=2, is_up=True, is_heard=True, is_acknowledged=True, held=7, announced=4,
    covered=1, offers_held=0, offers_announced=0,
)  # fmt: skip


def status(uptime=10.0, incarnation=7, clients=3, peers=(), **counters):
    return Status(
        number=1,
        router="a",
        network="cbnet",
        scheme="multitree:1",
        incarnation=incarnation,
        uptime=uptime,
        neighbours={"b": 1, "c": 2},
        reachable=3,
        records=3,
        is_complete=True,
        versions=1,
        streams_in=2,
        streams_out=2,
        filters=40,
        table_filters=44,
        own_filters=4,
        subscriptions=5,
        clients=clients,
        interfaces=[INTERFACE],
        peers=list(peers),
        counters=counters,
    )


def test_rates_are_the_growth_of_counters_over_the_routers_own_time():
    before = status(10.0, published=100, packets_received=50, delivered=10, packets_sent=5)
    now = status(12.0, published=160, packets_received=70, delivered=14, packets_sent=9)
    row = router_rates("a", ADDRESS, before, now)
    assert row.in_per_s == (60 + 20) / 2
    assert row.out_per_s == (4 + 4) / 2


def test_first_status_has_no_rate():
    row = router_rates("a", ADDRESS, None, status())
    assert (row.answers, row.in_per_s, row.out_per_s) == (True, None, None)


def test_restarted_router_has_no_rate():
    assert router_rates("a", ADDRESS, status(10.0, incarnation=7), status(12.0, incarnation=8)).in_per_s is None


def test_querying_client_is_not_counted():
    assert router_rates("a", ADDRESS, None, status(clients=3)).clients == 2


def test_drops_are_listed_by_reason():
    now = status(published=3, **{"dropped.duplicate": 2, "dropped.too_many_hops": 0})
    assert router_rates("a", ADDRESS, None, now).dropped == {"duplicate": 2}


def test_status_without_peers_is_not_detailed():
    assert not router_rates("a", ADDRESS, None, status()).is_detailed
    assert router_rates(
        "a", ADDRESS, None, status(peers=[Peer(name="x", role="client", received=1, sent=2, waiting=0, dropped=0)])
    ).is_detailed


def test_waiting_is_the_sum_over_all_links():
    peers = [
        Peer(name="b", role="router", received=1, sent=2, waiting=30, dropped=0),
        Peer(name="x", role="client", received=1, sent=2, waiting=12, dropped=0),
    ]
    assert router_rates("a", ADDRESS, None, status(peers=peers)).waiting == 42


def test_interfaces_and_announcements_are_reported():
    row = router_rates("a", ADDRESS, None, status(filters_sent=9, packets_retried=2, packets_unpruned=3))
    (interface,) = row.members()["interfaces"]
    assert (interface["neighbour"], interface["held"], interface["covered"]) == ("b", 7, 1)
    assert (row.filters, row.table_filters, row.own_filters, row.streams_in, row.versions) == (40, 44, 4, 2, 1)
    assert (row.filters_sent, row.packets_retried, row.packets_unpruned) == (9, 2, 3)


def test_router_that_does_not_answer_keeps_its_name():
    row = router_rates("r9", ADDRESS, status(), None)
    assert (row.router, row.address, row.answers, row.dropped) == ("r9", "127.0.0.1:4001", False, None)


def test_initial_filters_and_their_deliveries_are_reported():
    now = msgspec.structs.replace(status(**{"delivered_initial": 9}), initial=40)
    row = router_rates("a", ADDRESS, None, now)
    assert (row.initial, row.delivered_to_initial, row.delivered) == (40, 9, 0)


def peer(name, role="router", received=0, sent=0, waiting=0):
    return Peer(name, role, 0, 0, waiting, 0, messages_received=received, messages_sent=sent)


def test_a_link_has_the_growth_of_its_messages():
    before = status(10.0, peers=[peer("b", received=10, sent=1)])
    now = status(12.0, peers=[peer("b", received=30, sent=2, waiting=7)])
    (link,) = router_rates("a", ADDRESS, before, now).links
    assert (link.name, link.role, link.in_per_s, link.out_per_s, link.waiting) == ("b", "router", 10.0, 0.5, 7)
    (link,) = router_rates("a", ADDRESS, None, now).links
    assert (link.in_per_s, link.out_per_s) == (None, None)


def test_the_links_of_one_client_are_counted_together_and_a_new_link_from_nothing():
    before = status(10.0, peers=[peer("b", received=30)])
    now = status(12.0, peers=[peer("b", received=4), peer("c", "client", sent=2), peer("c", "client", sent=6)])
    router, client = router_rates("a", ADDRESS, before, now).links
    assert (router.in_per_s, client.out_per_s) == (2.0, 4.0)  # b has linked again
