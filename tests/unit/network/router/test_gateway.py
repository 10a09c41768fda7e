"""Gateways between live domains, on small networks whose answers are seen by eye."""

import pytest
from support.memory_domains import Domains

from cbnet.errors import InputError
from cbnet.network import MemoryClient, Settings
from cbnet.network.protocol.frames import TracedFrame
from cbnet.network.router import gateway
from cbnet.network.router.gateway import Gateway
from cbnet.network.simulation.memory_gateway import MemoryGateway

LINE = "a1-a2; b1-b2; c1-c2"
LINE_GATEWAYS = {"g": "a2 b1", "h": "b2 c1"}
RING_GATEWAYS = {**LINE_GATEWAYS, "i": "c2 a1"}


def line(gateways=LINE_GATEWAYS, **options):
    return Domains(LINE, gateways, schemes=("psf", "multitree", "drp"), **options)


def told(net, router):
    """Return the predicate that each router tells in the domain of one."""
    predicates = net.memory.router(router).database.predicates
    names = net.memory.router(router).view.names
    return {name: str(predicates.predicate(name)) for name in names if predicates.predicate(name)}


def test_a_message_goes_through_domains_with_schemes_of_their_own():
    net = line()
    net.clients["c2"].subscribe(7, "x = 1")
    net.settle()
    assert net.deliveries({"x": 1}) == [(name, "c2", 7) for name in net.routers]
    assert net.deliveries({"x": 2}) == []


def test_a_message_keeps_its_source_life_and_number():
    net = line()
    net.clients["c2"].subscribe(1, "x = 1")
    net.clients["a2"].subscribe(1, "x = 1")
    net.settle()
    net.clients["a1"].publish({"x": 1}, b"payload", ("tag",))
    net.memory.run(5)
    near, far = (net.clients[name].deliveries[0] for name in ("a2", "c2"))
    assert near.message == far.message
    assert near.message[0] == "a1"
    assert far.payload == b"payload"


@pytest.mark.parametrize(
    ("outside", "seen"),
    [("exact", 's ^= "q" and x = 1 and #t or y > 3'), ("names", "exists s and exists x and #t or exists y"),
     ("all", "true")],
)  # fmt: skip
def test_a_domain_is_told_a_summary_of_what_is_wanted_in_the_others(outside, seen):
    net = line(outside=outside)
    net.clients["c2"].subscribe(1, 'x = 1 and s ^= "q" and #t')
    net.clients["b1"].subscribe(1, "y > 3")
    net.settle()
    said = told(net, "a1")
    assert list(said) == ["g@a"]
    assert set(said["g@a"].split(" or ")) == set(seen.split(" or "))
    assert told(net, "b2")["b1"] == "y > 3"


@pytest.mark.parametrize(("limit", "most"), [("MAX_SUMMARY_FILTERS", 2), ("MAX_SUMMARY_BYTES", 10)])
def test_what_is_too_much_for_a_record_is_told_as_everything(monkeypatch, caplog, limit, most):
    monkeypatch.setattr(gateway, limit, most)
    net = line(outside="exact")
    for number in range(3):
        net.clients["c2"].subscribe(number, f"x = {number}")
    net.settle()
    assert told(net, "b1")["h@b"] == told(net, "a1")["g@a"] == "true"
    assert net.deliveries({"x": 1}) == [(name, "c2", 1) for name in net.routers]
    assert net.deliveries({"x": 9}) == []
    assert "summary too large" in caplog.messages


def test_a_domain_where_nothing_is_wanted_elsewhere_is_told_nothing():
    net = line()
    net.clients["a1"].subscribe(1, "x = 1")
    net.settle()
    assert told(net, "a2") == {"a1": "x = 1"}
    assert told(net, "b1") == {"g@b": "true"}
    assert told(net, "c1") == {"h@c": "true"}


def test_whatever_the_summary_nothing_enters_a_domain_that_does_not_want_it():
    net = line(outside="all")
    net.clients["b1"].subscribe(1, "x = 1")
    net.settle()
    assert net.deliveries({"x": 2}) == []
    assert net.memory.router("g@a").counters["domain_left"] == 2  # those of a1 and a2 came to the border
    assert net.memory.router("g@b").counters["packets_sent"] == 0


def test_in_a_circle_of_domains_nothing_comes_twice_and_nothing_circles():
    net = line(RING_GATEWAYS)
    for name in net.routers:
        net.clients[name].subscribe(1, "x = 1")
    net.settle()
    assert net.deliveries({"x": 1}) == sorted((source, name, 1) for source in net.routers for name in net.routers)
    counters = [host.router.counters for host in net.memory.hosts.values()]
    assert sum(each["dropped.duplicate"] for each in counters) == 0
    assert sum(len(each.gateway.position.active) == 2 for each in net.gateways.values()) == 2
    # 6 messages, each into the 2 other domains once
    assert sum(each["domain_entered"] for each in counters) == 12


