"""A journal that is lost, or replaced by an old one: receipts count what the network knew, and subscribers are told."""

from copy import deepcopy

import pytest
from msgspec.structs import replace
from tests.support.durable_networks import DurableLab, answers, payloads, report
from tests.support.signing_routers import signing

from cbnet.network.durable.home_log.journal import Loss, SaveLosses
from cbnet.network.durable.records.foreign_records import MAX_REVIEWS
from cbnet.network.durable.records.home_records import HomeRecords
from cbnet.network.protocol.frames import DurableLimit, DurableLimits, DurableLost, DurableRemove
from cbnet.network.simulation.memory_disk import MemoryDisk

SEEDS = range(6)  # the incarnations of the routers are in another order
LOST = "the journal of c is not the one that other routers know: messages of that one are lost"
OLD = "the journal of c is older than other routers know: messages stored since then are lost"


def home_lab(seed=1, links="a-b b-c", **options):
    """Return a network, a publisher at a, and a client at c with the subscription `orders`."""
    net = DurableLab(links, seed, **options)
    alice, carol = net.client("a"), net.client("c")
    carol.subscribe_durable(1, "orders", "x > 0", wait=5.0, limits=DurableLimits(messages=100))
    net.run(3)
    return net, alice, carol


def replace_journal(net, content=None):
    """Start c with a new journal, or with some former content of it."""
    net.kill("c")
    net.disks["c"].replace(content)
    net.start("c")


def store_unacknowledged(net, alice, carol):
    carol.disconnect()
    net.run(1)
    number = alice.publish_durable({"x": 1}, b"before", timeout=30)
    net.run(2)
    assert alice.receipts[number].subscriptions == 1


def losses(client):
    return [(frame.messages, frame.cause) for frame in answers(client, DurableLost)]


def notes(net):
    return net.memory.router("c").durable.notes


@pytest.mark.parametrize("access", [None, signing("abc", "abc")], ids=["unsigned", "signed"])
@pytest.mark.parametrize("is_present", [True, False])
def test_receipts_count_the_subscriptions_of_a_lost_journal_and_their_clients_learn_of_it(is_present, access):
    for seed in SEEDS:
        net, alice, carol = home_lab(seed, access=access)
        store_unacknowledged(net, alice, carol)
        if is_present:
            carol.reconnect()  # and creates the subscription again, perhaps before c has a link to b
        replace_journal(net)
        number = alice.publish_durable({"x": 1}, b"after", timeout=30)
        net.run(10)
        assert alice.receipts[number].subscriptions == 1
        carol.reconnect()
        net.run(2)
        assert payloads(carol)[-1:] == [b"after"]
        assert losses(carol) == [(0, LOST)]


def test_a_subscription_that_is_created_again_has_its_predicate_and_limits():
    net, _, carol = home_lab()
    texts = ['x > 0 and #a or name ^= "b" and p + q < 3', "x > 5", "exists y"]
    for id, text in enumerate(texts):
        carol.subscribe_durable(10 + id, f"s{id}", text, limits=DurableLimits(bytes=1_000 * id))
    net.run(2)
    carol.send(DurableLimit(1, "s2", 7, None, 60.0, "drop oldest"))
    net.run(2)
    carol.disconnect()
    replace_journal(net)
    net.run(5)
    assert {each.name: each.limits for each in report(net, net.client("c")).subscriptions} == {
        "orders": DurableLimits(messages=100),
        "s0": DurableLimits(),
        "s1": DurableLimits(bytes=1_000),
        "s2": DurableLimits(7, 2_000, 60.0, "drop oldest"),
    }
    carol.reconnect()  # with the same predicates, else refused
    net.run(2)
    assert sorted(frame.id for frame in answers(carol, DurableLost)) == [1, 10, 11, 12]


def test_a_journal_from_a_backup_reports_what_was_stored_since_then():
    for seed in SEEDS:
        net, alice, carol = home_lab(seed)
        backup = net.disks["c"].copy()
        carol.subscribe_durable(2, "later", "y > 0", wait=5.0)
        net.run(2)
        store_unacknowledged(net, alice, carol)
        replace_journal(net, backup)
        number = alice.publish_durable({"y": 1}, b"after", timeout=30)
        net.run(10)
        assert alice.receipts[number].subscriptions == 1
        carol.reconnect()
        net.run(2)
        assert sorted(losses(carol)) == [(0, OLD)] * 2
        assert payloads(carol) == [b"after"]


