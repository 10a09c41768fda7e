"""Versions of home records: none stands for two contents, whoever made them, so all routers agree on the homes."""

from copy import deepcopy

import msgspec
from msgspec.structs import replace
from tests.support.durable_networks import DurableLab, answers, payloads

from cbnet.network.announce.announcements import NO_DATA
from cbnet.network.durable.home_log.journal import SaveHome
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.fields import MAX_SEQUENCE
from cbnet.network.protocol.frames import DurableRemove, ForgetHome, HomeAck, HomeRecord, Subscribed
from cbnet.network.protocol.wire import encode
from cbnet.network.simulation.memory_disk import MemoryDisk
from cbnet.network.simulation.memory_network import TICK, Host

SEEDS = range(6)  # the incarnations of the routers are in another order


def home_lab(seed, links="a-b b-c"):
    """Return routers in a chain, a client at a, and one at the last with the durable subscription "one", to x > 0."""
    net = DurableLab(links, seed)
    alice, owner = net.client("a"), net.client(net.names[-1])
    owner.subscribe_durable(1, "one", "x > 0", wait=5.0)
    net.run(3)
    return net, alice, owner


def records(net, owner):
    """Return version and names of the record of a home that each running router has."""
    known = [host.router.durable.records.table.get(owner) for host in net.memory.hosts.values() if host.router]
    return [each and (each.sequence, each.incarnation, [name for _, name in each.names]) for each in known]


def agreed(net, owner):
    """Return the names of a home on which all routers agree, and None if they do not."""
    first, *others = records(net, owner)
    return first[2] if first and all(each == first for each in others) else None


def forget(net, client, home):
    client.send(ForgetHome(1, home))
    net.run(0.5)


def incarnation(net, name):
    return net.memory.router(name)._core.incarnation


def store_while_away(net, alice, home, owner, attributes):
    """Publish a message while its home is killed; return subscriptions of the receipts before and after its return."""
    net.kill(home)
    number = alice.publish_durable(attributes, b"pay", timeout=60)
    net.run(5)
    before = number in alice.receipts
    net.start(home)
    net.run(10)
    return before, alice.receipts[number].subscriptions, payloads(owner)


def test_a_home_that_was_forgotten_while_it_made_a_subscription_is_waited_for():
    orders = set()
    for seed in SEEDS:
        net, alice, carol = home_lab(seed)
        net.memory.cut("b", "c")
        net.run(1)
        forget(net, alice, "c")
        carol.subscribe_durable(2, "two", "y > 0")
        net.run(1)
        orders.add(incarnation(net, "a") > incarnation(net, "c"))
        net.memory.repair("b", "c")
        net.run(10)
        assert agreed(net, "c") == ["one", "two"]
        assert store_while_away(net, alice, "c", carol, {"y": 1}) == (False, 1, [b"pay"])
    assert orders == {True, False}


def test_a_home_that_was_forgotten_and_made_many_subscriptions_is_known_by_its_own_record():
    net, alice, carol = home_lab(1)
    net.memory.cut("b", "c")
    net.run(1)
    forget(net, alice, "c")
    for id in range(2, 6):
        carol.subscribe_durable(id, str(id), "y > 0")
        net.run(1)
    net.memory.repair("b", "c")
    net.run(10)
    assert agreed(net, "c") == ["2", "3", "4", "5", "one"]


def test_a_home_that_was_forgotten_on_both_sides_of_a_partition_is_gone():
    for seed in SEEDS:
        net, alice, _ = home_lab(seed, "a-b b-c c-d")
        carol = net.client("c")
        net.kill("d")
        net.memory.cut("b", "c")
        net.run(5)
        forget(net, alice, "d")
        forget(net, carol, "d")
        net.memory.repair("b", "c")
        net.run(10)
        assert agreed(net, "d") == []
        number = alice.publish_durable({"x": 1}, b"0", timeout=30)
        net.run(2)
        assert alice.receipts[number].silent == []


