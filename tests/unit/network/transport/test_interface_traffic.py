"""What went over interfaces is summed over links that come and go, in a bounded number of sums."""

from cbnet.network.link.links import Link
from cbnet.network.link.traffic import LinkTraffic
from cbnet.network.protocol.fields import MAX_NEIGHBOURS
from cbnet.network.protocol.frames import Hello
from cbnet.network.transport.interface_traffic import InterfaceTraffic


def link(name, role="router", **traffic):
    return Link(1, 0.0, 0.0, Hello(1, 1, role, name, "n", 1, "psf") if name else None, traffic=LinkTraffic(**traffic))


def test_links_that_are_gone_and_links_that_are_open_are_summed_by_neighbour():
    interfaces = InterfaceTraffic()
    interfaces.gone(link("b", received=1, sent=2, messages_received=3, messages_sent=4, waiting=99))
    interfaces.gone(link("x", role="client", received=10))
    open_ones = [link("b", received=10, messages_sent=1, waiting=5), link("y", role="client", received=1), link("")]
    for _ in range(2):  # asking changes nothing
        sums = interfaces.all(open_ones)
        assert sums["router", "b"] == LinkTraffic(11, 2, 5, 0, 3, 5)
        assert sums["client", "clients"].received == 11
        assert set(sums) == {("router", "b"), ("client", "clients"), ("unknown", "unknown")}


def test_names_beyond_the_limit_are_one_interface():
    interfaces = InterfaceTraffic()
    for number in range(MAX_NEIGHBOURS + 50):
        interfaces.gone(link(f"r{number}", received=1))
    sums = interfaces.all([])
    assert len(sums) <= MAX_NEIGHBOURS + 2
    assert sum(each.received for each in sums.values()) == MAX_NEIGHBOURS + 50
    assert sums["router", "others"].received >= 49
