"""Nested events in networks in memory: conditions, sets, nulls and several values select as the reference does."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.memory_domains import Domains
from support.memory_networks import Lab, encoded

from cbnet import Message, parse
from cbnet.network.link.settings import LIVE_SCHEMES
from cbnet.network.protocol.frames import ItemField, PullReply, RefusedFrame, Subscribed, TracedFrame
from cbnet_lab.faults.random_schedule import MESSAGES, PREDICATES

EVENT = {"name": "lamp", "detail": {"state": "on", "watts": [5, 7.5], "owner": None}}


def delivered(lab):
    return {
        (name, each.subscription, each.payload) for name, client in lab.clients.items() for each in client.deliveries
    }


@pytest.mark.parametrize("scheme", LIVE_SCHEMES)
def test_every_predicate_gets_exactly_the_events_that_match_it(scheme):
    lab = Lab("a-b b-c c-d b-e", scheme=scheme)
    wanted = {(lab.names[id % 5], id): text for id, text in enumerate(PREDICATES)}
    for (name, id), text in wanted.items():
        lab.clients[name].subscribe(id, text)
    lab.run(2)
    for number, message in enumerate(MESSAGES):
        payload = str(number).encode()
        lab.clients[lab.names[number % 5]].publish(message.attributes, payload, tuple(message.tags))
    lab.run(2)
    expected = {
        (name, id, str(number).encode())
        for (name, id), text in wanted.items()
        for number, message in enumerate(MESSAGES)
        if parse(text).matches(message)
    }
    assert delivered(lab) == expected


TERMS = st.sampled_from(
    [
        "x = 1", "x != 1", "x in (1, 2, null)", "x = null", "x != null", "x < y", "x + y > 2", "absent x", "exists y",
        "not (x = 1)", "(x = 1) is not true", "e.x = 1", "e.y > e.x", "e.x in (1, 3)", 'e.s like "a%b%"', "not #t", "#t",
        'lower(e.s) = "ab"', "e.x = 1 and e.y = 2", "x > 0 and x < 2", "e.x * 2 = y", "not (x in (1, 2))",
    ]
)  # fmt: skip
TEXTS = st.lists(TERMS, min_size=1, max_size=3).map(" and ".join)
SCALARS = st.sampled_from([None, True, 0, 1, 2, 3, 1.5, "ab", "AB", "axbx"])
VALUES = SCALARS | st.lists(SCALARS, max_size=3)
OBJECTS = st.dictionaries(st.sampled_from("xys"), VALUES, max_size=3)
EVENTS = st.fixed_dictionaries(
    {}, optional={"x": VALUES, "y": VALUES, "e": OBJECTS | st.lists(OBJECTS | SCALARS, max_size=3), "e.x": SCALARS}
)


@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from(LIVE_SCHEMES),
    st.lists(st.tuples(st.sampled_from("abc"), TEXTS), min_size=1, max_size=8),
    st.lists(st.tuples(st.sampled_from("abc"), EVENTS, st.sampled_from([(), ("t",)])), min_size=1, max_size=8),
)
def test_any_nested_event_gets_where_the_reference_says(scheme, wanted, events):
    lab = Lab("a-b b-c", scheme=scheme)
    for id, (name, text) in enumerate(wanted):
        lab.clients[name].subscribe(id, text)
    lab.run(2)
    for number, (name, event, tags) in enumerate(events):
        lab.clients[name].publish(event, str(number).encode(), tags)
    lab.run(2)
    expected = {
        (name, id, str(number).encode())
        for id, (name, text) in enumerate(wanted)
        for number, (_, event, tags) in enumerate(events)
        if parse(text).matches(Message(event, tags))
    }
    assert delivered(lab) == expected


def test_a_condition_that_is_covered_is_confirmed_and_replaces_nothing():
    lab = Lab("a-b b-c")
    lab.clients["c"].subscribe(1, "x < y", wait=5)
    lab.clients["c"].subscribe(2, "x < y and z = 1", wait=5)  # covered
    lab.run(2)
    assert lab.answers("c", Subscribed) == [Subscribed(1, True, 3, []), Subscribed(2, True, 3, [])]
    router = lab.router("b")
    (to_c,) = [each for each in router.fib.interfaces(router.version.trees[0]) if each.to.neighbour == "c"]
    assert router.fib.filters(to_c.to) == set(encoded("x < y"))
    lab.clients["c"].unsubscribe(1)
    lab.run(2)
    lab.clients["a"].publish({"x": 1, "y": 2}, b"0")
    lab.clients["a"].publish({"x": 1, "y": 2, "z": 1}, b"1")
    lab.run(1)
    assert delivered(lab) == {("c", 2, b"1")}


def test_a_trace_explains_conditions_and_nested_attributes():
    lab = Lab("a-b")
    lab.clients["b"].subscribe(1, 'detail.state = "off" and detail.watts > 6')
    lab.clients["b"].subscribe(2, 'not (name ^= "la")')
    lab.clients["b"].subscribe(3, "detail.owner = null")
    lab.run(1)
    lab.clients["a"].trace(7, EVENT, predicate="detail.watts * 2 > 20", at="b")
    lab.run(1)
    hops = {answer.hop.router: answer.hop for answer in lab.answers("a", TracedFrame)}
    assert hops["a"].branches[0].why == ["detail.owner = null"]
    assert hops["b"].delivered == ["subscription 3 of client of b: detail.owner = null"]
    first, second = hops["b"].missed
    assert 'detail.state = "off" fails: detail.state is "on"' in first
    assert 'not (name ^= "la") fails: name is "lamp"' in second
    (hypothetical,) = hops["b"].hypothetical
    assert hypothetical.startswith("a subscriber at b: detail.watts * 2 > 20: detail.watts * 2 > 20 fails: ")


def test_a_trace_does_not_explain_a_message_with_very_many_combinations():
    lab = Lab("a-b")
    lab.clients["a"].subscribe(1, "p + q + r < 0")
    lab.run(1)
    lab.clients["a"].trace(7, {name: list(range(30)) for name in "pqr"}, predicate="p + q + r < -1", at="b")
    lab.run(1)
    (answer,) = lab.answers("a", TracedFrame)
    assert answer.hop.hypothetical == ["a subscriber at b: the message has too many values to be explained"]
    assert answer.hop.missed == []


def test_a_nested_item_answers_a_request_with_nested_names_and_null():
    lab = Lab("a-b b-c")
    item = {"detail": {"state": "on", "owner": None, "watts": [5, 7]}}
    lab.clients["c"].offer(1, 'detail.state in ("on", "off")', lambda _: ItemField(item, [], b"p", None))
    lab.run(1)
    lab.clients["a"].request(1, {"detail": {"state": "on", "owner": None}})
    lab.run(2)
    (reply,) = lab.answers("a", PullReply)
    assert (reply.attributes, reply.payload) == (item, b"p")
    lab.clients["a"].request(2, 'detail.owner = null and detail.state = "on"')  # the same request
    lab.run(2)
    assert lab.answers("a", PullReply)[1].cache == "a"


def test_gateways_pass_nested_events_and_conditions_between_domains():
    domains = Domains("a1-a2; b1-b2", {"g": "a2 b1"})
    domains.clients["b2"].subscribe(1, 'detail.state = "on" and not (name ^= "x") and detail.watts > 6')
    domains.settle()
    assert [row[1:] for row in domains.deliveries(EVENT)] == [("b2", 1)] * 4
    assert domains.deliveries({**EVENT, "name": "xylophone"}) == []


def test_a_predicate_with_too_many_conditions_is_refused():
    lab = Lab("a-b")
    lab.clients["a"].subscribe(1, " and ".join(f"a < b + {n}" for n in range(300)))
    lab.run(1)
    (refused,) = lab.answers("a", RefusedFrame)
    assert refused.reason == "constraints and conditions of a filter: 302 is over the limit of 256"
