"""A full durable subscription concerns its owner: publishers of other accounts are not refused."""

import pytest
from support.durable_networks import DurableLab, payloads
from support.guarded_router import GuardedRouter
from support.memory_networks import sent

from cbnet.network.link.counters import DropReason
from cbnet.network.protocol.frames import (
    DurableDeliver,
    DurableLimits,
    DurableLost,
    DurablePublish,
    DurablePublished,
    DurableRemove,
    DurableSubscribe,
    Publish,
    Refusals,
    RefusedFrame,
    Subscribed,
)
from cbnet.network.protocol.wire import encode
from cbnet.network.security.access import Access, Account
from cbnet.network.security.rights import Rights
from cbnet.network.security.tokens import new_token

STRANGER, WATCHER = Rights(watch=False, manage=False), Rights(watch=True, manage=False)
RIGHTS = {"ann": STRANGER, "bob": STRANGER, "eve": STRANGER, "watcher": WATCHER}
ANN, BOB, EVE, WATCHING = 1, 2, 3, 4
OWN_FULL = "a: durable subscription small is full: 1 messages, {} bytes"
FULL = DurableLimits(messages=1)


class Lab:
    """A router where bob's subscription `small` has the one message that it may keep; ann's `large` has no limits."""

    def __init__(self, *names, **settings):
        self.router, self.ids = GuardedRouter(RIGHTS, dead=1e6, **settings), 0
        self.subscribe(ANN, "large")
        self.subscribe(BOB, "small", FULL)
        for name in names:
            self.subscribe(BOB, name, FULL)
        (first,) = self.publish(EVE, 1)
        assert (first.subscriptions, first.others) == (2 + len(names), {})

    def subscribe(self, link, name, limits=None, window=10):
        self.ids += 1
        frame = DurableSubscribe(self.ids, name, "x > 0", 0.0, window, 1e4, limits)
        done = self.router.say(link, frame)
        assert sent(done, Subscribed)
        return done

    def publish(self, link, *numbers, required=(), publisher=None):
        """Return the answers to messages; the publisher's number is that of the link, unless it is given."""
        names = None if required is None else [*required]
        frames = [
            DurablePublish(publisher or link, number, 1, 5.0, {"x": 1}, [], b"%d" % number, names) for number in numbers
        ]
        done = self.router.say(link, *frames)
        return sorted(sent(done, DurablePublished), key=lambda each: each.sequence) or sent(done, RefusedFrame)

    def restart(self):
        self.router.start()
        for link, name in enumerate(RIGHTS, 1):
            self.router.connect(link, name)

    def received(self, link, name):
        """Let a client leave and return; return the payloads that it receives, and the numbers of lost messages."""
        self.router.router.closed(link, self.router.memory.now)
        self.router.connect(link, [*RIGHTS][link - 1])
        done = self.subscribe(link, name, window=100)
        return [each.content[-1:] for each in sent(done, DurableDeliver)], [
            each.messages for each in sent(done, DurableLost)
        ]


def test_a_message_is_stored_for_all_but_the_full_subscriptions_of_other_accounts():
    lab = Lab("tiny")
    (answer,) = lab.publish(EVE, 2)
    assert (answer.subscriptions, answer.silent, answer.refused) == (1, [], [])
    assert answer.others == {"a": Refusals(2, [])}
    assert lab.received(ANN, "large") == ([b"1", b"2"], [])
    assert lab.router.router.counters[DropReason.JOURNAL_FULL.key] == 2


def test_the_owner_of_a_full_subscription_learns_of_each_loss():
    lab = Lab()
    lab.publish(EVE, 2, 3)
    lab.restart()  # the losses are on disk as the messages are
    assert lab.received(BOB, "small") == ([b"1"], [2])


def test_only_a_publisher_that_may_watch_learns_whose_subscription_refuses():
    lab = Lab()
    assert lab.publish(EVE, 2)[0].others == {"a": Refusals(1, [])}
    assert lab.publish(WATCHING, 1)[0].others == {"a": Refusals(1, [("bob", "small")])}
    (stranger,), (watcher,) = lab.publish(EVE, 3, required=None), lab.publish(WATCHING, 2, required=None)
    assert stranger.refused == ["a: 1 durable subscription of other accounts refuses it"]
    assert watcher.refused == ["a: 1 durable subscription of other accounts refuses it; small of account 'bob'"]


def test_a_full_subscription_of_the_same_account_refuses_the_message_for_all():
    lab = Lab()
    (answer,) = lab.publish(BOB, 1)
    assert (answer.subscriptions, answer.others) == (0, {})
    assert answer.refused == [OWN_FULL.format(9)]  # {"x": 1}, [] and b"1" in an array
    assert lab.received(ANN, "large") == ([b"1"], [])


