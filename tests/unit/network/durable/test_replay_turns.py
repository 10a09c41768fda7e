"""Messages that were read for a replay wait until its payer has processor time."""

import pytest
from support.guarded_router import GuardedRouter
from support.memory_networks import sent

from cbnet import parse
from cbnet.network.forwarding.search_credit import FilterCredit
from cbnet.network.protocol.frames import (
    DurableDeliver,
    DurableSubscribe,
    HistoryStart,
    Publish,
    Replay,
    Unsubscribe,
)
from cbnet.network.security.rights import Rights

RIGHTS = {
    name: Rights(publish=parse("true"), subscribe=parse("true"), weight=weight)
    for name, weight in (("alice", 3), ("bob", None))
}
ALICE, BOB = 1, 2  # links
MESSAGES = 40


@pytest.fixture
def net():
    """Return a router with a history whose replays advance when the test says so."""
    net = GuardedRouter(RIGHTS, history="x > 0")
    publish(net, {"x": 1})
    net.holds_replays = True
    return net


def publish(net, message):
    net.say(BOB, *(Publish(number, message, [], b"", False) for number in range(MESSAGES)))


def replay(id, predicate="x > 0"):
    return Replay(id, predicate, 0.0, 100, HistoryStart())


def delivered(actions):
    return [frame.id for frame in sent(actions, DurableDeliver)]


def all_of(net, payer):
    """Let the replays of a payer advance until no message waits; return the subscription of each that is sent."""
    done = []
    while payer in net.router.replaying:
        done += delivered(net.replay(payer))
    return done


def test_at_most_16_messages_are_handled_at_once(net):
    assert delivered(net.say(ALICE, replay(7))) == []
    assert net.router.replaying == {"alice": 3}
    assert [len(delivered(net.replay("alice"))) for _ in range(3)] == [16, 16, 8]
    assert net.router.replaying == {}


def test_each_payer_has_its_own_messages_with_its_weight(net):
    net.say(ALICE, replay(7))
    net.say(BOB, replay(8))
    assert net.router.replaying == {"alice": 3, "bob": 1}
    assert all_of(net, "bob") == [8] * MESSAGES
    assert net.router.replaying == {"alice": 3}
    assert all_of(net, "alice") == [7] * MESSAGES


def test_a_payer_has_at_most_two_slices_in_memory_and_others_do_not_wait_for_it(net):
    net.say(ALICE, *map(replay, range(8)))
    net.say(BOB, replay(8))
    assert all_of(net, "bob") == [8] * MESSAGES
    assert sorted(all_of(net, "alice")) == sorted([0, 1] * MESSAGES)  # the others are read now
    done = []
    for _ in range(3):
        net.memory.run(0.1)
        done += all_of(net, "alice")
    assert sorted(done) == sorted([*range(2, 8)] * MESSAGES)


def test_messages_of_a_replay_that_ended_are_discarded(net):
    net.say(ALICE, replay(7))
    net.say(ALICE, Unsubscribe(7))
    assert all_of(net, "alice") == []
    net.say(ALICE, replay(8))
    assert all_of(net, "alice") == [8] * MESSAGES


def test_a_copy_of_the_history_waits_too_and_is_not_repeated_after_a_restart(net):
    net.say(ALICE, DurableSubscribe(7, "orders", "x > 0", 0.0, 100, 60.0, None, HistoryStart()))
    assert net.router.replaying == {"alice": 1}
    net.replay("alice")
    net.memory.run(0.1)  # 16 messages are on the disk
    net.holds_replays = False
    net.start()
    net.connect(ALICE, "alice")
    net.memory.run(1)
    received = sent(net.say(ALICE, DurableSubscribe(7, "orders", "", 0.0, 100, 60.0, None)), DurableDeliver)
    assert [frame.offset for frame in received] == [*range(1, MESSAGES + 1)]


def test_a_replay_does_not_pay_for_the_filters_of_others(net, monkeypatch):
    publish(net, {"x": 1, "p": [*range(1_000)], "q": [*range(1_000)]})
    payers = set()
    charge = FilterCredit.charge

    def spy(credit, slot, count):
        payers.add(credit._payer_of(slot))
        charge(credit, slot, count)

    monkeypatch.setattr(FilterCredit, "charge", spy)
    net.say(BOB, replay(8, "x > 0 and p + q < 0"))
    all_of(net, "bob")
    assert payers == {"bob"}
    payers.clear()
    net.say(ALICE, replay(7))
    assert all_of(net, "alice") == [7] * 2 * MESSAGES
    assert payers == set()
