"""Queue groups: each message goes to one of the members, at whichever routers they are."""

from collections import Counter
from math import sqrt
from random import Random

import pytest
from support.durable_networks import DurableLab
from support.guarded_router import GuardedRouter
from support.memory_domains import Domains
from support.memory_networks import sent
from support.signing_routers import signing

from cbnet import parse
from cbnet.errors import LimitError
from cbnet.network.forwarding import queue_groups
from cbnet.network.forwarding.queue_groups import GroupKey, LocalGroups, Member, winner
from cbnet.network.protocol.frames import (
    Deliver,
    GroupRecord,
    Hop,
    Publish,
    RefusedFrame,
    Subscribe,
    Subscribed,
    SubscriptionList,
    SubscriptionRequest,
    TracedFrame,
    Unsubscribe,
)
from cbnet.network.security.rights import Rights

KEY = GroupKey("", "workers", b"d" * 16)
RING = "a-b b-c c-d d-a"


@pytest.fixture(params=[False, True], ids=["plain", "fast"])
def is_fast(request):
    """Whether routers handle plain messages in bytes."""
    return request.param


class Net(DurableLab):
    """A network with a publisher at router a, and members of the group `workers` at others."""

    def __init__(self, links, members="", **options):
        super().__init__(links, **options)
        self.publisher = self.client("a")
        self.members = [self.member(router) for router in members.split()]
        self.run(1)

    def member(self, router, predicate="x > 0", group="workers"):
        client = self.client(router)
        client.subscribe(1, predicate, group=group)
        return client

    def publish(self, count, **attributes):
        """Publish messages; return how many each member has got, and how often each was delivered to members."""
        for each in self.members:
            each.deliveries.clear()
        for number in range(count):
            self.publisher.publish({"x": 1, **attributes}, str(number).encode())
            if number % 50 == 49:
                self.run(0.1)
        self.run(1)
        got = [[each.payload for each in member.deliveries] for member in self.members]
        return [len(each) for each in got], Counter(payload for each in got for payload in each)


def once(count):
    return Counter({str(number).encode(): 1 for number in range(count)})


# --- which member


def test_members_at_one_router_take_turns(is_fast):
    net = Net("a", "a a a", is_fast=is_fast)
    shares, deliveries = net.publish(30)
    assert shares == [10, 10, 10]
    assert deliveries == once(30)


def test_each_message_goes_to_one_member_also_across_routers(is_fast):
    net = Net(RING, "a b b b c", is_fast=is_fast)
    shares, deliveries = net.publish(1_000)
    assert deliveries == once(1_000)
    spread = 6 * sqrt(1_000 * 0.2 * 0.8)  # of a fifth, with a chance of 2e-9 beyond it
    assert all(abs(share - 200) < spread for share in shares)


def test_a_member_with_another_predicate_account_or_name_is_in_another_group(is_fast):
    net = Net("a-b", "a b", is_fast=is_fast)
    others = [net.member("b", "x > 0", "others"), net.member("b", "x > -1"), net.member("a", "x > 0", "")]
    net.run(1)
    assert net.publish(50)[1] == once(50)
    assert [len(each.deliveries) for each in others] == [50, 50, 50]


def test_equal_predicates_are_one_group_however_they_are_written():
    net = Net("a-b", "a")
    net.members.append(net.member("b", "0 < x"))
    net.run(1)
    shares, deliveries = net.publish(100)
    assert deliveries == once(100)
    assert all(shares)


def test_groups_are_of_an_account():
    net = GuardedRouter({"ann": Rights(), "bob": Rights()}, dead=60.0)
    for link in (1, 1, 2):
        assert sent(net.say(link, Subscribe(7 if link == 2 else len(net.done), "x > 0", 0.0, group="g")), Subscribed)
    done = net.say(1, Publish(1, {"x": 1}, [], b"", False))
    assert sorted(action.link for action in done if isinstance(action.frame, Deliver)) == [1, 2]


def test_a_client_may_be_a_member_twice():
    net = Net("a", "a")
    net.members[0].subscribe(2, "x > 0", group="workers")
    net.run(1)
    assert net.publish(10) == ([10], once(10))
    assert Counter(each.subscription for each in net.members[0].deliveries) == {1: 5, 2: 5}


def test_durable_messages_go_to_one_member_too():
    net = Net("a-b b-c", "a b c")
    for _ in range(50):
        net.publisher.publish_durable({"x": 1})
    net.run(2)
    assert sum(len(each.deliveries) for each in net.members) == 50