def test_a_home_that_was_forgotten_while_away_is_known_again_when_it_returns():
    for seed in SEEDS:
        net, alice, carol = home_lab(seed)
        carol.disconnect()
        net.run(1)
        net.kill("c")
        alice.publish_durable({"x": 1}, b"before", timeout=60)
        net.run(1)
        forget(net, alice, "c")
        net.start("c")
        net.run(10)
        carol.reconnect()
        net.run(2)
        assert agreed(net, "c") == ["one"]
        assert payloads(carol) == [b"before"]
        assert store_while_away(net, alice, "c", carol, {"x": 2}) == (False, 1, [b"before", b"pay"])


def test_a_journal_from_a_backup_has_the_subscriptions_made_before_and_after_it():
    orders = set()
    for seed in SEEDS:
        net, alice, carol = home_lab(seed)
        carol.disconnect()
        disk = net.disks["c"]
        backup = deepcopy(disk._written)
        other = net.client("c")
        other.subscribe_durable(2, "lost", "z > 0")
        net.run(2)
        before = incarnation(net, "c")
        other.disconnect()
        net.kill("c")
        net.memory.cut("b", "c")
        disk._written = backup
        net.start("c")
        carol.reconnect()
        net.run(1)
        orders.add(incarnation(net, "c") > before)
        carol.subscribe_durable(2, "two", "y > 0")
        net.run(1)
        net.memory.repair("b", "c")
        net.run(10)
        assert agreed(net, "c") == ["lost", "one", "two"]
        assert store_while_away(net, alice, "c", carol, {"y": 1}) == (False, 1, [b"pay"])
    assert orders == {True, False}


def test_a_lost_journal_is_replaced_by_what_the_network_knows_and_what_the_router_has_now():
    for seed in SEEDS:
        net, alice, carol = home_lab(seed)
        carol.disconnect()
        net.kill("c")
        net.memory.hosts["c"].disk = MemoryDisk(net.memory)
        net.memory.cut("b", "c")
        net.start("c")
        other = net.client("c")
        other.subscribe_durable(1, "new", "y > 0")
        net.run(1)
        net.memory.repair("b", "c")
        net.run(10)
        assert agreed(net, "c") == ["new", "one"]
        number = alice.publish_durable({"x": 1}, b"0", timeout=30)
        net.run(2)
        assert alice.receipts[number].subscriptions == 1


def test_a_start_makes_no_new_version_if_nothing_has_changed():
    net, _, _ = home_lab(1)
    before = records(net, "c")
    net.kill("c")
    net.start("c")
    net.run(5)
    assert records(net, "c") == before


def test_a_start_announces_a_name_that_was_saved_before_a_crash():
    net = DurableLab("a-b")
    client = net.client("b")
    client.subscribe_durable(1, "one", "x > 0")
    net.run(2)
    disk = net.disks["b"]
    disk.delay = 1.0
    client.subscribe_durable(2, "two", "x > 0")
    net.run(1.5)  # the subscription is on disk, the record that has its name is not
    client.disconnect()
    net.kill("b")
    disk.delay = 0.005
    assert [saved.name for saved in disk._written.state.subscriptions] == ["one", "two"]
    assert agreed(net, "b") == ["one"]
    net.start("b")
    net.run(5)
    assert agreed(net, "b") == ["one", "two"]


def test_two_routers_of_one_name_outbid_each_other_at_most_every_second():
    net = DurableLab("a-b b-c")
    memory = net.memory
    twin = memory.hosts["twin"] = Host(memory, Settings("c"), NO_DATA, MemoryDisk(memory))
    memory.every(TICK, twin.tick)
    memory.start("twin")
    memory.add_cable("a", "twin")
    net.run(3)
    net.client("c").subscribe_durable(1, "one", "x > 0")
    net.client("twin").subscribe_durable(1, "two", "y > 0")
    net.run(3)
    before = memory.router("a").durable.records.table.get("c").sequence
    net.run(20)
    assert memory.router("a").durable.records.table.get("c").sequence - before <= 2 * 20


