"""Who is at the other end of a link, and whether it is still there."""

import logging

import pytest
from support.link_networks import LinkNetwork, LinkRouter, hello_of

from cbnet.network.link import links
from cbnet.network.link.context import Send, Shut
from cbnet.network.link.link import session_id
from cbnet.network.protocol.fields import MAX_INT
from cbnet.network.protocol.frames import Hello, LinkField, Ping, Pong
from cbnet.network.protocol.reasons import ReasonCode
from cbnet.network.protocol.wire import WireError


def shut(actions):
    return {action.link: action.reason for action in actions if isinstance(action, Shut)}


def pings(actions, link):
    return [a.frame for a in actions if isinstance(a, Send) and isinstance(a.frame, Ping) and a.link == link]


def warnings(caplog):
    return [(line.getMessage(), line.members["name"]) for line in caplog.records if line.levelno == logging.WARNING]


def test_router_sends_hello_with_its_number_of_the_link():
    router = LinkRouter("a", incarnation=7, network="n", scheme="multitree", trees=3)
    assert router.open(5) == [
        Send(5, Hello(low=4, high=5, role="router", name="a", network="n", incarnation=7, link=5, scheme="multitree:3"))
    ]


@pytest.mark.parametrize(
    ("changes", "code", "reason"),
    [
        (
            {"low": 6, "high": 7}, ReasonCode.VERSION,
            "no common protocol version: the peer supports 6 to 7, this router 5 to 5 for routers",
        ),
        (
            {"low": 4, "high": 4}, ReasonCode.VERSION,
            "no common protocol version: the peer supports 4 to 4, this router 5 to 5 for routers",
        ),
        (
            {"low": 3, "high": 3, "role": "client"}, ReasonCode.VERSION,
            "no common protocol version: the peer supports 3 to 3, this router 4 to 5 for clients",
        ),
        ({"network": "other"}, ReasonCode.OTHER_NETWORK, "this is network 'cbnet', not 'other'"),
        ({"scheme": "drp"}, ReasonCode.SCHEME, "this network uses the routing scheme multitree:1, not drp"),
        ({"name": "a"}, ReasonCode.NAME, "the name 'a' belongs to this router itself"),
    ],
)  # fmt: skip
def test_a_greeting_that_does_not_fit_is_refused_with_the_reason(changes, code, reason):
    router = LinkRouter("a")
    with pytest.raises(WireError) as refused:
        router.greet(1, **{"name": "b", **changes})
    assert (refused.value.code, refused.value.reason) == (code, reason)
    assert router.links.neighbours() == {}


def test_clients_of_version_4_are_served():
    router = LinkRouter("a")
    router.greet(1, name="c", role="client", low=4, high=4)
    assert [link.hello.name for link in router.links.all()] == ["c"]


def test_versions_that_overlap_are_enough():
    router = LinkRouter("a")
    router.greet(1, "b", low=0, high=9)
    assert list(router.links.neighbours()) == ["b"]


def test_there_may_be_so_many_neighbours_and_no_more(monkeypatch):
    monkeypatch.setattr(links, "MAX_NEIGHBOURS", 2)
    router = LinkRouter()
    for link, name in ((1, "b"), (2, "c"), (3, "c")):
        router.greet(link, name)
    with pytest.raises(WireError, match="this router has 2 neighbours"):
        router.greet(4, "d")


# --- liveness


def test_link_of_an_answering_peer_stays_open():
    router = LinkRouter()
    router.greet(1, "b")
    assert shut(router.wait(10.0, answering=[1])) == {}
    assert router.links.weights() == {"b": 1}


def test_link_without_hello_is_closed():
    router = LinkRouter()
    router.open(1)
    assert shut(router.wait(3.6)) == {1: "no Hello received for 3.5 s"}


def test_link_that_is_silent_for_more_than_two_heartbeats_does_not_count_as_answering():
    router = LinkRouter()
    router.greet(1, "b")
    router.greet(2, "b", peer_link=2)
    router.wait(1.9)
    assert router.links.answering("b") == [1, 2]
    router.say(2, Pong(1))
    router.wait(0.2)
    assert router.links.answering("b") == [2]
    assert router.links.answering("nobody") == []


# --- sessions


def test_both_ends_compute_the_same_session():
    assert session_id((1, 2), (3, 4)) == session_id((3, 4), (1, 2))
    # Swapped numbers, and pairs that share their bytes, are other sessions.
    different = [((1, 2), (3, 4)), ((1, 4), (3, 2)), ((2, 1), (3, 4)), ((1, 2), (4, 3)), ((1, 3), (2, 4))]
    assert len({session_id(*ends) for ends in different}) == len(different)
    assert all(0 <= session_id((n, MAX_INT), (MAX_INT, n)) <= MAX_INT for n in range(100))


