"""Messages of durable subscriptions that are looked at, moved and removed."""

import asyncio
import json

import pytest
from support.durable_networks import DurableLab, answers
from support.guarded_router import GuardedRouter
from support.memory_networks import sent

from cbnet.errors import InputError
from cbnet.language.syntax.parser import parse
from cbnet.network.client.durable.durable_messages import MessageSelection, peek, take
from cbnet.network.durable.subscriptions import stored_messages
from cbnet.network.errors import Refused
from cbnet.network.logs import open_audit_log, use_audit_log
from cbnet.network.protocol.frames import (
    Acknowledge,
    DurableDeliver,
    DurableLimits,
    DurableMove,
    DurablePeek,
    DurablePeeked,
    DurablePublish,
    DurablePublished,
    DurablePurge,
    DurableQuery,
    DurableReport,
    DurableSubscribe,
    DurableTaken,
    RefusedFrame,
    Subscribed,
    Unsubscribe,
    frame_number,
)
from cbnet.network.protocol.reasons import ReasonCode
from cbnet.network.security.rights import Rights

RIGHTS = {
    "ann": Rights(watch=False, manage=False),
    "operator": Rights(watch=False, manage=True),
    "watcher": Rights(watch=True, manage=False),
}
ANN, OPERATOR, WATCHER = 1, 2, 3
ANSWERS = (DurablePeeked, DurableTaken)


class Net(GuardedRouter):
    """A router where ann has the subscriptions `billing`, with the messages x = 1 to 5, and `other`, which matches none."""

    def __init__(self, limits=None, **rights):
        super().__init__({**RIGHTS, "ann": Rights(watch=False, manage=False, **rights)}, dead=1e6)
        for id, name, predicate, own in ((1, "billing", "x > 0", None), (2, "other", "false", limits)):
            assert sent(self.say(ANN, DurableSubscribe(id, name, predicate, 0.0, 1, 30.0, own)), Subscribed)
            self.say(ANN, Unsubscribe(id))
        for sequence in range(1, 6):
            self.publish(sequence)

    def publish(self, x):
        assert sent(self.say(ANN, DurablePublish(5, x, x, 5.0, {"x": x}, ["t"], b"p")), DurablePublished)

    def attach(self, name, window=10):
        return sent(self.say(ANN, DurableSubscribe(9, name, "", 0.0, window, 30.0, None)), DurableDeliver)

    def counts(self):
        (report,) = sent(self.say(OPERATOR, DurableQuery(1, ("", ""))), DurableReport)
        return {each.name: (each.messages, each.lost) for each in report.subscriptions}

    def query(self, link):
        async def ask(kind, *members):
            done = self.say(link, kind(7, *members))
            for refused in sent(done, RefusedFrame):
                assert (refused.frame, refused.number) == (frame_number(kind), 7)
                raise Refused(refused.reason, refused.code)
            (answer,) = [each for kind in ANSWERS for each in sent(done, kind)]
            assert answer.number == 7
            return answer

        return ask

    def peek(self, predicate="", first=1, count=None, *, name="billing", account=None, link=ANN):
        chosen = MessageSelection(name, account, predicate, first, count)
        return asyncio.run(peek(self.query(link), chosen))

    def values(self, *args, **options):
        return [each.message["x"] for each in self.peek(*args, **options)]

    def move(self, predicate="", first=1, count=None, *, source="billing", to="other", account=None, link=ANN):
        return asyncio.run(
            take(self.query(link), DurableMove, MessageSelection(source, account, predicate, first, count), to)
        )

    def purge(self, predicate="", first=1, count=None, *, account=None, link=ANN):
        return asyncio.run(
            take(self.query(link), DurablePurge, MessageSelection("billing", account, predicate, first, count))
        )


@pytest.fixture(params=[256, 2])
def net(request, monkeypatch):
    """A network whose pages have so many messages."""
    monkeypatch.setattr(stored_messages, "_READ_MESSAGES", request.param)
    monkeypatch.setattr(stored_messages, "_VISITED", 3)
    return Net()