def test_a_member_whose_client_does_not_read_is_passed_over_while_others_do():
    groups = LocalGroups()
    slow, other = Member(1, 1), Member(2, 1)
    for each in (slow, other):
        groups.join(each, KEY)
    waiting = {1: 1 << 20, 2: 0}
    assert [groups.next(KEY, waiting.get, is_turn=True) for _ in range(3)] == [other] * 3
    waiting[2] = 1 << 21
    assert groups.next(KEY, waiting.get, is_turn=True) == slow  # the one with less, if all are slow
    assert groups.next(KEY, lambda _: 0, is_turn=False) == groups.next(KEY, lambda _: 0, is_turn=True)


# --- the winner


def wins(members, count=4_000):
    return Counter(winner(str(number).encode(), KEY, members) for number in range(count))


def test_a_router_wins_the_share_of_its_members():
    found = wins({"a": 1, "b": 2, "c": 5})
    for router, weight in (("a", 1), ("b", 2), ("c", 5)):
        share = weight / 8
        assert abs(found[router] - 4_000 * share) < 6 * sqrt(4_000 * share * (1 - share))


def test_only_messages_of_the_router_that_changes_move():
    before = {"a": 2, "b": 2, "c": 2}
    for after in ({"a": 2, "b": 2}, {"a": 2, "b": 2, "c": 1}, {"a": 2, "b": 2, "c": 5}):
        for number in range(500):
            message = str(number).encode()
            one, other = winner(message, KEY, before), winner(message, KEY, after)
            assert one == other or "c" in (one, other)


def test_the_winner_does_not_depend_on_the_order_of_records():
    for number in range(200):
        message = str(number).encode()
        assert winner(message, KEY, {"a": 1, "b": 3}) == winner(message, KEY, {"b": 3, "a": 1})


# --- changes


def test_members_that_leave_and_come_share_again(is_fast):
    net = Net("a-b b-c", "a b c", is_fast=is_fast)
    for change in (
        lambda: net.members[1].disconnect(),
        lambda: net.members[2].send(Unsubscribe(1)),
        lambda: net.members[1].reconnect(),
        lambda: net.members[2].subscribe(1, "x > 0", group="workers"),
    ):
        change()
        net.run(1)
        assert net.publish(60)[1] == once(60)
    assert all(net.publish(60)[0])


def test_a_member_that_subscribes_again_without_the_group_gets_everything(is_fast):
    net = Net("a-b", "a b", is_fast=is_fast)
    net.publish(10)
    net.members[1].subscribe(1, "x > 0")
    net.run(1)
    assert net.publish(20)[0] == [20, 20]
    net.members[1].subscribe(1, "x > 0", group="workers")
    net.run(1)
    assert net.publish(20)[1] == once(20)


def test_a_router_that_fails_has_no_members_any_more_and_has_them_again_when_it_returns():
    net = Net("a-b b-c c-a", "a c")
    net.kill("c", silently=True)
    net.run(30)
    assert net.publish(50) == ([50, 0], once(50))
    net.start("c")
    net.run(5)
    shares, deliveries = net.publish(50)
    assert deliveries == once(50)
    assert all(shares)
    net.members[1].disconnect()
    net.kill("c")
    net.start("c")  # it has no members now, and its neighbours have its old record
    net.run(5)
    assert net.publish(50) == ([50, 0], once(50))


def test_each_part_of_a_divided_network_delivers_to_its_own_members():
    net = Net("a-b b-c", "a c")
    net.memory.cut("b", "c")
    net.run(10)
    other = net.client("c")
    shares, _ = net.publish(40)
    assert shares == [40, 0]
    other.publish({"x": 1}, b"here")
    net.run(1)
    assert [each.payload for each in net.members[1].deliveries] == [b"here"]
    net.memory.repair("b", "c")
    net.run(10)
    assert net.publish(40)[1] == once(40)


def test_records_of_routers_that_are_gone_for_good_are_forgotten():
    net = Net("a-b b-c", "b c", lifetime=60.0, refresh=10.0)
    net.kill("c")
    table = net.memory.router("a")._groups.table
    assert {each.owner for each in table} >= {"b", "c"}
    net.run(90)
    assert "c" not in {each.owner for each in table}
    assert net.publish(10) == ([10, 0], once(10))


def test_in_each_domain_one_member_gets_a_message():
    net = Domains("a1-a2; b1-b2", {"g": "a1 b2"})
    for client in net.clients.values():
        client.subscribe(1, "x > 0", group="workers")
    net.settle()
    deliveries = net.deliveries({"x": 1})
    takers = sorted((published, at[0]) for published, at, _ in deliveries)
    assert takers == [(published, domain) for published in net.routers for domain in "ab"]