def test_clients_without_accounts_share_one():
    net = DurableLab("a")
    alice, bob = net.client("a"), net.client("a")
    bob.acknowledges = lambda _: False
    bob.subscribe_durable(1, "small", "x > 0", limits=FULL)
    net.run(1)
    first, second = (alice.publish_durable({"x": 1}) for _ in range(2))
    net.run(1)
    assert alice.receipts[first].subscriptions == 1
    assert alice.receipts[second].refused == ["a: durable subscription small is full: 1 messages, 8 bytes"]


def test_a_publisher_may_require_all_subscriptions_as_in_version_0_2():
    lab = Lab()
    (answer,) = lab.publish(EVE, 2, required=None)
    assert (answer.subscriptions, answer.others) == (0, {})
    assert answer.refused == ["a: 1 durable subscription of other accounts refuses it"]
    assert lab.received(BOB, "small") == ([b"1"], [])  # its publisher knows
    frame = encode(DurablePublish(1, 1, 1, 5.0, {"x": 1}, [], b""))
    assert frame[-1:] == b"\xc0"  # None: what a client of version 4 does not send


def test_a_publisher_may_require_some_subscriptions():
    lab = Lab()
    lab.subscribe(BOB, "roomy")
    assert [each.subscriptions for each in lab.publish(EVE, 2, required=[("bob", "roomy")])] == [2]
    (answer,) = lab.publish(EVE, 3, required=[("ann", "large"), ("bob", "small")])
    assert answer.refused == ["a: durable subscription small of account 'bob' refuses it"]
    assert [each.subscriptions for each in lab.publish(EVE, 4, required=[("ann", "large")])] == [2]


def test_a_required_subscription_that_nobody_knows_refuses_the_message_at_once():
    lab = Lab()
    for unknown in (("bob", "large"), ("", "small")):
        (refused,) = lab.publish(EVE, 2, required=[unknown])
        account, name = unknown
        assert refused.reason.startswith(f"no durable subscription {name!r} of account {account!r} is known")


def test_plain_messages_are_lost_to_full_subscriptions_only():
    lab = Lab()
    lab.router.say(EVE, Publish(1, {"x": 1}, [], b"8", False))
    assert lab.received(BOB, "small") == ([b"1"], [1])
    assert lab.received(ANN, "large") == ([b"1", b"8"], [])


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_copy_has_the_same_verdict_though_there_is_room_again(is_restarted):
    lab = Lab()
    before = lab.publish(EVE, 2, 3)
    if is_restarted:
        lab.restart()
    lab.router.say(BOB, DurableRemove(1, "small"))
    lab.subscribe(BOB, "small")  # with room
    assert lab.publish(EVE, 2, 3) == before
    assert lab.received(BOB, "small") == ([], [])


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_message_that_all_refuse_is_not_stored_later(is_restarted):
    lab = Lab()
    lab.router.say(ANN, DurableRemove(1, "large"))
    (before,) = lab.publish(EVE, 2)
    assert (before.subscriptions, before.refused, before.others) == (0, [], {"a": Refusals(1, [])})
    if is_restarted:
        lab.restart()
    lab.router.say(BOB, DurableRemove(1, "small"))
    lab.subscribe(BOB, "small")
    assert lab.publish(EVE, 2) == [before]
    (after,) = lab.publish(EVE, 3)
    assert after.subscriptions == 1
    assert lab.received(BOB, "small") == ([b"3"], [])


def test_the_account_of_a_publisher_reaches_homes_at_other_routers():
    tokens = {name: new_token(name) for name in ("ann", "bob")}
    access = Access(clients={name: Account(STRANGER, token.hash) for name, token in tokens.items()})
    net = DurableLab("a-b b-c", access=dict.fromkeys("abc", access))
    bob = net.client("c", "bob", tokens["bob"].token)
    bob.acknowledges = lambda _: False
    bob.subscribe_durable(1, "small", "x > 0", limits=FULL)
    reader = net.client("c", "ann", tokens["ann"].token)
    reader.subscribe_durable(1, "large", "x > 0", wait=5)
    net.run(2)
    ann, own = (net.client("a", name, tokens[name].token) for name in ("ann", "bob"))
    numbers = [ann.publish_durable({"x": 1}, b"%d" % n) for n in range(3)]
    net.run(2)
    refused = own.publish_durable({"x": 1}, b"own")
    net.run(2)
    assert [ann.receipts[number].subscriptions for number in numbers] == [2, 1, 1]
    assert ann.receipts[numbers[1]].others == {"c": Refusals(1, [])}
    assert own.receipts[refused].refused == ["c: durable subscription small is full: 1 messages, 9 bytes"]
    assert payloads(reader) == [b"0", b"1", b"2"]


def test_the_history_has_what_full_subscriptions_of_others_refuse():
    lab = Lab(history="x > 0")
    (answer,) = lab.publish(EVE, 2)
    assert (answer.subscriptions, answer.others) == (1, {"a": Refusals(1, [])})
    assert lab.router.router.durable.history_status().messages == 2
