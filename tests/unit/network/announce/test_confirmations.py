"""When a subscription is confirmed, and what is missing if it is not."""

from support.memory_networks import Alone, Lab, sent

from cbnet.network.protocol.frames import AnnounceAck, LinkField, StreamAck, Subscribe, Subscribed

LINE = "r1-r2 r2-r3"


def confirmation(lab, name, id, seconds=0.0):
    lab.run(seconds)
    return [answer for answer in lab.answers(name, Subscribed) if answer.id == id]


def between():
    """Return a router a with the leaves b and c, which have acknowledged its streams, and a client at 9."""
    alone = Alone("a")
    alone.leaf(1, "b", wants=["b = 1"])
    alone.leaf(2, "c", wants=["c = 1"])
    alone.client_link(9)
    alone.wait(3)  # the first version is forgotten
    for link in (1, 2):
        acknowledge(alone, link)
    return alone


def acknowledge(alone, link, version=True):
    """Acknowledge all streams to a neighbour; return the actions."""
    done = []
    for stream in alone.router.streams.outgoing.values():
        if stream.key.neighbour == alone.router.links.name(link):
            acks = [StreamAck(stream.number, stream.sequence, 0)]
            acks += [StreamAck(stream.number, stream.sequence, alone.router.version.id)] if version else []
            done += alone.say(link, AnnounceAck(acks))
    return done


def test_router_alone_confirms_at_once():
    alone = Alone("a")
    alone.client_link(9)
    assert sent(alone.say(9, Subscribe(1, "x = 1", 5.0)), Subscribed) == [Subscribed(1, True, 1, [])]


def test_subscription_is_confirmed_when_all_beyond_have_it():
    alone = between()
    assert sent(alone.say(9, Subscribe(1, "x = 1", 5.0)), Subscribed) == []
    assert sent(acknowledge(alone, 1), Subscribed) == []
    assert sent(acknowledge(alone, 2, version=False), Subscribed) == []
    assert sent(acknowledge(alone, 2), Subscribed, 9) == [Subscribed(1, True, 3, [])]


def test_version_that_others_have_not_acknowledged_confirms_nothing():
    alone = Alone("a")
    alone.leaf(1, "b", wants=["b = 1"])
    alone.client_link(9)
    alone.say(9, Subscribe(1, "x = 1", 5.0))
    assert sent(acknowledge(alone, 1, version=False), Subscribed) == []
    assert sent(acknowledge(alone, 1), Subscribed) == [Subscribed(1, True, 2, [])]


def test_routers_that_may_still_use_an_earlier_version_must_have_it_too():
    alone = between()
    alone.say(1, alone.record(1, "b", sequence=2, c=LinkField(1, [77])))
    far = {"a": LinkField(9, [alone.router.links.get(2).session])}  # the tree does not use a-c any more
    alone.say(2, alone.record(2, "c", sequence=2, b=LinkField(1, [77]), **far))
    alone.wait(0.1)
    assert [link.neighbour for link in alone.router.version.links()] == ["b"]
    alone.announce(1, ["b = 1", "c = 1"], number=2)
    assert sent(alone.say(9, Subscribe(1, "x = 1", 5.0)), Subscribed) == []
    assert sent(acknowledge(alone, 1), Subscribed) == []
    assert sent(acknowledge(alone, 2, version=False), Subscribed) == [Subscribed(1, True, 3, [])]


def test_subscription_covered_by_a_confirmed_one_is_confirmed_at_once():
    alone = between()
    alone.say(9, Subscribe(1, "x > 1", 5.0))
    acknowledge(alone, 1)
    acknowledge(alone, 2)
    assert sent(alone.say(9, Subscribe(2, "x > 5", 5.0)), Subscribed) == [Subscribed(2, True, 3, [])]


def test_subscription_covered_by_one_that_is_not_confirmed_waits_for_it():
    alone = between()
    alone.say(9, Subscribe(1, "x > 1", 0))
    assert sent(alone.say(9, Subscribe(2, "x > 5", 5.0)), Subscribed) == []
    acknowledge(alone, 1)
    assert sent(acknowledge(alone, 2), Subscribed) == [Subscribed(2, True, 3, [])]


def test_later_changes_do_not_delay_a_confirmation():
    alone = between()
    alone.say(9, Subscribe(1, "x = 1", 5.0))
    needed = {
        stream.key.neighbour: (stream.number, stream.sequence) for stream in alone.router.streams.outgoing.values()
    }
    alone.say(9, Subscribe(2, "x = 2", 0))
    done = []
    for link, name in ((1, "b"), (2, "c")):
        number, sequence = needed[name]
        version = alone.router.version.id
        done += alone.say(link, AnnounceAck([StreamAck(number, sequence, 0), StreamAck(number, sequence, version)]))
    assert sent(done, Subscribed, 9) == [Subscribed(1, True, 3, [])]


def test_timeout_names_the_links_that_have_not_answered():
    alone = between()
    alone.say(9, Subscribe(1, "x = 1", 1.0))
    acknowledge(alone, 1)
    assert sent(alone.wait(0.9), Subscribed) == []
    assert sent(alone.wait(0.2), Subscribed, 9) == [Subscribed(1, False, 3, ["a→c"])]


def test_unreachable_routers_are_named():
    lab = Lab(LINE)
    lab.memory.cut("r2", "r3")
    lab.run(5)
    lab.clients["r1"].subscribe(1, "x = 1", wait=3.0)
    assert confirmation(lab, "r1", 1, seconds=1) == [Subscribed(1, True, 2, ["r3"])]


def test_silent_link_is_named_from_both_sides_of_the_router_before_it():
    lab = Lab(LINE)
    lab.memory.cut("r2", "r3", noticed_by=[])
    lab.clients["r1"].subscribe(1, "x = 1", wait=1.0)
    lab.clients["r2"].subscribe(1, "y = 1", wait=1.0)
    assert confirmation(lab, "r1", 1, seconds=2) == [Subscribed(1, False, 3, ["r1→r2"])]
    assert confirmation(lab, "r2", 1) == [Subscribed(1, False, 3, ["r2→r3"])]


def test_confirmation_is_cancelled_with_its_client():
    alone = between()
    alone.say(9, Subscribe(1, "x = 1", 1.0))
    alone.close(9)
    assert sent(alone.wait(2), Subscribed) == []


def test_acknowledgement_of_a_change_that_was_never_made_counts_only_for_what_was():
    alone = between()
    (number,) = [s.number for s in alone.router.streams.outgoing.values() if s.key.neighbour == "b"]
    alone.say(1, AnnounceAck([StreamAck(number, 10**9, 0), StreamAck(number, 10**9, alone.router.version.id)]))
    alone.say(9, Subscribe(1, "x = 1", 1.0))
    acknowledge(alone, 2)
    assert sent(alone.wait(1.1), Subscribed) == [Subscribed(1, False, 3, ["a→b"])]


def test_replaced_subscriptions_that_wait_for_a_silent_neighbour_need_no_memory():
    alone = between()
    for number in range(3_000):
        alone.say(9, Subscribe(1, f"x = {number}", 60.0))
    confirmations = alone.router.announcements.confirmations
    assert len(confirmations._waiting) == 1
    assert sum(map(len, confirmations._under.values())) <= 1_100
    alone.say(9, Subscribe(1, "x = 0", 60.0))
    assert sent([*acknowledge(alone, 1), *acknowledge(alone, 2)], Subscribed) == [Subscribed(1, True, 3, [])]