def test_what_is_no_longer_wanted_is_forgotten_in_a_circle_too():
    net = line(RING_GATEWAYS, outside="exact")
    net.clients["a1"].subscribe(1, "x = 1")
    net.settle()
    assert told(net, "c2")
    net.clients["a1"].unsubscribe(1)
    net.settle()
    assert set(net.filters().values()) == {0}


@pytest.mark.parametrize("silently", [False, True])
def test_of_two_gateways_side_by_side_one_takes_over(silently):
    net = Domains("a1-a2; b1-b2", {"g": "a1 b1", "h": "a2 b2"})
    net.clients["b2"].subscribe(1, "x = 1")
    net.settle()
    assert [len(each.gateway.position.active) for each in net.gateways.values()] == [2, 1]
    net.gateways["g"].kill(silently=silently)
    net.memory.run(6)
    assert net.deliveries({"x": 1}) == [(name, "b2", 1) for name in net.routers]
    net.gateways["g"].start()
    net.settle()
    assert [len(each.gateway.position.active) for each in net.gateways.values()] == [2, 1]
    assert net.deliveries({"x": 1}) == [(name, "b2", 1) for name in net.routers]


def test_a_gateway_that_leaves_hands_over_and_nothing_is_missed_or_comes_twice():
    net = Domains("a1-a2; b1-b2", {"g": "a1 b1", "h": "a2 b2"})
    net.clients["b2"].subscribe(1, "x = 1")
    net.settle()
    net.gateways["g"].gateway.leave()
    for number in range(100):
        net.clients["a1"].publish({"x": 1}, str(number).encode())
        net.memory.run(0.05)
    assert [len(each.gateway.position.active) for each in net.gateways.values()] == [2, 2]
    net.gateways["g"].kill()
    net.memory.run(3)
    assert sorted(int(each.payload) for each in net.clients["b2"].deliveries) == list(range(100))


def test_a_domain_in_two_parts_is_reached_by_two_gateways():
    net = Domains("a1-a2; b1-b2", {"g": "a1 b1", "h": "a2 b2"})
    net.clients["b1"].subscribe(1, "x = 1")
    net.clients["b2"].subscribe(1, "x = 1")
    net.settle()
    net.memory.cut("b1", "b2")
    net.settle()
    assert net.deliveries({"x": 1}) == sorted((source, name, 1) for source in net.routers for name in ("b1", "b2"))


def test_a_gateway_in_three_domains_passes_on_to_both_others():
    net = Domains("a1; b1; c1", {"g": "a1 b1 c1"})
    for name in net.routers:
        net.clients[name].subscribe(1, "x = 1")
    net.settle()
    assert net.deliveries({"x": 1}) == sorted((source, name, 1) for source in net.routers for name in net.routers)


def test_a_client_of_a_gateway_is_one_of_that_domain():
    net = Domains("a1; b1", {"g": "a1 b1"})
    client = MemoryClient(net.memory, "guest", "g@a")
    client.subscribe(1, "x = 1")
    net.clients["b1"].subscribe(1, "x = 2")
    net.settle()
    net.clients["b1"].publish({"x": 1}, b"in")
    client.publish({"x": 2}, b"out")
    net.memory.run(2)
    assert [each.payload for each in client.deliveries] == [b"in"]
    assert [each.payload for each in net.clients["b1"].deliveries] == [b"out"]


def test_a_trace_ends_at_the_border_and_says_so():
    net = line()
    net.clients["b1"].subscribe(1, "x = 1")
    net.settle()
    net.clients["a1"].trace(1, {"x": 1}, is_dry=False)
    net.memory.run(4)
    hops = [each.hop for each in net.clients["a1"].answers if isinstance(each, TracedFrame)]
    assert [hop.router for hop in hops] == ["a1", "a2", "g@a"]
    assert hops[-1].delivered == ["other domains: true"]
    assert len(net.clients["b1"].deliveries) == 1


def test_what_makes_no_sense_is_refused():
    memory = line().memory
    with pytest.raises(InputError, match="has fewer than two domains"):
        MemoryGateway(memory, "one", [Settings("one@a", network="a")])
    with pytest.raises(InputError, match="unknown summary 'some'"):
        MemoryGateway(memory, "two", [Settings("two@a", network="a"), Settings("two@b", network="b")], "some")
    with pytest.raises(InputError, match="not a valid gateway name"):
        Gateway("", [])