def test_a_message_that_is_looked_at_stays_as_it_is(net):
    first = net.peek()[0]
    assert (first.offset, first.deliveries, first.message, first.payload) == (1, 0, {"x": 1, "#": ["t"]}, b"p")
    assert first.source == "a"
    assert net.values() == [1, 2, 3, 4, 5]
    delivered = net.attach("billing")
    assert [(each.offset, each.deliveries) for each in delivered] == [(n, 1) for n in range(1, 6)]
    assert delivered[0].incarnation == first.id[1]
    assert [each.deliveries for each in net.peek()] == [1] * 5
    net.say(ANN, Acknowledge(9, [2, 3], 0))
    assert net.values() == [1, 4, 5]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"first": 4}, [4, 5]), ({"first": 6}, []), ({"count": 2}, [1, 2]), ({"predicate": "x >= 3"}, [3, 4, 5]),
        ({"predicate": "x > 1", "first": 3, "count": 2}, [3, 4]), ({"predicate": "x > 9"}, []),
        ({"predicate": "#t and x in (1, 5)"}, [1, 5]), ({"predicate": "false"}, []),
    ],
)  # fmt: skip
def test_messages_are_chosen_by_offset_number_and_predicate(options, expected):
    assert Net().values(**options) == expected
    net = Net()
    assert net.move(**options) == len(expected)
    assert [each.message["x"] for each in net.peek(name="other")] == expected
    assert net.values() == [x for x in range(1, 6) if x not in expected]
    net = Net()
    assert net.purge(**options) == len(expected)
    assert net.values() == [x for x in range(1, 6) if x not in expected]


def test_pages_together_have_every_message_once(net):
    assert net.values("x != 2") == [1, 3, 4, 5]
    assert net.move("x != 2", count=3) == 3
    assert net.values() == [2, 5]
    assert net.values(name="other") == [1, 3, 4]
    assert net.purge() == 2
    assert net.counts() == {"billing": (0, 0), "other": (3, 0)}
    assert net.move(source="other", to="billing") == 3
    assert [each.message["x"] for each in net.peek()] == [1, 3, 4]


def test_moved_messages_are_delivered_with_offsets_of_their_own(net):
    net.move("x > 3")
    delivered = net.attach("other")
    assert [(each.offset, each.number) for each in delivered] == [(1, 4), (2, 5)]


def test_dead_letters_lose_their_mark_when_they_are_moved():
    lab = DurableLab("a")
    alice, bob = lab.client("a"), lab.client("a")
    bob.acknowledges = lambda _: False
    bob.subscribe_durable(1, "failed", "false", ack_wait=1000.0)
    limits = DurableLimits(max_deliveries=1, dead_letter="failed")
    bob.subscribe_durable(2, "billing", "x > 0", ack_wait=1.0, limits=limits)
    lab.run(1)
    alice.publish({"x": 1}, b"poison")
    lab.run(5)
    assert "dead_letter" in bob.stored[-1].attributes
    bob.send(DurableMove(1, "failed", "billing", [], 1, 0, 0))
    lab.run(0.5)
    assert answers(bob, DurableTaken) == [DurableTaken(1, 1, 0, 2, "")]
    assert (bob.stored[-1].subscription, bob.stored[-1].offset, bob.stored[-1].deliveries) == (2, 2, 1)
    assert bob.stored[-1].attributes == {"x": 1}


def test_what_has_no_room_is_not_moved():
    net = Net(limits=DurableLimits(messages=3))
    full = r"durable subscription other is full: 3 messages, \d+ bytes; 3 messages were moved"
    with pytest.raises(Refused, match=full):
        net.move()
    assert net.values() == [4, 5]
    assert net.counts() == {"billing": (2, 0), "other": (3, 0)}


def test_quotas_of_the_account_do_not_prevent_that_messages_move():
    net = Net(durable_messages=5)
    assert net.move("x != 2") == 4
    assert net.counts() == {"billing": (1, 0), "other": (4, 0)}
    net = Net(limits=DurableLimits(messages=10, policy="drop oldest"))
    net.move(count=3)
    net.change({**RIGHTS, "ann": Rights(watch=False, manage=False, durable_messages=1)})
    assert net.move() == 2
    assert net.counts() == {"billing": (0, 0), "other": (5, 0)}


