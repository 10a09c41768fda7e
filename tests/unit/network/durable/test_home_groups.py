"""Homes with names of their own, and routers that take them over from each other."""

from support.durable_networks import DurableLab, numbers, payloads

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
