"""The right to durable subscriptions, and what those of one account may keep together."""

from dataclasses import replace

import pytest
from support.durable_networks import DurableLab
from support.guarded_router import GuardedRouter
from support.memory_networks import sent

from cbnet.network.protocol.frames import (
    AccountField,
    Acknowledge,
    DurableDeliver,
    DurableLimits,
    DurableLost,
    DurablePublish,
    DurablePublished,
    DurableQuery,
    DurableRemove,
    DurableReport,
    DurableSubscribe,
    Publish,
    RefusedFrame,
    Subscribed,
)
from cbnet.network.protocol.reasons import ReasonCode
from cbnet.network.security.access import Access, Account
from cbnet.network.security.rights import Rights
from cbnet.network.security.tokens import new_token

ANN = Rights(watch=False, manage=False, durable_subscriptions=2, durable_messages=3)
BOB = Rights(watch=False, manage=False)
SIZE = 9  # of the content {"x": 1}, [] and a payload of one byte
CAUSE = "the quotas of account 'ann' for durable subscriptions"


class Lab:
    """A router where ann has quotas, and bob has none."""

    def __init__(self, ann=ANN):
        self.net = GuardedRouter({"ann": ann, "bob": BOB}, dead=1e6)
        self.sequence = 0

    def change(self, ann):
        return self.net.change({"ann": ann, "bob": BOB})

    def subscribe(self, id, name, predicate="x > 0", limits=None, link=1):
        """Return the reason and code of a refusal; None if there is none."""
        done = self.net.say(link, DurableSubscribe(id, name, predicate, 0.0, 100, 1e4, limits))
        refused = sent(done, RefusedFrame)
        assert bool(refused) != bool(sent(done, Subscribed))
        return (refused[0].reason, refused[0].code) if refused else None

    def publish(self, link=2, x=1, count=1):
        """Return the receipts of messages."""
        frames = []
        for _ in range(count):
            self.sequence += 1
            frames.append(DurablePublish(link, self.sequence, 1, 5.0, {"x": x}, [], b".", []))
        answers = sent(self.net.say(link, *frames), DurablePublished)
        return sorted(answers, key=lambda each: each.sequence)

    def stored(self, **more):
        """Return how many subscriptions have a new message, and how many of ann refuse it."""
        (answer,) = self.publish(**more)
        return answer.subscriptions, sum(each.count for each in answer.others.values())

    def report(self, link=1):
        (report,) = sent(self.net.say(link, DurableQuery(1, ("", ""))), DurableReport)
        return report

    def losses(self, id=1, name="s"):
        """Return the messages and causes of the losses that ann gets when she returns."""
        self.net.router.closed(1, self.net.memory.now)
        self.net.connect(1, "ann")
        done = self.net.say(1, DurableSubscribe(id, name, "", 0.0, 100, 1e4, None))
        return [(each.messages, each.cause) for each in sent(done, DurableLost)]


# --- the right


def test_without_the_right_nobody_creates_or_joins_a_durable_subscription():
    lab = Lab()
    assert lab.subscribe(1, "s") is None
    refused = ("you may not have durable subscriptions; ask the operator for `durable = true`", ReasonCode.DENIED)
    done = lab.change(replace(ANN, durable=False))
    assert [(each.frame, each.number, each.reason, each.code) for each in sent(done, RefusedFrame)] == [
        (70, 1, *refused)
    ]
    assert lab.subscribe(1, "s", "") == refused
    assert lab.subscribe(2, "t") == refused
    assert lab.stored() == (1, 0)  # it goes on keeping messages
    lab.change(ANN)
    done = lab.net.say(1, DurableSubscribe(1, "s", "", 0.0, 100, 1e4, None))
    assert [each.offset for each in sent(done, DurableDeliver)] == [1]


# --- the number of subscriptions


def test_one_more_durable_subscription_than_the_quota_is_refused():
    lab = Lab()
    assert lab.subscribe(1, "s") is lab.subscribe(2, "t") is None
    reason, code = lab.subscribe(3, "u")
    assert reason.startswith("too many durable_subscriptions at this router: 3; your limit is 2")
    assert code == ReasonCode.DENIED
    assert lab.subscribe(3, "s", "") is None  # it exists
    assert lab.subscribe(1, "u", link=2) is None  # of another account
    lab.net.say(1, DurableRemove(1, "t"))
    assert lab.subscribe(3, "u") is None


def test_the_number_of_subscriptions_is_known_after_a_restart():
    lab = Lab()
    lab.subscribe(1, "s")
    lab.subscribe(2, "t")
    lab.net.start()
    lab.net.connect(1, "ann")
    assert lab.subscribe(3, "u") is not None


# --- messages


def test_messages_beyond_the_quota_are_refused_by_the_account_only():
    lab = Lab()
    lab.subscribe(1, "s")
    lab.subscribe(2, "t", "x > 5")
    lab.subscribe(1, "other", link=2)
    assert [lab.stored() for _ in range(2)] == [(2, 0)] * 2
    assert lab.stored(x=9) == (3, 0)  # the third and fourth message of ann, compared before either is kept
    assert lab.stored(x=9) == (1, 2)
    (answer,) = lab.publish(link=1)
    assert answer.refused == [f"a: {CAUSE} are used up: 4 messages, {4 * SIZE} bytes"]
    lab.net.say(1, Acknowledge(1, [1, 2], 0))
    assert lab.stored() == (2, 0)