def test_a_restored_backup_that_lacks_subscriptions_is_completed_and_noted():
    """Restored as by `restore`: the journal has another id, and its subscriptions a loss."""
    for seed in SEEDS:
        net, alice, carol = home_lab(seed)
        net.memory.router("c").durable.back_up("monday", lambda _: None)
        net.run(1)
        backup = deepcopy(net.disks["c"].backups["monday"])
        backup.state.id += 1
        (orders,) = backup.state.losses
        backup.state.losses[orders] = SaveLosses(orders, 0, (Loss(1, 0, "restored"),))
        carol.subscribe_durable(2, "later", "y > 0", wait=5.0)
        net.run(2)
        store_unacknowledged(net, alice, carol)
        replace_journal(net, backup)
        number = alice.publish_durable({"y": 1}, b"after", timeout=30)
        net.run(10)
        assert alice.receipts[number].subscriptions == 1
        assert notes(net) == [f"{LOST}: later, orders"]
        carol.reconnect()
        net.run(2)
        assert sorted(losses(carol)) == [(0, "restored"), (0, LOST)]
        assert payloads(carol) == [b"after"]
        assert notes(net) == []


def test_a_subscription_that_was_removed_by_an_operator_does_not_return():
    net, _, carol = home_lab()
    carol.subscribe_durable(2, "gone", "y > 0")
    net.run(2)
    del carol.durable[2]
    carol.send(DurableRemove(1, "gone"))
    net.run(2)
    replace_journal(net)
    net.run(10)
    assert [each.name for each in report(net, carol).subscriptions] == ["orders"]


def test_a_subscription_that_is_new_in_the_new_journal_has_no_losses():
    net, _, carol = home_lab()
    carol.disconnect()
    net.run(1)
    net.memory.cut("b", "c")
    replace_journal(net)
    net.run(4)
    dave = net.client("c")
    dave.subscribe_durable(1, "new", "z > 0")
    net.run(1)
    net.memory.repair("b", "c")
    net.run(10)
    assert losses(dave) == []
    assert [each.name for each in report(net, dave).subscriptions] == ["new", "orders"]


def test_an_operator_sees_the_loss_until_a_subscriber_has_acknowledged_it(caplog):
    net, _, carol = home_lab()
    carol.disconnect()
    net.run(1)
    assert notes(net) == []
    replace_journal(net)
    net.run(5)
    assert notes(net) == [f"{LOST}: orders"]
    assert report(net, net.client("c")).problem == f"{LOST}: orders"
    (line,) = [line.members for line in caplog.records if line.getMessage() == "journal replaced"]
    assert (line["neighbour"], line["reason"], line["created"], line["not_created"]) == ("b", LOST, "orders", "")
    carol.reconnect()
    net.run(2)
    assert notes(net) == []


def test_a_home_that_was_forgotten_before_its_journal_was_lost_has_no_subscriptions():
    net, alice, carol = home_lab()
    carol.disconnect()
    net.run(1)
    net.kill("c")
    net.memory.router("a").durable.forget("c")
    net.run(1)
    net.memory.hosts["c"].disk = MemoryDisk(net.memory)
    net.start("c")
    net.run(5)
    assert report(net, net.client("c")).subscriptions == []
    number = alice.publish_durable({"x": 1}, b"0", timeout=30)
    net.run(2)
    assert (alice.receipts[number].subscriptions, alice.receipts[number].silent) == (0, [])


def test_records_forged_of_other_journals_are_reviewed_a_few_times_only():
    net, _, carol = home_lab(links="a-c b-c")
    table = net.memory.router("c").durable.records.table
    for number in range(3 * MAX_REVIEWS):
        present = table.get("c")
        forged = replace(present, incarnation=5, sequence=present.sequence + 1)
        net.memory.router("b").durable.records.flood(forged)
        net.memory.router("b").durable.records.flood(replace(forged, journal=number + 1))
        net.run(0.3)
    net.run(3)
    assert 1 <= len(losses(carol)) <= MAX_REVIEWS
    assert [each.name for each in report(net, carol).subscriptions] == ["orders"]