def test_a_message_that_arrives_meanwhile_is_not_concerned(net):
    ask, calls = net.query(ANN), []

    async def slow(kind, *members):
        net.publish(6 + len(calls))
        calls.append(kind)
        return await ask(kind, *members)

    assert asyncio.run(take(slow, DurablePurge, MessageSelection("billing", None, "", 1, None))) == 6
    assert net.values() == list(range(7, 6 + len(calls)))
    assert len(calls) == 2


def test_consumers_that_wait_for_room_get_the_next_message_when_one_is_removed():
    net = Net()
    assert [each.offset for each in net.attach("billing", window=1)] == [1]
    done = net.say(ANN, DurablePurge(7, "billing", [1, 2], 0, 0, 0))
    assert [each.offset for each in sent(done, DurableDeliver)] == [3]


@pytest.mark.parametrize("kind", ["peek", "move", "purge"])
def test_messages_of_others_need_the_right_manage(kind):
    net = Net()
    call = getattr(net, kind)
    denied = "you may not change durable subscriptions of other accounts; ask the operator for `manage = true`"
    with pytest.raises(Refused, match=denied) as raised:
        call(account="ann", link=WATCHER)
    assert raised.value.code == ReasonCode.DENIED
    assert net.router.counters[f"denied.{kind}"] == 1
    with pytest.raises(Refused, match="there is no durable subscription 'billing'"):
        call(link=OPERATOR)
    found = call(account="ann", link=OPERATOR)
    assert (len(found) if kind == "peek" else found) == 5


def test_who_may_not_subscribe_any_more_may_not_look_either():
    net = Net()
    net.change({**RIGHTS, "ann": Rights(subscribe=parse("x < 0"), manage=False)})
    for call in (net.peek, net.move):
        with pytest.raises(Refused, match="x > 0"):
            call()
    assert net.purge() == 5


def test_what_is_done_with_messages_of_others_is_in_the_audit_log(tmp_path):
    net, file = Net(), tmp_path / "audit.jsonl"
    use_audit_log(open_audit_log(str(file), "a"))
    try:
        for link, account in ((ANN, None), (ANN, "ann"), (OPERATOR, "ann")):
            net.peek(link=link, account=account, first=2)
            net.move(link=link, account=account, count=1)
            net.purge(link=link, account=account, count=1)
    finally:
        use_audit_log(open_audit_log("", "a"))
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(row["operation"], row["account"], row["name"], row.get("to"), row.get("first")) for row in rows] == [
        ("peek", "ann", "billing", None, 2),
        ("move", "ann", "billing", "other", None),
        ("purge", "ann", "billing", None, None),
    ]


def test_a_client_that_requests_many_pages_at_once_is_refused():
    net = Net()
    done = net.say(ANN, *[DurablePeek(number, "billing", 1, 0, 1) for number in (7, 8)])
    assert [each.number for each in sent(done, DurablePeeked)] == [7]
    (refused,) = sent(done, RefusedFrame)
    assert (refused.number, refused.code) == (8, ReasonCode.LIMIT)
    assert sent(net.say(ANN, DurablePeek(9, "billing", 1, 0, 1)), DurablePeeked)


def test_invalid_selections_are_refused():
    net = Net()
    with pytest.raises(Refused, match="are the same durable subscription"):
        net.move(to="billing")
    with pytest.raises(Refused, match="there is no durable subscription 'missing'"):
        net.move(to="missing")
    for options in ({"first": 0}, {"count": 0}, {"count": 1 << 63}):
        with pytest.raises(InputError, match="use a number from 1 on"):
            net.peek(**options)
    assert sent(net.say(ANN, DurablePurge(7, "billing", [0, 99, 1 << 62], 0, 0, 0)), DurableTaken)[0].messages == 0
    assert net.counts() == {"billing": (5, 0), "other": (0, 0)}