def test_groups_work_with_signed_records_and_unsigned_ones_are_refused():
    net = Net("a-b b-c", "a c", access=signing("abc", "abc"))
    shares, deliveries = net.publish(60)
    assert deliveries == once(60)
    assert all(shares)
    router = net.memory.router("a")
    (link,) = router.links.routers()
    before = router.counters["records_refused"]
    router.received(link, GroupRecord("c", 1, 1 << 40, []), net.memory.now)
    assert router.counters["records_refused"] == before + 1
    assert net.publish(60)[1] == once(60)


@pytest.mark.parametrize("seed", range(6))
def test_every_message_goes_to_one_member_in_any_network(seed):
    random = Random(seed)
    names = "abcdef"[: random.randint(2, 6)]
    links = {(names[number], names[random.randrange(number)]) for number in range(1, len(names))}
    links |= {tuple(random.sample(names, 2)) for _ in range(random.randrange(3))}
    members = " ".join(random.choices(names, k=random.randint(1, 6)))
    settings = random.choice([{"trees": 1}, {"trees": 4}, {"scheme": "pif"}, {"trees": 2, "commit": "message"}])
    links = {tuple(sorted(pair)) for pair in links}
    net = Net(" ".join(map("-".join, sorted(links))), members, seed=seed, is_fast=bool(seed % 2), **settings)
    net.publisher = net.client(random.choice(names))
    assert net.publish(100)[1] == once(100)


# --- what clients see


def hops(client) -> list[Hop]:
    return [each.hop for each in client.answers if isinstance(each, TracedFrame)]


def test_a_trace_says_why_a_member_does_not_get_the_message():
    net = Net("a-b", "a a b")
    for _ in range(30):
        net.publisher.answers.clear()
        net.publisher.trace(1, {"x": 1}, is_dry=False)
        net.run(0.5)
        by_router = {hop.router: hop for hop in hops(net.publisher)}
        delivered = [text for hop in by_router.values() for text in hop.delivered]
        passed_over = [text for hop in by_router.values() for text in hop.passed_over]
        assert len(delivered) == 1
        assert len(passed_over) == 2
        taker = delivered[0].partition(":")[0]
        for text in by_router["a"].passed_over:
            expected = taker if by_router["a"].delivered else "a member at router b"
            assert text.endswith(f": {expected} gets the message for group workers")
        if by_router["b"].passed_over:
            assert by_router["b"].passed_over[0].endswith(": a member at router a gets the message for group workers")
    assert sum(len(member.deliveries) for member in net.members) == 30


def test_a_dry_trace_takes_nobody_s_turn():
    net = Net("a", "a a")
    for number in range(3):
        net.publisher.trace(number, {"x": 1}, is_dry=True)
    net.run(1)
    assert net.publish(10)[0] == [5, 5]


def test_the_list_of_subscriptions_shows_the_group():
    net = Net("a", "a")
    net.member("a", "x < 0", "")
    net.run(1)
    net.publisher.send(SubscriptionRequest(1, ""))
    net.run(1)
    (found,) = [each for each in net.publisher.answers if isinstance(each, SubscriptionList)]
    assert [(each.predicate, each.group) for each in found.subscriptions] == [("x > 0", "workers"), ("x < 0", "")]


def test_a_client_that_may_not_subscribe_any_more_is_no_member_any_more():
    rights = {"ann": Rights(), "bob": Rights()}
    net = GuardedRouter(rights, dead=60.0)
    assert sent(net.say(1, Subscribe(1, "x > 0", 0.0, group="g")), Subscribed)
    net.change({**rights, "ann": Rights(subscribe=parse("x < 0"))})
    assert not net.router.fib.groups
    assert not sent(net.say(2, Publish(1, {"x": 1}, [], b"", False)), Deliver)


def test_groups_of_a_router_are_limited(monkeypatch):
    monkeypatch.setattr(queue_groups, "MAX_GROUPS", 2)
    net = GuardedRouter({"ann": Rights()}, dead=60.0)
    for id, group in enumerate(("g", "h", "g", "i", "")):
        done = net.say(1, Subscribe(id, "x > 0", 0.0, group=group))
        assert bool(sent(done, RefusedFrame)) == (group == "i")
    (refused,) = sent(net.say(1, Subscribe(9, "x > 0", 0.0, group="i")), RefusedFrame)
    assert refused.reason.startswith("queue groups of a router: 3")
    with pytest.raises(LimitError):
        net.router.fib.groups.check(GroupKey("ann", "i", b""))


def test_the_initial_predicate_has_no_group():
    net = GuardedRouter({"ann": Rights()}, dead=60.0)
    (refused,) = sent(net.say(1, Subscribe(1, "", 0.0, True, "g")), RefusedFrame)
    assert refused.reason.startswith("the initial predicate has no queue group")
