"""A subscription that is waited for is known everywhere when the answer comes."""

from support.memory_networks import Alone, Lab, links_of, sent

from cbnet.network.protocol.frames import AckRequest, FilterChange, LinkRecord, RecordAck, Subscribe, Subscribed


def test_confirmed_subscription_misses_nothing():
    lab = Lab("a-b b-c c-d d-a d-e")
    lab.clients["a"].subscribe(1, "x = 1", wait=5.0)
    while not lab.answers("a", Subscribed):
        lab.run(0.001)
    assert lab.answers("a", Subscribed) == [Subscribed(1, True, 5, [])]
    for name in "bcde":
        lab.clients[name].publish({"x": 1}, name.encode())
    lab.run(1)
    assert sorted(lab.payloads("a")) == [b"b", b"c", b"d", b"e"]


def test_unreachable_routers_are_named():
    lab = Lab("a-b b-c c-d")
    lab.memory.cut("b", "c")
    lab.run(1)
    lab.clients["a"].subscribe(1, "x = 1", wait=5.0)
    lab.run(1)
    assert lab.answers("a", Subscribed) == [Subscribed(1, True, 2, ["c", "d"])]


def test_while_a_cut_has_not_been_noticed_those_beyond_are_missing_when_the_time_is_up():
    lab = Lab("a-b b-c c-d")
    lab.memory.cut("b", "c", noticed_by=[])
    lab.clients["a"].subscribe(1, "x = 1", wait=2.0)
    lab.run(1.9)
    assert lab.answers("a", Subscribed) == []
    lab.run(0.5)
    assert lab.answers("a", Subscribed) == [Subscribed(1, False, 2, ["c", "d"])]


def test_a_cut_that_heals_in_time_is_waited_for():
    lab = Lab("a-b b-c")
    lab.memory.cut("b", "c", noticed_by=[])
    lab.clients["a"].subscribe(1, "x = 1", wait=30.0)
    lab.run(2)
    lab.memory.repair("b", "c")
    lab.run(10)
    # When the cut is noticed only b is in reach, and b has it: that is what was asked for.
    (answer,) = lab.answers("a", Subscribed)
    assert answer.is_confirmed
    assert answer in (Subscribed(1, True, 2, ["c"]), Subscribed(1, True, 3, []))


def test_a_subscription_that_is_covered_is_confirmed_without_a_record():
    lab = Lab("a-b b-c")
    lab.clients["a"].subscribe(1, "x > 0", wait=5.0)
    lab.run(1)
    before = lab.memory.frames["FilterChange"]
    lab.clients["a"].subscribe(2, "x > 1", wait=5.0)
    lab.run(0.2)
    assert lab.answers("a", Subscribed)[-1] == Subscribed(2, True, 3, [])
    assert lab.memory.frames["FilterChange"] == before


def test_subscription_without_wait_is_answered_at_once():
    lab = Lab("a-b b-c")
    lab.memory.cut("a", "b", noticed_by=[])
    lab.clients["a"].subscribe(1, "x > 0")
    lab.run(0.01)
    assert lab.answers("a", Subscribed) == [Subscribed(1, False, 1, [])]


def neighbours(wait=9.0):
    """Return a router a with the neighbours b and c, who are linked, and a client that waits."""
    alone = Alone("a")
    for link, name, other in ((1, "b", "c"), (2, "c", "b")):
        alone.router_link(link, name)
        alone.say(link, LinkRecord(name, 1, 1, 0, {"a": 1, other: 1}))
    alone.client_link(9)
    alone.wait(0.2)
    done = alone.say(9, Subscribe(1, "x = 1", wait))
    (change,) = sent(done, FilterChange, link=1)
    assert change.wants_ack
    return alone, change.sequence


def test_missing_acknowledgements_are_requested_again():
    alone, sequence = neighbours()
    alone.say(1, RecordAck(to="a", hops=0, router="b", router_life=1, life=100, sequence=sequence))
    done = alone.wait(2.5)
    assert [frame.to for frame in sent(done, AckRequest)] == ["c", "c"]
    assert links_of(done, AckRequest) == [2, 2]
    assert sent(
        alone.say(2, RecordAck(to="a", hops=0, router="c", router_life=1, life=100, sequence=sequence)), Subscribed
    ) == [Subscribed(1, True, 3, [])]


