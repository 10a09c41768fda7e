"""Gateways between live domains, on small networks whose answers are seen by eye."""

import pytest
from support.memory_domains import Domains

from cbnet.errors import InputError
from cbnet.language.predicate import Predicate
from cbnet.language.syntax.byte_form import filter_from_bytes
from cbnet.network import MemoryClient, Settings
from cbnet.network.protocol.frames import ItemField, PullFailure, PullReply, TraceEnd
from cbnet.network.router import gateway, outside
from cbnet.network.router.gateway import Gateway
from cbnet.network.simulation.memory_gateway import MemoryGateway

LINE = "a1-a2; b1-b2; c1-c2"
LINE_GATEWAYS = {"g": "a2 b1", "h": "b2 c1"}
RING_GATEWAYS = {**LINE_GATEWAYS, "i": "c2 a1"}


def line(gateways=LINE_GATEWAYS, **options):
    return Domains(LINE, gateways, schemes=("multitree", "pif"), **options)


def told(net, router):
    """Return the predicate of each interface of a router, on its first tree."""
    fib, tree = net.memory.router(router).fib, net.memory.router(router).version.tree(0, router)
    filters = {each.to.neighbour: sorted(map(filter_from_bytes, fib.filters(each.to))) for each in fib.interfaces(tree)}
    return {neighbour: str(Predicate(each)) for neighbour, each in filters.items() if each}


def test_a_message_goes_through_domains_with_schemes_of_their_own():
    net = line()
    net.clients["c2"].subscribe(7, "x = 1")
    net.settle()
    assert net.deliveries({"x": 1}) == [(name, "c2", 7) for name in net.routers]
    assert net.deliveries({"x": 2}) == []


def test_a_message_keeps_its_source_incarnation_and_number():
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
    said = told(net, "a2")
    assert list(said) == ["g@a"]
    assert set(said["g@a"].split(" or ")) == set(seen.split(" or "))
    assert told(net, "b2")["b1"] == "y > 3"


@pytest.mark.parametrize(("limit", "most"), [("MAX_SUMMARY_FILTERS", 2), ("MAX_SUMMARY_BYTES", 10)])
def test_what_is_too_much_for_a_record_is_told_as_everything(monkeypatch, caplog, limit, most):
    monkeypatch.setattr(outside, limit, most)
    net = line(outside="exact")
    for number in range(3):
        net.clients["c2"].subscribe(number, f"x = {number}")
    net.settle()
    assert told(net, "b2")["h@b"] == told(net, "a2")["g@a"] == "true"
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
    assert any(net.filters().values())
    net.clients["a1"].unsubscribe(1)
    net.settle()
    assert set(net.filters().values()) == {0}


def test_a_gateway_that_is_started_in_a_circle_of_domains_loses_nothing():
    domains = "; ".join(" ".join(f"{name}{n}-{name}{n + 1}" for n in range(1, 6)) for name in "abc")
    net = Domains(domains, {"g": "a6 b1", "h": "b6 c1", "i": "c6 a1"}, outside="exact", seed=2)
    net.gateways["h"].kill()
    net.clients["c1"].subscribe(1, "x = 1")
    net.settle()
    net.gateways["h"].start()
    for number in range(150):  # until i has given up the way from a to c
        for source in ("a1", "b1"):
            net.clients[source].publish({"x": 1}, f"{source} {number}".encode())
        net.memory.run(0.05)
    net.settle()
    assert [len(each.gateway.position.active) for each in net.gateways.values()] == [2, 2, 1]
    received = [each.payload.decode() for each in net.clients["c1"].deliveries]
    assert sorted(received) == sorted(f"{source} {number}" for source in ("a1", "b1") for number in range(150))


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


def traced(net, name, message, **options):
    """Return the hops of a trace, and the routers that did not report."""
    client = net.clients[name]
    client.answers.clear()
    client.trace(1, message, **options)
    net.memory.run(4)
    *hops, end = client.answers
    assert isinstance(end, TraceEnd)
    return [each.hop for each in hops], end.missing


def passed_to(hop):
    return [(each.neighbour, each.why) for each in hop.passed_to]


