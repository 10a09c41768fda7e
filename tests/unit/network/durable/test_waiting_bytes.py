"""Messages that wait for one home, or of one account, leave memory for others."""

import pytest
from support.durable_networks import DurableLab, answers
from support.guarded_router import GuardedRouter
from support.memory_networks import sent

from cbnet.language.syntax.byte_form import predicate_to_bytes
from cbnet.network.durable import publications
from cbnet.network.protocol.frames import DurablePublish, DurablePublished, HomeRecord, RefusedFrame
from cbnet.network.security.rights import Rights

MESSAGE = 1_000  # bytes that a message without payload counts for
HINT = " bytes; publish again later, or less at once"


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(publications, "MAX_BYTES", 8 * MESSAGE)  # two for a home, four of an account


def star(homes="bcdefg"):
    """Return a router with six homes, which store messages with their names, and a client of it."""
    net = DurableLab(" ".join(f"a-{home}" for home in homes))
    for home in homes:
        net.client(home).subscribe_durable(1, home, f'x *= "{home}"')
    net.run(3)
    return net, net.client("a")


def publish(net, client, *messages, timeout=20.0):
    """Return why each message is refused; None if it waits, and empty if it is stored."""
    numbers = [client.publish_durable({"x": x}, timeout=timeout) for x in messages]
    net.run(0.5)
    refused = {each.number: each.reason for each in answers(client, RefusedFrame)}
    return [refused.get(n, "" if n in client.receipts else None) for n in numbers]


def in_use(net):
    waiting = net.memory.router("a").durable.publications.waiting
    return waiting.all, waiting._homes, waiting._accounts


def test_messages_for_an_absent_home_leave_memory_for_others():
    net, alice = star()
    net.kill("b")
    full = f"too many messages wait for durable subscriptions at router b: 2,000{HINT}"
    assert publish(net, alice, "b", "b", "b", "bc", "c", "c", "none") == [None, None, full, full, "", "", ""]
    assert in_use(net) == (2 * MESSAGE, {"b": 2 * MESSAGE}, {})


def test_a_message_counts_for_each_home_until_that_has_answered():
    net, alice = star()
    net.kill("b")
    assert publish(net, alice, "bc") == [None]
    assert in_use(net) == (MESSAGE, {"b": MESSAGE}, {})
    net.start("b")
    net.run(5)
    assert in_use(net) == (0, {}, {})


def test_the_bytes_return_when_the_timeout_has_expired():
    net, alice = star()
    net.kill("b")
    publish(net, alice, "b", "b", timeout=2.0)
    net.run(3)
    assert in_use(net) == (0, {}, {})
    assert publish(net, alice, "b") == [None]


def test_all_messages_together_are_bounded():
    net, alice = star()
    for home in "bcdef":
        net.kill(home)
    assert publish(net, alice, *"bcdebcde") == [None] * 8
    full = f"too many messages wait for durable subscriptions: 8,000{HINT}"
    assert publish(net, alice, "f", "none") == [full, full]


def test_payloads_count():
    net, alice = star()
    net.kill("b")
    number = alice.publish_durable({"x": "b"}, bytes(2 * MESSAGE), timeout=5)
    net.run(1)
    assert [each.number for each in answers(alice, RefusedFrame)] == [number]


def test_one_account_leaves_memory_for_others():
    a = GuardedRouter({"ann": Rights(), "bob": Rights()})
    for home in "bcd":  # absent
        a.router.durable.records.table.set(HomeRecord(home, 1, 1, "", [], predicate_to_bytes(f'x = "{home}"')))
    for _ in range(2):
        a.say(1)
    numbers = {1: 0, 2: 0}

    def publish(link, home, timeout=50.0):
        numbers[link] += 1
        done = a.say(link, DurablePublish(link, numbers[link], 1, timeout, {"x": home}, [], b""))
        return [each.reason for each in sent(done, RefusedFrame)]

    assert [publish(1, home, timeout=2.0) for home in "bbcc"] == [[]] * 4
    assert publish(1, "d") == [f"too many messages of your account wait for durable subscriptions: 4,000{HINT}"]
    assert publish(2, "d") == []
    for _ in range(20):
        a.say(1)
    assert publish(1, "d") == []
    waiting = a.router.durable.publications.waiting
    assert (waiting.all, waiting._accounts) == (2 * MESSAGE, {"ann": MESSAGE, "bob": MESSAGE})


def early_messages(more="", timeout=50.0):
    """Return a router that does not know the homes, and a client that has published eight messages for two of them."""
    net = DurableLab("a-b a-c", diskless="a")
    for home in "bc":
        net.client(home).subscribe_durable(1, home, f'x = "{home}"')
    net.run(2)
    alice = net.client("a")
    net.kill("a")
    for home in "bc":
        net.memory.cut("a", home)
    net.start("a")
    net.run(2)
    return net, alice, publish(net, alice, *"bbbcbcbb", *more, timeout=timeout)


def test_messages_that_wait_for_the_home_records_count_once_each():
    net, alice, waiting = early_messages(more="b")
    assert waiting == [None] * 8 + [f"too many messages wait for durable subscriptions: 8,000{HINT}"]
    for frame in alice.publisher.frames(net.memory.now):
        alice.send(frame)  # again
    net.run(0.5)
    assert in_use(net)[0] == 8 * MESSAGE


def test_early_messages_beyond_the_share_of_a_home_are_refused_when_the_records_are_here():
    net, alice, _ = early_messages()
    for home in "bc":
        net.disks[home].delay = 3.0
        net.memory.repair("a", home)
    net.run(20)
    refused = [receipt.refused for _, receipt in sorted(alice.receipts.items())]
    full = [f"a: too many messages wait for durable subscriptions at router b: 2,000{HINT}"]
    assert refused == [[], [], full, [], full, [], full, full]
    assert in_use(net) == (0, {}, {})


def test_early_messages_return_their_bytes_with_the_timeout_and_with_their_client():
    net, alice, _ = early_messages(timeout=3.0)
    net.run(4)
    assert [answer.silent for answer in answers(alice, DurablePublished)] == [["a"]] * 8
    assert in_use(net) == (0, {}, {})
    publish(net, alice, "b", "c")
    assert in_use(net)[0] == 2 * MESSAGE
    alice.disconnect()
    net.run(0.5)
    assert in_use(net) == (0, {}, {})