def test_an_answer_about_an_older_version_or_from_an_earlier_life_is_not_enough():
    alone, sequence = neighbours()
    alone.say(1, RecordAck(to="a", hops=0, router="b", router_life=1, life=100, sequence=sequence))
    assert (
        sent(
            alone.say(2, RecordAck(to="a", hops=0, router="c", router_life=1, life=100, sequence=sequence - 1)),
            Subscribed,
        )
        == []
    )
    assert (
        sent(
            alone.say(2, RecordAck(to="a", hops=0, router="c", router_life=7, life=100, sequence=sequence)), Subscribed
        )
        == []
    )  # c has another life by now
    assert (
        sent(
            alone.say(2, RecordAck(to="a", hops=0, router="c", router_life=1, life=100, sequence=sequence)), Subscribed
        )
        != []
    )


def test_an_answer_that_was_overtaken_takes_nothing_back():
    alone, sequence = neighbours()
    alone.say(2, RecordAck(to="a", hops=0, router="c", router_life=1, life=100, sequence=sequence))
    alone.say(2, RecordAck(to="a", hops=0, router="c", router_life=1, life=100, sequence=sequence - 1))
    assert sent(
        alone.say(1, RecordAck(to="a", hops=0, router="b", router_life=1, life=100, sequence=sequence)), Subscribed
    ) == [Subscribed(1, True, 3, [])]


def test_acknowledgements_of_unknown_routers_are_ignored():
    alone, sequence = neighbours()
    alone.say(
        1,
        *[
            RecordAck(to="a", hops=0, router=f"unknown {n}", router_life=1, life=100, sequence=sequence)
            for n in range(50)
        ],
    )
    assert len(alone.router._confirmations._acknowledged) == 0


def test_disconnected_client_gets_no_confirmation():
    alone, _ = neighbours(wait=1.0)
    alone.close(9)
    assert sent(alone.wait(2.0), Subscribed) == []


def test_acknowledgement_request_is_answered_with_the_present_version():
    alone = Alone("a", life=55)
    alone.router_link(1, "b")
    alone.say(
        1,
        LinkRecord("b", 1, 1, 0, {"a": 1}),
        FilterChange(owner="b", life=1, sequence=1, age=0, added=[], removed=[], wants_ack=False),
    )
    alone.wait(0.2)
    assert sent(alone.say(1, AckRequest("a", 0, "b"))) == [
        RecordAck(to="b", hops=0, router="a", router_life=55, life=1, sequence=1)
    ]
    assert sent(alone.say(1, AckRequest("a", 0, "nobody"))) == []


def test_change_that_is_waited_for_is_acknowledged_to_its_owner():
    alone = Alone("a", life=55)
    alone.router_link(1, "b")
    alone.say(1, LinkRecord("b", 1, 1, 0, {"a": 1}))
    alone.wait(0.2)
    assert sent(
        alone.say(1, FilterChange(owner="b", life=1, sequence=1, age=0, added=[], removed=[], wants_ack=True)),
        RecordAck,
    ) == [RecordAck(to="b", hops=0, router="a", router_life=55, life=1, sequence=1)]
    assert (
        sent(
            alone.say(1, FilterChange(owner="b", life=1, sequence=2, age=0, added=[], removed=[], wants_ack=False)),
            RecordAck,
        )
        == []
    )


def test_unicast_frame_is_forwarded_until_the_hop_limit():
    alone = Alone("a")
    for link, name in ((1, "b"), (2, "c")):
        alone.router_link(link, name)
        alone.say(link, LinkRecord(name, 1, 1, 0, {"a": 1}))
    alone.wait(0.2)
    done = alone.say(1, RecordAck(to="c", hops=3, router="b", router_life=1, life=1, sequence=1))
    assert sent(done, link=2) == [RecordAck(to="c", hops=4, router="b", router_life=1, life=1, sequence=1)]
    assert alone.say(1, RecordAck(to="c", hops=255, router="b", router_life=1, life=1, sequence=1)) == []
    assert alone.say(1, RecordAck(to="nobody", hops=1, router="b", router_life=1, life=1, sequence=1)) == []
    assert alone.router.counters["dropped.too_many_hops"] == 1
    assert alone.router.counters["dropped.no_route"] == 1
