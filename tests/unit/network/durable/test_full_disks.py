"""A disk that is full: the reserve lets it be emptied, and what cannot be done is refused with the reason."""

from tests.support.durable_networks import DurableLab, answers, billing_lab, payloads, report

from cbnet.network.protocol.frames import (
    DurableLimit,
    DurableLimited,
    DurableRemove,
    DurableRemoved,
    RefusedFrame,
    Subscribed,
)
from cbnet.network.protocol.reasons import ReasonCode

SHORT = "the journal takes no messages: the disk is full"
STALLED = "the journal cannot be written: the disk is full"


def fill(net, name="a"):
    """Fill a disk; it is noticed with the next message."""
    net.disks[name].is_short = True
    client = net.client(name)
    client.publish_durable({"x": 1}, b"last", timeout=30)
    net.run(2)
    return client


def test_a_full_disk_is_emptied_while_publishers_get_the_reason():
    net, alice, bob = billing_lab(acknowledges=lambda _: False)
    for payload in (b"0", b"1"):
        alice.publish_durable({"x": 1}, payload)
    net.run(2)
    fill(net)
    number = alice.publish_durable({"x": 1}, b"3")
    net.run(2)
    assert alice.receipts[number].refused == [f"a: {SHORT}"]
    assert report(net, bob).problem == SHORT
    assert payloads(bob)[:3] == [b"0", b"1", b"last"]
    bob.acknowledge(1, up_to=3)
    net.run(2)
    assert net.disks["a"].entries(1) == {}
    net.disks["a"].is_short = False
    bob.send(DurableLimit(1, "billing", 5, None, None, None))
    net.run(2)
    number = alice.publish_durable({"x": 1}, b"4")
    net.run(2)
    assert (alice.receipts[number].subscriptions, report(net, bob).problem) == (1, "")


def test_subscriptions_are_joined_made_limited_and_removed_on_a_full_disk():
    net, _, bob = billing_lab()
    bob.disconnect()
    carol = fill(net)
    carol.subscribe_durable(1, "billing")
    carol.subscribe_durable(2, "orders", "y > 0", wait=3.0)
    net.run(2)
    carol.send(DurableLimit(3, "orders", 5, None, None, None))
    carol.send(DurableRemove(4, "billing"))
    net.run(2)
    carol.disconnect()
    assert [each.id for each in answers(carol, Subscribed)] == [1, 2]
    assert (len(answers(carol, DurableLimited)), len(answers(carol, DurableRemoved))) == (1, 1)
    net.kill("a")
    net.start("a")
    net.run(3)
    assert [each.name for each in report(net, net.client("a")).subscriptions] == ["orders"]


def test_a_subscription_at_another_router_is_confirmed_by_a_router_whose_disk_is_full():
    net = DurableLab("a-b")
    net.client("a").subscribe_durable(1, "billing", "x > 0", wait=3.0)
    net.run(2)
    fill(net)
    bob = net.client("b")
    bob.subscribe_durable(1, "orders", "y > 0", wait=3.0)
    net.run(2)
    assert [(each.is_confirmed, each.routers) for each in answers(bob, Subscribed)] == [(True, 2)]


def test_without_a_reserve_what_must_be_written_is_refused_with_the_reason():
    net, alice, bob = billing_lab(acknowledges=lambda _: False)
    alice.publish_durable({"x": 1}, b"0")
    net.run(2)
    bob.disconnect()
    net.run(1)
    net.disks["a"].is_full = True
    carol = net.client("a")
    carol.subscribe_durable(1, "early", "y > 0")
    net.run(2)
    carol.subscribe_durable(2, "late", "y > 0")
    carol.send(DurableLimit(3, "billing", 5, None, None, None))
    carol.send(DurableRemove(4, "billing"))
    net.run(1)
    refusals = answers(carol, RefusedFrame)
    assert {each.code for each in refusals} == {ReasonCode.UNWRITABLE}
    assert [each.number for each in refusals] == [1, 2, 3, 4]
    assert refusals[0].reason.startswith(f"durable subscription 'early' is not created yet: {STALLED}")
    assert all(each.reason.startswith(STALLED) for each in refusals[1:])


def test_without_a_reserve_a_subscription_is_joined_and_receives_what_is_stored():
    net, alice, bob = billing_lab(acknowledges=lambda _: False)
    alice.publish_durable({"x": 1}, b"0")
    net.run(2)
    bob.disconnect()
    net.run(1)
    net.disks["a"].is_full = True
    alice.publish_durable({"x": 1}, b"1")
    net.run(2)
    carol = net.client("a")
    carol.subscribe_durable(1, "billing")
    net.run(1)
    assert payloads(carol) == [b"0"]
    net.run(1)
    net.disks["a"].is_full = False
    net.run(3)
    assert payloads(carol) == [b"0", b"1"]
    assert net.disks["a"].entries(1) == {}  # the acknowledgements are on disk