def test_the_acknowledgement_of_a_version_that_an_operator_made_confirms_no_subscription():
    """A router that forgets the home is cut off again, so that nothing but acknowledgements shows its version."""
    orders = set()
    for seed in SEEDS:
        net, alice, carol = home_lab(seed)
        orders.add(incarnation(net, "a") > incarnation(net, "c"))
        net.disks["c"].delay = 0.4
        carol.subscribe_durable(2, "two", "y > 0", wait=10.0)
        net.run(0.5)  # the subscription is on disk, the record that has it is not
        alice.send(ForgetHome(1, "c"))
        net.run(0.1)
        net.kill("a")
        for _ in range(1000):
            if any(answer.id == 2 and answer.is_confirmed for answer in answers(carol, Subscribed)):
                break
            net.run(0.01)
        else:
            raise AssertionError("not confirmed")
        assert ("", "two") in net.memory.router("b").durable.records.table.get("c").names
    assert orders == {True, False}


def test_the_acknowledgement_of_a_version_that_is_not_made_yet_confirms_no_subscription():
    net, _, carol = home_lab(1)
    present = net.memory.router("c").durable.records.own.version
    host = net.memory.hosts["b"]
    for end in host.ends.values():
        net.memory.send(end, HomeAck("c", 0, "a", incarnation(net, "c"), present.sequence + 1_000))
    net.run(1)
    net.memory.cut("a", "b", noticed_by=())
    carol.subscribe_durable(2, "two", "y > 0", wait=2.0)
    net.run(2.5)
    (answer,) = [each for each in answers(carol, Subscribed) if each.id == 2]
    assert (answer.is_confirmed, "a" in answer.missing) == (False, True)


def inject(net, router, forged):
    """Install and flood a forged record at a router."""
    records = net.memory.router(router).durable.records
    records.table.set(forged)
    records.flood(forged)


def test_a_record_forged_half_the_circle_ahead_is_outbid_where_it_is_not_known_too():
    net, _, carol = home_lab(1, "a-c b-c")
    present = net.memory.router("c").durable.records.table.get("c")
    inject(net, "b", HomeRecord("c", 5, present.sequence + (MAX_SEQUENCE + 1) // 2, "", [], []))
    net.run(3)
    carol.subscribe_durable(2, "two", "y > 0")
    net.run(3)
    assert agreed(net, "c") == ["one", "two"]


def test_a_record_forged_with_the_present_version_is_outbid():
    net, _, _ = home_lab(1, "a-c b-c")
    present = net.memory.router("c").durable.records.table.get("c")
    inject(net, "b", replace(present, names=[("", "forged")]))
    net.run(3)
    assert agreed(net, "c") == ["one"]


def test_a_version_that_is_being_written_is_not_made_again():
    net, _, carol = home_lab(1)
    host, disk = net.memory.hosts["c"], net.disks["c"]
    versions = []
    disk.submit = lambda operations, submit=disk.submit: (
        versions.extend(saved_versions(operations)),
        submit(operations),
    )
    disk.delay = 1.0
    carol.subscribe_durable(2, "two", "y > 0")
    carol.subscribe_durable(3, "three", "z > 0")
    net.run(2.5)
    present = host.router.durable.records.table.get("c")
    assert (present.sequence, len(versions)) == (2, 2)  # version 3 is being written
    end = next(end for end in host.ends.values() if end.peer.owner is net.memory.hosts["b"])
    host.received_bytes(end, encode(HomeRecord("c", present.incarnation + 1, present.sequence, "", [], [])))
    net.run(10)
    assert len(versions) == len({*versions}) >= 2
    assert agreed(net, "c") == ["one", "three", "two"]


def saved_versions(operations):
    saved = [msgspec.msgpack.decode(each.record, type=HomeRecord) for each in operations if isinstance(each, SaveHome)]
    return [(record.sequence, record.incarnation) for record in saved]


def test_a_subscription_that_is_removed_before_its_record_is_on_disk_leaves_none():
    net = DurableLab("a-b")
    client = net.client("b")
    net.disks["b"].delay = 1.0
    client.subscribe_durable(1, "one", "x > 0")
    net.run(1.5)  # the subscription is on disk, the first record is being written
    client.send(DurableRemove(1, "one"))
    net.run(5)
    assert agreed(net, "b") == []
