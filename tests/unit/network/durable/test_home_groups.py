"""Homes with names of their own, and routers that take them over from each other."""

from itertools import cycle

import pytest
from support.durable_networks import DurableLab, answers, numbers, payloads
from support.signing_routers import signatures

from cbnet.network.protocol.frames import DurablePublished, RefusedFrame, Subscribed
from cbnet.network.protocol.reasons import ReasonCode
from cbnet.network.security.access import Access
from cbnet.network.simulation.memory_client import DurableMemoryClient
from cbnet.network.simulation.shared_disk import LeasedDisk, SharedDisk

OWN = {"c": {"home": "orders"}}


def test_a_home_may_have_another_name_than_its_router():
    net = DurableLab("a-b b-c", own=OWN)
    alice, carol = net.client("a"), net.client("c")
    carol.subscribe_durable(1, "orders", "x > 0", wait=5.0)
    net.run(3)
    sent = [alice.publish_durable({"x": 1}, text) for text in numbers(3)]
    net.run(1)
    assert [alice.receipts[each].subscriptions for each in sent] == [1, 1, 1]
    assert payloads(carol) == numbers(3)
    record = net.memory.router("a").durable.records.table.get("orders")
    assert record.holder == "c"


def test_messages_for_a_home_with_another_name_are_sent_again_only_toward_its_router():
    net = DurableLab("a-b b-c", own=OWN, diskless="ab")
    alice, carol = net.client("a"), net.client("c")
    carol.subscribe_durable(1, "orders", "x > 0", wait=5.0)
    net.run(3)
    net.kill("c")
    sent = [alice.publish_durable({"x": 1}, text, timeout=60) for text in numbers(3)]
    net.run(10)
    assert not alice.receipts
    net.start("c")
    net.run(10)
    assert [alice.receipts[each].subscriptions for each in sent] == [1, 1, 1]
    assert payloads(carol) == numbers(3)


# --- takeover


class Group(DurableLab):
    """A network of the routers a to d, in which b, c and d share the home `g`; b holds it at first."""

    def __init__(self, links="a-b b-c c-d d-a", **settings):
        own = {name: {"home": "g"} for name in "bcd"}
        super().__init__(links, own=own, diskless="abcd", **settings)

    def prepare(self, memory):
        self.taken = []
        self.shared = SharedDisk(memory, on_taken=self.taken.append)
        self.disks = {name: LeasedDisk(memory, self.shared, name) for name in "bcd"}

    @property
    def holders(self):
        """The routers that act for the home."""
        hosts = self.memory.hosts.items()
        return [name for name, host in hosts if host.router is not None and host.router.durable.is_holder]


class Follower(DurableMemoryClient):
    """A client that moves to another router of the group when the home is elsewhere, or its router is gone."""

    def __init__(self, memory, name, routers):
        self.turns = cycle(routers)
        super().__init__(memory, name, next(self.turns))
        memory.every(1.0, self.check)

    def check(self):
        if self.end is None:
            self.move(next(self.turns))

    def received(self, end, frame):
        super().received(end, frame)
        if isinstance(frame, RefusedFrame) and frame.code == ReasonCode.OTHER_HOME and end is self.end:
            self.move(next(self.turns))


def group(**options):
    """Return a group, a publisher at a, and a subscriber of the home."""
    net = Group(**options)
    alice, bob = net.client("a"), Follower(net.memory, "bob", "bcd")
    net.run(1)
    bob.subscribe_durable(1, "orders", "x > 0", wait=5.0)
    net.run(4)
    return net, alice, bob


def send(net, alice, count, seconds=0.1, timeout=30):
    numbers = []
    for n in range(count):
        numbers.append(alice.publish_durable({"x": 1}, str(n).encode(), timeout))
        net.run(seconds)
    return numbers


def test_one_router_of_a_group_holds_the_home():
    net, alice, bob = group()
    assert net.holders == net.taken == ["b"]
    sent = send(net, alice, 3)
    net.run(1)
    assert [alice.receipts[each].subscriptions for each in sent] == [1, 1, 1]
    assert payloads(bob) == numbers(3)


def test_a_home_whose_record_must_be_signed_is_taken_with_the_key_of_the_home():
    homes = {"a": "", "b": "g", "c": "g", "d": "g"}
    access = {name: Access(signatures=signatures(name, "abcdg", home=home)) for name, home in homes.items()}
    net, alice, bob = group(access=access)
    sent = send(net, alice, 5)
    net.kill("b", silently=True)
    sent += send(net, alice, 5)
    net.run(15)
    assert [alice.receipts[each].subscriptions for each in sent] == [1] * 10
    assert sorted({*payloads(bob)}) == sorted({*numbers(5)})
    for name in "acd":
        record = net.memory.router(name).durable.records.table.get("g")
        assert (record.holder, access["a"].signatures.problem(record)) == (net.holders[0], "")
        assert net.memory.router(name).counters["records_refused"] == 0