def test_a_message_for_several_subscriptions_makes_none_of_them_drop_others():
    lab = Lab()
    lab.subscribe(1, "s")
    lab.subscribe(2, "t")
    assert [(each.subscriptions, each.dropped) for each in lab.publish(count=3)] == [(2, 0), (2, 0), (0, 0)]
    assert [each.messages for each in lab.report().subscriptions] == [2, 2]


def test_bytes_beyond_the_quota_are_refused():
    lab = Lab(replace(ANN, durable_messages=None, durable_bytes=2 * SIZE + 1))
    lab.subscribe(1, "s")
    assert [lab.stored() for _ in range(3)] == [(1, 0), (1, 0), (0, 1)]
    assert lab.losses() == [(1, CAUSE)]


@pytest.mark.parametrize("is_durable", [True, False])
def test_a_loss_because_of_a_quota_has_that_cause(is_durable):
    lab = Lab()
    lab.subscribe(1, "s")
    lab.publish(count=3)
    if is_durable:
        lab.publish(count=2)
    else:
        lab.net.say(2, *(Publish(number, {"x": 1}, [], b".", False) for number in (1, 2)))
    assert lab.losses() == [(2, CAUSE)]


def test_a_full_subscription_whose_account_has_room_gives_no_cause():
    lab = Lab()
    lab.subscribe(1, "s", limits=DurableLimits(messages=1))
    lab.publish(count=2)
    assert lab.losses() == [(1, "")]


def test_drop_oldest_makes_room_in_the_quota_with_its_own_messages():
    lab = Lab()
    lab.subscribe(1, "s", "x < 5", DurableLimits(policy="drop oldest"))
    lab.subscribe(2, "t", "x > 5")
    assert [lab.publish(x=1, count=2)[-1].dropped, *(each.dropped for each in lab.publish(x=1, count=2))] == [0, 0, 1]
    assert lab.stored(x=9) == (0, 1)
    lab.net.say(1, Acknowledge(1, [2, 3, 4], 0))
    assert [each.subscriptions for each in lab.publish(x=9, count=3)] == [1, 1, 1]
    assert lab.stored(x=1) == (0, 1)  # it has nothing to drop


def test_with_a_smaller_quota_messages_stay_and_none_are_added():
    lab = Lab()
    lab.subscribe(1, "s")
    lab.publish(count=3)
    lab.change(replace(ANN, durable_messages=1, durable_subscriptions=1))
    assert lab.stored() == (0, 1)
    assert lab.subscribe(2, "t") is not None
    lab.net.say(1, Acknowledge(1, [1, 2, 3], 0))
    assert [lab.stored() for _ in range(2)] == [(1, 0), (0, 1)]
    lab.change(replace(ANN, durable_messages=2))
    assert lab.stored() == (1, 0)


def test_use_is_the_same_after_a_restart_and_after_a_removal():
    lab = Lab(replace(ANN, durable_bytes=1_000, durable_age=60))
    lab.subscribe(1, "s")
    lab.subscribe(2, "t")
    lab.publish(count=1)
    (before,) = lab.report().accounts
    assert before == AccountField("ann", 2, 2, 2 * SIZE, 2, 3, 1_000, 60)
    lab.net.start()
    lab.net.connect(1, "ann")
    lab.net.connect(2, "bob")
    assert lab.report().accounts == [before]
    lab.net.say(1, DurableRemove(1, "s"))
    assert lab.report().accounts == [AccountField("ann", 1, 1, SIZE, 2, 3, 1_000, 60)]


# --- age


@pytest.mark.parametrize(("own", "quota", "cause"), [(0.0, 5, CAUSE), (9.0, 5, CAUSE), (5.0, 9, ""), (5.0, None, "")])
def test_the_smaller_age_of_subscription_and_account_drops_messages(own, quota, cause):
    lab = Lab(replace(ANN, durable_age=quota))
    lab.subscribe(1, "s", limits=DurableLimits(age=own))
    lab.publish(count=2)
    lab.net.memory.run(4.5)
    lab.net.say(2)
    assert lab.report().subscriptions[0].messages == 2
    lab.net.memory.run(1)
    lab.net.say(2)
    assert lab.report().subscriptions[0].messages == 0
    assert lab.losses() == [(2, cause)]


# --- accounts that do not exist


def test_a_removed_account_has_the_default_quotas():
    token = new_token("ann")
    access = Access(clients={"ann": Account(Rights(durable_messages=None), token.hash)})
    net = DurableLab("a", access={"a": access})
    net.client("a", "ann", token.token).subscribe_durable(1, "s", "x > 0")
    net.run(1)
    registry = net.memory.router("a").durable.registry
    assert registry.account_status("ann").max_messages is None
    router = net.memory.router("a")
    router.reload(router.settings, Access(clients={}), net.memory.now)
    assert registry.account_status("ann") == AccountField("ann", 1, 0, 0, 256, 1_000_000, 1 << 30, None)
