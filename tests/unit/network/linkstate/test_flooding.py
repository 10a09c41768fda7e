"""How records spread: what is new is passed on, what is lacking is asked for."""

from support.link_networks import LinkNetwork, LinkRouter

from cbnet.network.link.context import Send
from cbnet.network.linkstate import database, flooding
from cbnet.network.linkstate.records import RecordVersion
from cbnet.network.protocol.frames import LinkField, LinkRecord, RecordEntry, RecordRequest, RecordSummary

TO_B = {"b": LinkField(1, [7])}


def three(**settings):
    """Return a router a with the neighbours b, c and d, over the links 1, 2 and 3."""
    router = LinkRouter("a", **settings)
    for link, name in enumerate("bcd", 1):
        router.greet(link, name)
    router.wait(0.2)
    return router


def sent(actions, kind, link=None):
    """Return the frames of a type that are sent, by link or over one."""
    chosen = [a for a in actions if isinstance(a, Send) and isinstance(a.frame, kind)]
    return [(a.link, a.frame) for a in chosen] if link is None else [a.frame for a in chosen if a.link == link]


def links_of(actions, kind):
    return [link for link, _ in sent(actions, kind)]


def of_x(sequence=5, age=0, neighbours=TO_B, owner="x"):
    return LinkRecord(owner, 1, sequence, 1, age, neighbours)


def test_new_neighbour_gets_a_summary():
    router = LinkRouter("a", incarnation=100)
    (summary,) = sent(router.greet(1, "b"), RecordSummary, link=1)
    assert summary.entries == [RecordEntry("a", 100, 1)]


def test_only_missing_records_are_requested():
    router = three()
    router.say(1, of_x())
    (asked,) = sent(
        router.say(2, RecordSummary("links", [RecordEntry("x", 1, 5), RecordEntry("y", 1, 1)])), RecordRequest, 2
    )
    assert asked.entries == [RecordEntry("y", 1, 1)]


def test_requested_record_is_sent_with_its_age():
    router = three()
    router.say(1, of_x(age=2_000))
    router.wait(0.5, answering=(1, 2, 3))
    wanted = [RecordEntry("x", 0, 0), RecordEntry("nobody", 0, 0)]
    # Half a second here, and for the hop a thousandth of the 1,800 s that a record lives.
    assert sent(router.say(2, RecordRequest("links", wanted)), LinkRecord) == [(2, of_x(age=2_000 + 500 + 1_800))]


def test_a_record_grows_older_with_every_hop_and_so_does_not_circulate_for_ever():
    router = three(refresh=4.0, lifetime=13.0)
    done = router.say(1, of_x(age=12_980))
    assert [frame.age for frame in sent(done, LinkRecord, link=2)] == [12_993]
    router.wait(0.1)
    assert "x" not in router.database.routers()
    assert sent(router.say(2, of_x(age=12_993)), LinkRecord) == []


def test_record_that_is_new_is_forwarded_to_the_others_once():
    router = three()
    assert links_of(router.say(1, of_x()), LinkRecord) == [2, 3]
    assert links_of(router.say(2, of_x()), LinkRecord) == []
    assert router.context.counters["records_stale"] == 1


def test_record_is_requested_elsewhere_when_a_link_breaks():
    router = three()
    entries = [RecordEntry("x", 1, 5)]
    assert links_of(router.say(1, RecordSummary("links", entries)), RecordRequest) == [1]
    assert links_of(router.say(2, RecordSummary("links", entries)), RecordRequest) == []
    assert links_of(router.close(1), RecordRequest) == [2]


def test_router_is_synchronised_when_it_has_what_its_neighbours_announced():
    router = LinkRouter("a")
    router.greet(1, "b")
    assert not router.records.is_synchronised
    router.say(1, RecordSummary("links", [RecordEntry("x", 1, 5)]))
    assert not router.records.is_synchronised
    router.say(1, of_x())
    assert router.records.is_synchronised


def test_a_version_that_nobody_has_hides_no_record_from_a_router_that_starts():
    router = three()
    claimed = RecordSummary("links", [RecordEntry("x", 9, 999)])
    assert links_of(router.say(1, claimed), RecordRequest) == [1]
    assert links_of(router.say(2, RecordSummary("links", [RecordEntry("x", 1, 5)])), RecordRequest) == []
    assert links_of(router.wait(1.1, answering=(1, 2, 3)), RecordRequest) == [2]
    router.say(2, of_x())
    assert router.database.version("x") == RecordVersion(5, 1)


