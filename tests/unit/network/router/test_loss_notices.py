"""Notices to clients that a router has failed."""

from support.memory_networks import Alone, Lab, links_of, sent

from cbnet.network.protocol.fields import MAX_WEIGHT
from cbnet.network.protocol.frames import LinkField, LinkRecord, Lost, Subscribe


def with_subscriber(**settings):
    """Return the router a with neighbours b and c, a client that has subscribed, 1, and one that has not, 2."""
    alone = Alone("a", **settings)
    alone.client_link(1)
    alone.client_link(2)
    alone.say(1, Subscribe(1, "x = 1", 0))
    alone.leaf(3, "b")
    alone.leaf(4, "c")
    assert sent(alone.wait(1.0), Lost) == []
    return alone


def test_clients_with_subscriptions_learn_that_a_router_has_failed():
    alone = with_subscriber()
    done = alone.router.closed(3, alone.now) + alone.wait(0.5)
    assert links_of(done, Lost) == [1]
    assert sent(done, Lost) == [
        Lost(0, "b cannot be reached: messages from there, or on the way through it, may be lost")
    ]


def test_router_that_leaves_loses_nothing():
    alone = with_subscriber()
    session = alone.router.links.get(3).session
    leaving = LinkRecord("b", 1, 2, 2, 0, {"a": LinkField(MAX_WEIGHT, [session])})
    done = alone.say(3, leaving) + alone.wait(0.5) + alone.router.closed(3, alone.now) + alone.wait(0.5)
    assert sent(done, Lost) == []


def test_restart_that_nobody_saw_is_noticed():
    alone = with_subscriber(spacing=0.0, settle=0.0)
    alone.router.closed(3, alone.now)  # and before the next tick it is back
    alone.router_link(5, "b", incarnation=2, peer_link=7)
    done = alone.say(5, alone.record(5, "b", incarnation=2, sequence=2)) + alone.wait(0.5)
    assert sent(done, Lost) == [Lost(0, "b has restarted: messages that it was forwarding may be lost")]


def interrupted(links):
    """Return the causes that a subscriber at c learns when the link a-b was cut for a second, and only a noticed."""
    lab = Lab(links)
    lab.clients["c"].subscribe(1, "x = 1")
    lab.run(2)
    lab.memory.cut("a", "b", noticed_by=["a"])
    lab.run(1)
    lab.memory.repair("a", "b")
    lab.run(3)
    return [notice.cause for notice in lab.answers("c", Lost)]


def test_router_that_was_separated_is_noticed_afterwards():
    assert interrupted("a-b b-c") == ["a could not be reached for a time: messages from there may be lost"]


def test_interrupted_link_is_not_noticed_where_there_is_another_path():
    assert interrupted("a-b b-c c-a") == []