def false_receipts(seed):
    """Return receipts that count no subscription, while c starts with a new journal."""
    net, alice, carol = home_lab(seed)
    carol.disconnect()
    net.run(1)
    replace_journal(net)
    numbers = []
    for _ in range(50):
        numbers.append(alice.publish_durable({"x": 1}, b"order", timeout=60))
        net.run(0.02)
    net.run(15)
    return [number for number in numbers if alice.receipts[number].subscriptions == 0]


def test_no_receipt_is_given_for_an_empty_home():
    assert [false_receipts(seed) for seed in SEEDS] == [[]] * len(SEEDS)


def test_a_router_that_dials_neighbours_gives_no_receipt_before_they_may_know_of_a_lost_journal():
    net, _, carol = home_lab()
    carol.disconnect()
    net.run(1)
    net.memory.cut("b", "c")
    replace_journal(net)
    number = carol.publish_durable({"x": 1}, b"after", timeout=30)
    carol.reconnect()
    carol.durable.clear()
    net.run(2)
    assert number not in carol.receipts
    net.memory.repair("b", "c")
    net.run(5)
    assert carol.receipts[number].subscriptions == 1


def test_a_client_of_the_home_gets_no_receipt_before_its_router_knows_the_record_that_follows_a_review():
    for seed in SEEDS:
        net, _, carol = home_lab(seed)
        net.disks["c"].delay = 0.3
        carol.durable.clear()
        replace_journal(net)
        number = carol.publish_durable({"x": 1}, b"after", timeout=30)
        net.run(10)
        assert carol.receipts[number].subscriptions == 1


def test_a_client_that_subscribes_again_before_there_are_neighbours_ends_no_wait_for_them():
    for seed in SEEDS:
        net, _, carol = home_lab(seed)
        carol.subscribe_durable(2, "other", "y > 0", wait=5.0)
        net.run(3)
        net.memory.cut("b", "c")
        replace_journal(net)
        number = carol.publish_durable({"y": 1}, b"after", timeout=30)
        del carol.durable[2]
        net.run(2.5)
        assert number not in carol.receipts
        net.memory.repair("b", "c")
        net.run(10)
        assert carol.receipts[number].subscriptions == 1


def test_a_backup_announces_nothing_before_there_are_neighbours():
    for seed in SEEDS:
        net, _, carol = home_lab(seed)
        backup = net.disks["c"].copy()
        backup.state.id += 1
        carol.subscribe_durable(2, "other", "y > 0", wait=5.0)
        net.run(3)
        net.memory.cut("b", "c")
        del carol.durable[2]
        replace_journal(net, backup)
        number = carol.publish_durable({"y": 1}, b"after", timeout=30)
        net.run(2.5)
        assert number not in carol.receipts
        net.memory.repair("b", "c")
        net.run(10)
        assert carol.receipts[number].subscriptions == 1


def receipts_of_messages_that_may_overtake_the_unknown_record(seed):
    """Return for each message whether it is refused, its subscriptions by the receipt, and the clients that have it."""
    net, alice, carol = home_lab(seed)
    dave = net.client("c")
    dave.subscribe_durable(1, "later", "x > 0", wait=5.0)
    net.run(3)
    dave.disconnect()
    net.kill("c")
    net.run(1)
    net.memory.router("b").durable.records.table.remove("c")  # it learns of the record from a when c announces another
    net.disks["c"].replace()
    numbers = [alice.publish_durable({"x": 1}, timeout=60) for _ in range(5)]
    net.start("c")
    net.run(30)
    dave.reconnect()
    net.run(5)
    stored = [message.number for client in (carol, dave) for message in client.stored]
    receipts = [alice.receipts[number] for number in numbers]
    return [(bool(each.refused), each.subscriptions, stored.count(each.sequence)) for each in receipts]


def test_a_message_that_overtakes_the_unknown_record_is_not_counted_for_subscriptions_created_again():
    found = [each for seed in SEEDS for each in receipts_of_messages_that_may_overtake_the_unknown_record(seed)]
    assert {each for each in found if not each[0]} == {(False, 2, 2)}
    assert {each for each in found if each[0]} == {(True, 0, 1)}  # stored before the review, for one


def test_a_build_that_reviews_no_record_is_found(monkeypatch):
    monkeypatch.setattr(HomeRecords, "_is_news", lambda *_: False)
    monkeypatch.setattr("cbnet.network.durable.records.foreign_records.ForeignRecords.is_unknown", lambda *_: False)
    monkeypatch.setattr(HomeRecords, "_believes_claims", True)
    assert any(map(false_receipts, SEEDS))