def test_summary_replaces_an_earlier_one():
    router = LinkRouter("a")
    router.greet(1, "b")
    router.say(1, RecordSummary("links", [RecordEntry("x", 1, 5), RecordEntry("y", 1, 1)]))
    router.say(1, of_x())
    assert not router.records.is_synchronised
    router.say(1, RecordSummary("links", [RecordEntry("x", 1, 5)]))  # y has expired there
    assert router.records.is_synchronised


def test_router_with_too_many_requests_is_not_synchronised(monkeypatch):
    monkeypatch.setattr(flooding, "_MAX_REQUESTS", 1)
    router = LinkRouter("a")
    router.greet(1, "b")
    router.say(1, RecordSummary("links", [RecordEntry("x", 1, 5), RecordEntry("y", 1, 5)]))
    router.say(1, of_x())
    assert not router.records.is_synchronised


def test_record_without_room_is_requested_when_there_is_room(monkeypatch):
    monkeypatch.setattr(database, "MAX_ROUTERS", 2)
    router = three(refresh=4.0, lifetime=13.0)
    router.say(1, of_x(age=12_900))
    assert links_of(router.say(2, of_x(owner="y")), LinkRecord) == []
    asked = sent(router.wait(0.5, answering=(1, 2, 3)), RecordRequest, link=2)
    assert RecordRequest("links", [RecordEntry("y", 1, 5)]) in asked


# --- records of neighbours


def test_record_of_a_neighbour_is_accepted_from_itself_only():
    router = three()
    router.say(2, of_x(5, owner="c"))
    done = router.say(1, of_x(6, owner="c", neighbours={}))
    assert router.database.version("c") == RecordVersion(5, 1)
    assert links_of(done, LinkRecord) == []
    assert sent(done, RecordRequest) == [(2, RecordRequest("links", [RecordEntry("c", 1, 6)]))]  # c learns of it
    assert links_of(router.say(2, of_x(6, owner="c")), LinkRecord) == [1, 3]
    assert router.database.neighbours("c") == TO_B
    assert router.context.counters["records_second_hand"] == 1


def test_summary_of_a_third_router_requests_no_record_of_a_neighbour():
    router = three()
    done = router.say(1, RecordSummary("links", [RecordEntry("c", 1, 6)]))
    assert links_of(done, RecordRequest) == [2]  # of its owner only


def test_neighbour_gets_a_record_that_contradicts_its_own():
    router = three()
    router.say(2, of_x(5, owner="c"))
    forged = of_x(5, owner="c", neighbours={})
    assert sent(router.say(1, forged), LinkRecord) == [(2, forged)]
    assert sent(router.say(1, of_x(5, owner="c")), LinkRecord) == []


def test_record_of_a_neighbour_is_requested_from_others_when_its_link_closes():
    router = three()
    router.say(1, of_x(6, owner="c"))
    assert links_of(router.close(2), RecordRequest) == [1]
    assert links_of(router.say(1, of_x(6, owner="c")), LinkRecord) == [3]
    assert router.database.version("c") == RecordVersion(6, 1)


def test_record_of_a_neighbour_is_requested_from_others_when_it_answers_no_more():
    router = three()
    router.say(1, of_x(6, owner="c"))
    done = router.wait(2.5, answering=(1, 3))  # a heartbeat is 1 s, and the link is closed after 3.5 s
    assert links_of(done, RecordRequest) == [2, 1]  # c is asked once more after 1 s
    assert router.links.to("c") == 2


def test_neighbour_with_an_older_record_gets_the_present_one_once_a_tick():
    router = three()
    router.say(1, of_x(7))
    (frame,) = sent(router.say(2, of_x(5)), LinkRecord, link=2)
    assert frame.sequence == 7
    assert sent(router.say(2, of_x(6)), LinkRecord) == []


def test_expired_record_is_requested_from_all_neighbours():
    router = three(refresh=4.0, lifetime=13.0)
    router.say(1, of_x(age=12_900))
    asked = sent(router.wait(0.5, answering=(1, 2, 3)), RecordRequest)
    assert asked == [(link, RecordRequest("links", [RecordEntry("x", 1, 5)])) for link in (1, 2, 3)]


# --- cost


def test_record_crosses_every_link_at_most_twice():
    net = LinkNetwork("a-b b-c c-d d-a a-c", refresh=5.0)
    for _ in range(3):
        net.run(1.0)
    before = net.sent
    net.routers["a"].own._due = net.now
    net._perform("a", net.routers["a"].tick(net.now))
    net.deliver()
    # a sends it to 3 neighbours. b and d forward it to c, c to b and d; a neighbour that has it from another one first
    # may tell a, once each.
    assert 7 <= net.sent - before <= 10
