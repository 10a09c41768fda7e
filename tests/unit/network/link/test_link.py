"""Traffic is summed per interface over open and closed links, in a bounded number of totals."""

from cbnet._kernels.link_output import LinkTraffic
from cbnet.network.link.link import InterfaceTraffic, Link
from cbnet.network.protocol.fields import MAX_NEIGHBOURS
from cbnet.network.protocol.frames import Hello
from cbnet.network.security.rights import Rights


def link(name, role="router", **traffic):
    hello = Hello(low=5, high=5, role=role, name=name, network="n", incarnation=1, link=1, scheme="multitree:1")
    made = Link(1, hello=hello if name else None)
    for key, count in traffic.items():
        setattr(made.traffic, key, count)
    return made


def test_open_and_closed_links_are_summed_by_neighbour():
    interfaces = InterfaceTraffic()
    interfaces.add_closed(link("b", received=1, sent=2, messages_received=3, messages_sent=4, waiting=99))
    interfaces.add_closed(link("x", role="client", received=10))
    open_links = [link("b", received=10, messages_sent=1, waiting=5), link("y", role="client", received=1), link("")]
    for _ in range(2):  # a query changes nothing
        totals = interfaces.totals(open_links)
        assert totals["router", "b"] == LinkTraffic(11, 2, 5, 0, 3, 5)
        assert totals["client", "clients"].received == 11
        assert set(totals) == {("router", "b"), ("client", "clients"), ("unknown", "unknown")}


def test_names_beyond_the_limit_are_one_interface():
    interfaces = InterfaceTraffic()
    for number in range(MAX_NEIGHBOURS + 50):
        interfaces.add_closed(link(f"r{number}", received=1))
    totals = interfaces.totals([])
    assert len(totals) <= MAX_NEIGHBOURS + 2
    assert sum(each.received for each in totals.values()) == MAX_NEIGHBOURS + 50
    assert totals["router", "others"].received >= 49


def test_processor_time_is_paid_by_neighbours_accounts_and_hosts():
    client = link("ticker", role="client")
    client.address = "10.0.0.7:4001"
    assert (client.payer, client.processor_weight) == ("host 10.0.0.7", 1)
    client.rights = Rights(weight=3)
    assert (client.payer, client.processor_weight) == ("ticker", 3)
    client.rights = Rights(links=2)
    assert client.processor_weight == 1
    neighbour = link("b")
    assert (neighbour.payer, neighbour.processor_weight) == ("router b", 4)