def test_a_trace_goes_on_in_other_domains():
    net = line(outside="exact")
    net.clients["c2"].subscribe(1, "x = 1")
    net.clients["b1"].subscribe(1, "x > 0")
    net.settle()
    hops, missing = traced(net, "a1", {"x": 1}, is_dry=False)
    assert missing == []
    ways = sorted((hop.network, hop.came_from, hop.router, passed_to(hop)) for hop in hops)
    assert ways == [
        ("", "", "a1", []), ("", "a1", "a2", []), ("", "a2", "g@a", [("b", ["x > 0"])]),
        ("b", "", "g@b", []), ("b", "b1", "b2", []), ("b", "b2", "h@b", [("c", ["x = 1"])]), ("b", "g@b", "b1", []),
        ("c", "", "h@c", []), ("c", "c1", "c2", []), ("c", "h@c", "c1", []),
    ]  # fmt: skip
    assert [hop.delivered for hop in hops if hop.router == "c2"] == [["subscription 1 of at c2: x = 1"]]
    assert len(net.clients["c2"].deliveries) == len(net.clients["b1"].deliveries) == 1


def test_a_dry_trace_goes_on_in_other_domains_and_delivers_nothing():
    net = line()
    net.clients["c2"].subscribe(1, "x = 1")
    net.settle()
    hops, missing = traced(net, "a1", {"x": 1})
    assert (hops[-1].router, missing) == ("c2", [])
    assert net.clients["c2"].deliveries == []


def test_a_trace_names_the_routers_of_other_domains_that_do_not_report():
    net = line()
    net.clients["b2"].subscribe(1, "x = 1")
    net.settle()
    net.memory.cut("b1", "b2", noticed_by=())
    hops, missing = traced(net, "a1", {"x": 1})
    assert [hop.router for hop in hops] == ["a1", "a2", "g@a", "g@b", "b1"]
    assert missing == ["b/b2"]


def confirmed(net, name, id, predicate, wait=20.0):
    """Subscribe and wait; return the answer, and the seconds that it took."""
    client, start = net.clients[name], net.memory.now
    client.answers.clear()
    client.subscribe(id, predicate, wait=wait)
    while not client.answers:
        net.memory.run(0.01)
    return client.answers[0], net.memory.now - start


@pytest.mark.parametrize("outside", ["exact", "names", "all"])
@pytest.mark.parametrize("gateways", [LINE_GATEWAYS, RING_GATEWAYS])
def test_who_waits_is_known_in_all_domains(gateways, outside):
    net = line(gateways, outside=outside)
    net.settle()
    for number, name in enumerate(net.routers):
        answer, _ = confirmed(net, name, 1, f"x = {number}")
        assert answer.is_confirmed
        assert net.deliveries({"x": number}) == [(source, name, 1) for source in net.routers]


def test_who_waits_at_a_gateway_is_known_in_all_domains():
    net = line()
    net.clients["guest"] = MemoryClient(net.memory, "guest", "g@b")
    net.settle()
    assert confirmed(net, "guest", 1, "x = 1")[0].is_confirmed
    for source in net.routers:
        net.clients[source].publish({"x": 1})
    net.memory.run(3)
    assert len(net.clients["guest"].deliveries) == len(net.routers)


@pytest.mark.parametrize("name", ["a1", "guest"])
def test_a_domain_that_does_not_answer_is_named_by_the_gateway_that_leads_there(name):
    net = line()
    net.clients["guest"] = MemoryClient(net.memory, "guest", "g@a")
    net.settle()
    net.memory.cut("b1", "b2", noticed_by=())
    answer, _ = confirmed(net, name, 1, "x = 1", wait=2.0)
    assert (answer.is_confirmed, answer.missing) == (False, ["g@a→other domains"])


def test_a_gateway_that_stands_by_holds_up_nothing():
    net = line(RING_GATEWAYS)
    net.settle()
    routers = [host.router for name, host in net.memory.hosts.items() if "@" in name]
    assert sorted(each.announcements.exports.is_exporting for each in routers) == [False] * 2 + [True] * 4
    answer, seconds = confirmed(net, "a1", 1, "x = 1")
    assert answer.is_confirmed
    assert seconds < 2