def test_routers_agree_on_the_sessions_of_their_links():
    net = LinkNetwork("a-b b-c")
    net.connect("a", "b")
    net.run(0.1)
    a, b, c = (net.routers[name].links.neighbours() for name in "abc")
    assert len(set(a["b"].sessions)) == 2
    assert a["b"] == b["a"]
    assert b["c"] == c["b"]


def test_of_several_links_to_a_neighbour_the_newest_is_used_and_the_neighbour_stays_while_one_is_left():
    router = LinkRouter()
    sessions = []
    for link in (1, 2):
        router.greet(link, "b", peer_link=link)
        sessions.append(router.links.get(link).session)
    assert router.links.to("b") == 2
    assert router.links.neighbours() == {"b": LinkField(1, sorted(sessions))}
    assert [router.links.by_session(session) for session in sessions] == [1, 2]
    router.close(2)
    assert router.links.to("b") == 1
    assert [router.links.by_session(session) for session in sessions] == [1, None]
    router.close(1)
    assert router.links.to("b") is None
    assert router.links.neighbours() == {}


def test_every_session_that_comes_or_goes_is_a_change():
    router = LinkRouter()
    changes = [router.links.changes]
    for step in (lambda: router.greet(1, "b"), lambda: router.greet(2, "b"), lambda: router.close(1),
                 lambda: router.links.leave()):  # fmt: skip
        step()
        changes.append(router.links.changes)
    assert changes == [0, 1, 2, 3, 4]


def test_a_fifth_link_closes_the_oldest():
    router = LinkRouter()
    done = [action for link in range(1, 6) for action in router.greet(link, "b", peer_link=link)]
    assert shut(done) == {1: "replaced by newer links"}
    assert len(router.links.neighbours()["b"].sessions) == 4


def test_router_that_leaves_announces_the_maximum_length():
    router = LinkRouter(weights={"b": 3})
    router.greet(1, "b")
    router.greet(2, "c")
    assert router.links.weights() == {"b": 3, "c": 1}
    router.links.leave()
    assert router.links.weights() == {"b": 1_000_000, "c": 1_000_000}


# --- two routers of one name


def test_neighbour_with_the_name_of_this_router_is_reported_at_both(caplog):
    one, other = LinkRouter("a", incarnation=1), LinkRouter("a", incarnation=2)
    for router, peer in ((one, other), (other, one)):
        with pytest.raises(WireError):
            router.greet(1, "a", incarnation=peer.context.incarnation)
    assert warnings(caplog) == [("duplicate name", "a")] * 2


def test_router_that_has_dialled_itself_is_no_duplicate(caplog):
    router = LinkRouter("a", incarnation=1)
    with pytest.raises(WireError):
        router.greet(1, "a", incarnation=1)
    assert warnings(caplog) == []


def test_repeated_reports_are_suppressed(caplog):
    router = LinkRouter("a", incarnation=1)
    for link in range(5):
        with pytest.raises(WireError):
            router.greet(link, "a", incarnation=2)
    assert len(warnings(caplog)) == 1


def test_two_neighbours_of_one_name_are_reported_if_both_answer(caplog):
    router = LinkRouter()
    router.greet(1, "b", incarnation=1)
    (ping,) = pings(router.greet(2, "b", incarnation=2), link=1)
    router.say(1, Pong(ping.number - 1))  # an answer to an earlier ping, sent before a restart
    assert warnings(caplog) == []
    router.say(1, Pong(ping.number))
    router.say(1, Pong(ping.number))
    assert warnings(caplog) == [("duplicate neighbour", "b")]


def test_restarted_neighbour_is_no_duplicate(caplog):
    router = LinkRouter()
    router.greet(1, "b", incarnation=1)
    router.greet(2, "b", incarnation=2)
    assert shut(router.wait(4.0, answering=[2])) == {1: "nothing received for 3.5 s"}
    assert warnings(caplog) == []


def test_parallel_links_of_one_incarnation_are_no_duplicates():
    router = LinkRouter()
    router.greet(1, "b", incarnation=1)
    assert pings(router.greet(2, "b", incarnation=1, peer_link=2), link=1) == []


def test_a_second_hello_is_refused():
    router = LinkRouter()
    router.greet(1, "b")
    with pytest.raises(WireError, match="a second Hello"):
        router.say(1, hello_of("b"))


def test_parts_are_called_once_with_a_link_that_has_ended():
    router, ended = LinkRouter("a"), []
    router.links.on_closed += [lambda link: ended.append(("one", link.id, link.is_open)),
                               lambda link: ended.append(("other", link.id, router.links.get(link.id)))]  # fmt: skip
    router.open(1)
    router.open(2)
    router.links.shut(1, "test", ReasonCode.OTHER)
    router.links.remove(1)
    assert ended == [("one", 1, False), ("other", 1, None)]
