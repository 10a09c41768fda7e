"""A linked router that forges records of a home: believed without keys, and refused with them."""

import logging

import pytest
from tests.support.durable_networks import DurableLab, payloads
from tests.support.signing_routers import seed_of, signatures, signing

from cbnet.network.protocol.frames import (
    ForgetHome,
    HomeRecord,
    RecordEntry,
    RecordRequest,
    RecordSummary,
    RefusedFrame,
)
from cbnet.network.security.access import Access
from cbnet.network.security.record_signatures import RecordSignatures

LINKS = "a-b b-c c-d d-a a-m m-c"  # the home is c, the publisher is at a, and m forges
NAMES = "abcdm"
FORGERIES = {
    "unsigned": lambda record: record,
    "of the forger": lambda record: RecordSignatures("cbnet", seed_of("m")).sign(record),
    "of the owner in another network": lambda record: RecordSignatures("other", seed_of("c")).sign(record),
}


def home_lab(access=None, links=LINKS, **options):
    """Return a network, a publisher at a, and the client of the durable subscription at the home c."""
    net = DurableLab(links, access=access, **options)
    alice, carol = net.client("a"), net.client("c")
    carol.subscribe_durable(1, "orders", "x > 0", wait=5.0)
    net.run(3)
    return net, alice, carol


def table(net, router):
    return net.memory.router(router).durable.records.table


def say(net, frame):
    """Let the router m send a frame to all its neighbours."""
    for end in net.memory.hosts["m"].ends.values():
        net.memory.send(end, frame)


def forge(net, forgery):
    """Let the router m say, ten times a second, that c has no durable subscriptions, each time in a newer version."""

    def say_again():
        say(net, forgery(HomeRecord("c", 5, table(net, "a").get("c").sequence + 1, "", [], [])))

    net.memory.every(0.1, say_again)


def false_receipts(net, alice, messages):
    """Publish 10 messages a second; return the receipts, and those that count no subscription."""
    numbers = []
    for _ in range(messages):
        numbers.append(alice.publish_durable({"x": 1}, b"order", timeout=30))
        net.run(0.1)
    net.run(5)
    receipts = [alice.receipts[number] for number in numbers if number in alice.receipts]
    return receipts, [each for each in receipts if not each.silent and each.subscriptions == 0]


def test_without_keys_a_linked_router_makes_receipts_false():
    net, alice, _ = home_lab()
    forge(net, FORGERIES["unsigned"])
    receipts, false = false_receipts(net, alice, 50)
    assert receipts
    assert len(false) > len(receipts) / 2


@pytest.mark.parametrize("kind", FORGERIES)
def test_with_keys_no_receipt_is_false(kind, caplog):
    net, alice, carol = home_lab(signing(NAMES, NAMES))
    forge(net, FORGERIES[kind])
    receipts, false = false_receipts(net, alice, 50)
    assert (len(receipts), false) == (50, [])
    assert len(payloads(carol)) == 50
    refused = net.memory.router("a").counters["records_refused"]
    assert refused >= 50
    lines = [line.members for line in caplog.records if line.getMessage() == "record refused"]
    assert {(line["kind"], line["owner"], line["neighbour"]) for line in lines} == {("homes", "c", "m")}
    assert net.memory.router("b").counters["records_refused"] == 0  # it was not forwarded


def store_while_away(access):
    """Publish while the home is down and its records are forged; return receipts before it returns, and deliveries."""
    net, alice, carol = home_lab(access)
    carol.disconnect()
    net.run(1)
    net.kill("c")
    net.run(1)
    forge(net, FORGERIES["unsigned"])
    net.run(1)
    numbers = [alice.publish_durable({"x": 1}, b"order", timeout=120) for _ in range(20)]
    net.run(10)
    early = [number for number in numbers if number in alice.receipts]
    net.start("c")
    net.run(10)
    carol.reconnect()
    net.run(20)
    return len(early), len(payloads(carol))


def test_without_keys_messages_are_lost_while_the_home_is_down():
    assert store_while_away(None) == (20, 0)


def test_with_keys_no_message_is_lost_while_the_home_is_down():
    assert store_while_away(signing(NAMES, NAMES)) == (0, 20)


def test_an_earlier_signed_record_replaces_no_later_one():
    net, alice, carol = home_lab(signing(NAMES, NAMES))
    earlier = table(net, "a").get("c")
    carol.subscribe_durable(2, "more", "x > 5", wait=5.0)
    net.run(3)
    net.kill("c")
    net.run(1)
    say(net, earlier)
    net.run(1)
    assert [name for _, name in table(net, "a").get("c").names] == ["more", "orders"]
    assert alice.publish_durable({"x": 6}, b"order", timeout=60) not in alice.receipts