def test_a_change_is_told_as_it_is_and_not_with_everything_again(monkeypatch):
    net = Domains("a1; b1", {"g": "a1 b1"}, outside="exact")
    for number in range(50):
        net.clients["a1"].subscribe(number, f"x = {number}")
    net.settle()
    changes = []
    register = gateway._register
    monkeypatch.setattr(gateway, "_register", lambda *all: (changes.append(all[1:]), register(*all)))
    net.clients["a1"].subscribe(60, "x > 45")
    net.memory.run(2)
    ((side, (subscriptions, offers)),) = changes
    assert side == 0
    assert [str(each) for each in subscriptions.added] == ["x > 45"]
    assert sorted(map(str, subscriptions.removed)) == [f"x = {number}" for number in range(46, 50)]
    assert offers == ([], [])


def has(value, payload=b""):
    """Return a handler that has items with one value of `s`."""
    return lambda request: ItemField({"s": value}, [], payload, None) if request.attributes["s"] == value else None


def requested(net, name, value, **options):
    client = net.clients[name]
    client.answers.clear()
    client.request(1, f's = "{value}"', is_traced=True, **options)
    net.memory.run(5)
    return client.answers[0]


def steps(answer):
    return [(step.router, step.what) for step in answer.steps]


def test_a_request_is_answered_from_another_domain():
    net = line(outside="exact")
    net.settle()
    net.clients["c2"].answers.clear()
    net.clients["c2"].offer(1, 's ^= "A"', has("A1", b"item"), wait=20.0)
    net.memory.run(3)
    assert [each.is_confirmed for each in net.clients["c2"].answers] == [True]
    reply = requested(net, "a1", "A1")
    assert isinstance(reply, PullReply)
    assert (reply.attributes, reply.payload, reply.holder, reply.asked) == ({"s": "A1"}, b"item", "c2", 1)
    assert [f"{step.network or 'a'} {step.router}" for step in reply.steps] == [
        "a a1", "a a2", "a g@a", "b g@b", "b b1", "b b2", "b h@b", "c h@c", "c c1",
        "c c2", "c c1", "c h@c", "b b2", "b b1", "b g@b", "a a2", "a a1",
    ]  # fmt: skip
    assert ("g@a", "passed to b, which offers it") in steps(reply)
    again = requested(net, "a2", "A1")
    assert again.cache == "a2"
    assert requested(net, "b1", "A1").cache == "b1"


def test_a_request_that_no_domain_can_answer_comes_back_with_what_was_tried():
    net = line(outside="exact")
    net.clients["c2"].offer(1, 's ^= "A"', has("A1"))
    net.clients["b1"].offer(1, 's ^= "A"', has("A2"))
    net.clients["a2"].offer(1, 's ^= "A"', has("A3"))
    net.settle()
    failure = requested(net, "a1", "A9")
    assert isinstance(failure, PullFailure)
    assert (failure.is_late, failure.tried, failure.asked) == (False, 3, 3)
    assert requested(net, "a1", "A1").holder == "c2"
    assert requested(net, "a1", "A1", max_holders=2, is_fresh=True).asked == 2


def test_a_request_goes_on_in_its_own_domain_if_others_lack_the_item():
    net = Domains("a1-a2 a1-a3; b1", {"g": "a2 b1"}, outside="all")
    net.clients["b1"].offer(1, 's ^= "A"', has("A1"))
    net.clients["a3"].offer(1, 's ^= "A"', has("A2"))
    net.settle()
    assert requested(net, "a2", "A2").holder == "a3"
    assert requested(net, "a3", "A1").holder == "b1"


def test_a_request_to_a_holder_in_another_domain_that_does_not_answer_times_out():
    net = line()
    net.clients["b1"].offer(1, 's = "A"', lambda _: ItemField({"s": "A"}, [], b"", None))
    net.settle()
    net.memory.cut("b1", "g@b", noticed_by=())
    failure = requested(net, "a1", "A", timeout=1.0)
    assert (failure.is_late, failure.steps[-1].router) == (True, "a1")
    assert not net.memory.router("g@b").counters["requests"]


def test_what_makes_no_sense_is_refused():
    memory = line().memory
    with pytest.raises(InputError, match="has fewer than two domains"):
        MemoryGateway(memory, "one", [Settings("one@a", network="a")])
    with pytest.raises(InputError, match="unknown summary 'some'"):
        MemoryGateway(memory, "two", [Settings("two@a", network="a"), Settings("two@b", network="b")], "some")
    with pytest.raises(InputError, match="not a valid gateway name"):
        Gateway("", [], soon=lambda call: call())