def test_a_router_without_the_key_of_the_home_takes_no_home_where_records_must_be_signed():
    access = {name: Access(signatures=signatures(name, "abcdg", home="")) for name in "abcd"}
    net = Group(access=access)
    net.run(5)
    bob = Follower(net.memory, "bob", "bcd")
    bob.subscribe_durable(1, "orders", "x > 0")
    net.run(5)
    assert net.memory.router("a").durable.records.table.get("g") is None


@pytest.mark.parametrize("silently", [False, True])
def test_another_router_takes_the_home_of_one_that_was_killed(silently):
    net, alice, bob = group()
    sent = send(net, alice, 10)
    net.kill("b", silently=silently)
    killed = net.memory.now
    while not net.holders:
        net.run(0.05)
    assert net.memory.now - killed < 4
    sent += send(net, alice, 10)
    net.run(10)
    assert [alice.receipts[each].subscriptions for each in sent] == [1] * 20
    assert [each.offset for each in bob.stored if each.deliveries == 1][-10:] == [*range(11, 21)]
    assert len({each.number for each in bob.stored}) == 20
    assert net.memory.router("a").durable.records.table.get("g").holder == net.taken[-1] != "b"


def test_a_router_that_returns_stands_by():
    net, alice, _bob = group()
    net.kill("b", silently=True)
    net.run(5)
    net.start("b")
    net.run(5)
    (holder,) = net.holders
    assert holder == net.taken[-1] != "b"
    sent = send(net, alice, 5)
    net.run(5)
    assert [alice.receipts[each].subscriptions for each in sent] == [1] * 5


def test_a_router_that_is_started_again_at_once_takes_its_home_again():
    net, _alice, _ = group()
    net.kill("b")
    net.start("b")
    net.run(1)
    assert net.holders == ["b"]
    assert net.taken == ["b", "b"]


@pytest.mark.parametrize("seconds", [1.0, 2.5, 5.0, 20.0])
def test_a_suspended_router_acts_for_no_home_that_another_one_holds(seconds):
    net, alice, bob = group()
    sent = send(net, alice, 5)
    net.memory.hosts["b"].suspend()
    sent += send(net, alice, 5, seconds / 5)
    net.memory.hosts["b"].resume()
    assert len(net.holders) <= 1
    net.run(15)
    assert len(net.holders) == 1
    assert net.holders == [net.taken[-1]]
    assert (net.holders == ["b"]) == (seconds < 3)
    assert [alice.receipts[each].subscriptions for each in sent] == [1] * 10
    assert len({each.number for each in bob.stored}) == 10
    offsets = {each.number: each.offset for each in bob.stored}
    assert sorted(offsets.values()) == [offsets[each] for each in sorted(offsets)]


def test_the_same_router_goes_on_when_the_database_answers_again():
    net, alice, bob = group()
    net.shared.is_away = True
    sent = send(net, alice, 10, 1.0, 60)
    assert net.holders == []
    problem = net.memory.router("b").durable.problem
    assert problem == "the database does not answer"
    net.shared.is_away = False
    net.run(15)
    assert len(net.holders) == 1
    assert [alice.receipts[each].subscriptions for each in sent] == [1] * 10
    assert payloads(bob) == numbers(10)


def test_what_a_fenced_router_submits_has_no_effect():
    """It is suspended with a transaction on its way, and more in its queue."""
    net, alice, bob = group()
    net.shared.delay = 1.0
    sent = send(net, alice, 20, 0.05, 60)
    net.memory.hosts["b"].suspend()
    net.run(10)
    net.memory.hosts["b"].resume()
    net.shared.delay = 0.005
    net.run(10)
    assert [alice.receipts[each].subscriptions for each in sent] == [1] * 20
    assert len({each.offset for each in bob.stored}) == 20


def test_publishers_are_known_after_a_takeover():
    net, alice, bob = group()
    net.memory.run(3 * 3600)  # no window is forgotten because the new holder has been running for long
    first = alice.publish_durable({"x": 1}, b"first")
    frame = alice.publisher.frame(first, net.memory.now)
    net.run(1)
    net.kill("b")
    net.run(10)
    alice.send(frame)
    net.run(5)
    assert {each.offset for each in bob.stored} == {1}
    assert len(answers(alice, DurablePublished)) == 2


def test_a_client_that_subscribes_while_nobody_holds_the_home_waits():
    net, _alice, _bob = group()
    net.kill("b")
    net.kill("d")
    net.shared.is_away = True
    net.run(4)
    carl = net.client("c")
    carl.subscribe_durable(1, "orders", "x > 0")
    net.run(5)
    assert not answers(carl, RefusedFrame)
    assert not answers(carl, Subscribed)
    net.shared.is_away = False
    net.run(5)
    assert net.holders == ["c"]
    assert len(answers(carl, Subscribed)) == 1


def test_a_router_that_stands_by_names_the_holder():
    net, _, _ = group()
    carl = net.client("c")
    carl.subscribe_durable(1, "others", "x > 0")
    net.run(1)
    (refusal,) = answers(carl, RefusedFrame)
    assert refusal.code == ReasonCode.OTHER_HOME
    assert refusal.reason.startswith("router b holds the home g")