def test_a_version_that_is_only_claimed_supersedes_no_signed_record():
    net, _, _ = home_lab(signing(NAMES, NAMES))
    net.memory.router("m").durable.records.request = lambda *_: None
    before = table(net, "c").get("c").sequence
    claim = [RecordEntry("c", 5, before + 1_000)]
    for frame in (RecordSummary("homes", claim, True), RecordRequest("homes", claim)):
        say(net, frame)
    net.run(5)
    assert table(net, "c").get("c").sequence == before


# --- keys that change


def reload(net, name, rules):
    host = net.memory.hosts[name]
    host.access = rules
    host.perform(host.router.reload(host.settings, rules, host.now))
    net.run(1)


def test_a_network_is_changed_to_keys_router_by_router_and_no_receipt_is_false():
    net, alice, carol = home_lab()
    total = 0
    for trusted in (None, NAMES):
        for name, rules in signing(NAMES, trusted).items():
            reload(net, name, rules)
            receipts, false = false_receipts(net, alice, 5)
            total += 5
            assert (len(receipts), false) == (5, [])
            assert len(net.memory.router("a").version) == len(NAMES)
    assert len(payloads(carol)) == total
    assert {bool(each.signature) for name in NAMES for each in table(net, name)} == {True}
    assert [net.memory.router(name).counters["records_refused"] for name in NAMES] == [0] * 5


def test_a_home_signs_its_record_when_it_starts_with_a_key():
    net, _, _ = home_lab()
    for name, rules in signing(NAMES).items():
        net.kill(name)
        net.memory.hosts[name].access = rules
    for name in NAMES:
        net.start(name)
    net.run(10)
    assert {bool(table(net, name).get("c").signature) for name in NAMES} == {True}


def test_a_record_without_a_signature_is_removed_from_the_disk_and_reported(caplog):
    net, _, _ = home_lab(links="a-b b-c")
    net.kill("c")
    net.run(1)
    rules = signing("abc", "abc")
    net.kill("a")
    net.memory.hosts["a"].access = rules["a"]
    net.start("a")
    reload(net, "b", rules["b"])
    net.run(5)
    assert [table(net, name).get("c") for name in "ab"] == [None, None]
    assert "c" not in net.disks["a"].start(net.memory.hosts["a"].journalled).state.homes
    lines = [
        line for line in caplog.records if line.getMessage() == "record removed" and line.levelno == logging.WARNING
    ]
    assert {(line.members["owner"], line.members["reason"]) for line in lines} >= {("c", "it is not signed")}
    assert len([line for line in lines if line.members["kind"] == "homes"]) == 2


def test_a_home_whose_key_is_removed_is_forgotten_and_known_again_with_it():
    net, alice, _ = home_lab(signing("abc", "abc"), "a-b b-c")
    net.kill("c")
    net.run(1)
    alice.send(ForgetHome(1, "c"))
    net.run(1)
    (refusal,) = [answer for answer in alice.answers if isinstance(answer, RefusedFrame)]
    assert "remove the key of c from public_keys at all routers, and reload them" in refusal.reason
    assert table(net, "a").counts() == {"c": 1}
    for name, rules in signing("ab", "ab").items():
        reload(net, name, rules)
    number = alice.publish_durable({"x": 1}, b"0", timeout=30)
    net.run(2)
    assert (alice.receipts[number].silent, alice.receipts[number].subscriptions) == ([], 0)
    net.start("c")
    net.run(5)
    assert len(net.memory.router("a").version) == 2
    for name, rules in signing("ab", "abc").items():
        reload(net, name, rules)
    net.run(5)
    assert len(net.memory.router("a").version) == 3
    assert table(net, "a").counts() == table(net, "b").counts() == {"c": 1}


def test_a_router_whose_key_is_not_listed_is_refused_and_delays_nobody(caplog):
    names = "abc"
    access = signing(names, names) | {"m": Access(signatures=signatures("m"))}
    net, _, _ = home_lab(access, "a-b b-c a-m")
    net.client("m").subscribe_durable(1, "foreign", "x > 0")
    net.run(3)
    net.kill("a")
    net.start("a")
    net.run(5)
    assert net.memory.router("a").durable.records.is_synchronised
    assert table(net, "a").counts() == {"c": 1}
    assert net.memory.router("a").version.names == {*names}
    reasons = {line.members["reason"] for line in caplog.records if line.getMessage() == "record refused"}
    assert reasons == {"public_keys has no key of 'm'"}
