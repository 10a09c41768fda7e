"""Networks in memory: runs are reproducible, and failures have their effects."""

import pytest
from support.memory_networks import Lab, hello

from cbnet.errors import InputError
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.frames import Close, Deliver, Ping
from cbnet.network.simulation.memory_network import MemoryNetwork


class Talker:
    """A peer that sends some pings as soon as it is connected, and records those it gets."""

    def __init__(self, memory, count=0):
        self.memory = memory
        self.count = count
        self.heard = []

    def opened(self, end):
        self.memory.send(end, hello("client", "talker"))
        for number in range(self.count):
            self.memory.send(end, Ping(number))

    def received_bytes(self, end, data):
        self.heard += [frame.number for frame in end.reader.feed(data) if isinstance(frame, Ping)]


@pytest.mark.parametrize("seed", range(5))
def test_what_is_sent_over_a_new_connection_arrives_in_order(seed):
    memory = MemoryNetwork(seed)
    listener = Talker(memory)
    end = memory.dial(Talker(memory, 5), listener, 0.1)
    for number in range(5, 10):
        memory.send(end, Ping(number))
    memory.run(1)
    assert listener.heard == [*range(10)]


def test_cut_is_noticed_at_once_or_after_the_dead_time():
    for noticed_by, seconds in ((None, 0.5), (["a"], 0.5), (["b"], 4.5), ([], 4.5)):
        lab = Lab("a-b")
        lab.memory.cut("a", "b", noticed_by=noticed_by)
        lab.run(seconds)
        assert lab.router("a").version.names == {"a"}
        lab.memory.repair("a", "b")
        lab.run(3)
        assert lab.router("a").version.names == {"a", "b"}


def test_half_open_connection_is_replaced():
    lab = Lab("a-b b-c")
    lab.clients["c"].subscribe(1, "x = 1")
    lab.run(1)
    lab.memory.cut("a", "b", noticed_by=["a"])
    lab.memory.repair("a", "b")
    lab.run(1.5)  # a has dialled again; b still has the old connection, too
    lab.clients["a"].publish({"x": 1}, b"m")
    lab.clients["c"].subscribe(2, "x = 2")
    lab.run(0.5)
    lab.clients["a"].publish({"x": 2}, b"n")
    lab.run(0.5)
    assert len(lab.router("b").links.routers()) == 3
    assert lab.payloads("c") == [b"m", b"n"]
    lab.run(5)
    assert len(lab.router("b").links.routers()) == 2


def test_messages_in_transit_over_a_cut_cable_are_lost():
    lab = Lab("a-b")
    lab.clients["b"].subscribe(1, "x = 1")
    lab.run(1)
    lab.clients["a"].publish({"x": 1}, b"lost")
    lab.memory.cut("a", "b")
    lab.run(10)
    lab.memory.repair("a", "b")
    lab.run(10)
    assert lab.payloads("b") == []


@pytest.mark.parametrize("silently", [False, True])
def test_restarted_router_delivers_again(silently):
    lab = Lab("a-b b-c")
    lab.clients["a"].subscribe(1, "x = 1")
    lab.run(1)
    lab.memory.kill("b", silently=silently)
    lab.run(6)
    assert lab.router("a").version.names == {"a"}
    lab.memory.start("b")
    lab.run(6)
    lab.clients["c"].publish({"x": 1}, b"after")
    lab.clients["b"].publish({"x": 1}, b"too")
    lab.run(1)
    assert sorted(lab.payloads("a")) == [b"after", b"too"]


def test_clients_of_a_router_restarted_at_once_reconnect():
    lab = Lab("a-b")
    lab.clients["b"].subscribe(1, "x = 1")
    lab.run(1)
    lab.memory.kill("b")
    lab.memory.start("b")
    lab.run(6)
    lab.clients["a"].publish({"x": 1}, b"m")
    lab.run(1)
    assert lab.payloads("b") == [b"m"]


def test_client_drops_what_it_received_before_it_reconnected_and_records_the_rest():
    lab = Lab("a-b")
    client, frame = lab.clients["b"], Deliver([1], "a", 7, 1, {}, [], b"m")
    client.received(client.end, frame)
    client.received(client.end, frame)
    assert lab.payloads("b") == [b"m", b"m"]  # over one connection: a fault of the router
    client.disconnect()
    client.reconnect()
    lab.run(1)
    client.received(client.end, frame)
    client.received(client.end, Deliver([1], "a", 7, 2, {}, [], b"n"))
    assert lab.payloads("b") == [b"m", b"m", b"n"]


def test_clock_jumps_have_no_effect():
    lab = Lab("a-b b-c")
    lab.clients["c"].subscribe(1, "x = 1")
    lab.run(1)
    for jump in (86_400.0, -200_000.0):
        lab.memory.jump_clock("b", jump)
        lab.clients["a"].publish({"x": 1}, b"m")
        lab.run(5)
    assert lab.payloads("c") == [b"m", b"m"]
    assert lab.memory.frames[Close.__name__] == 0


def test_names_are_unique_and_killed_routers_are_an_error():
    memory = MemoryNetwork()
    memory.add(Settings("a"))
    with pytest.raises(InputError, match="there already is a router 'a'"):
        memory.add(Settings("a"))
    memory.kill("a")
    with pytest.raises(InputError, match="is not running"):
        memory.router("a")
