"""Records of homes: what a router tells the others about its durable subscriptions."""

import msgspec
from tests.support.durable_networks import DurableLab, answers

from cbnet.network.durable.records.home_records import HomeRecords
from cbnet.network.protocol.frames import HomeRecord, RecordEntry, RecordSummary, Subscribed

DISK = 2.0  # seconds that a write takes


def told_and_saved():
    """Return the numbers of the record of a that b knows, and that the disk of a has, while subscriptions are made."""
    net = DurableLab("a-b")
    client = net.client("a")
    net.disks["a"].delay = DISK
    pairs = []
    for id in range(3):
        client.subscribe_durable(id, f"orders {id}", f"x > {id}")
        for _ in range(12):
            net.run(DISK / 8)
            known = net.memory.router("b").durable.records.table.get("a")
            saved = net.disks["a"].start(net.memory.hosts["a"].journalled).state.homes.get("a")
            number = msgspec.msgpack.decode(saved, type=HomeRecord).sequence if saved else 0
            pairs.append((known.sequence if known else 0, number))
    return pairs


def is_safe(pairs):
    return all(told <= saved for told, saved in pairs)


def test_a_version_is_told_when_it_is_on_disk():
    pairs = told_and_saved()
    assert is_safe(pairs)
    assert pairs[-1][0] >= 2


def test_a_build_that_tells_it_before_is_found(monkeypatch):
    def announce(records):
        record = records.own.originate()
        if record is not None:
            records.table.save(record)
            records._publish(record)

    monkeypatch.setattr(HomeRecords, "announce", announce)
    assert not is_safe(told_and_saved())


def test_a_version_that_nobody_has_hides_no_home_and_is_reported(caplog):
    net = DurableLab("a-b a-m b-c", silence=5.0)
    net.client("c").subscribe_durable(1, "orders", "x > 0")
    net.run(1)
    for one, other in ("ab", "am"):
        net.memory.cut(one, other)
    net.kill("a")
    net.memory.hosts["a"].disk = type(net.disks["a"])(net.memory)
    liar = net.memory.router("m").durable.records
    liar._summary = lambda: RecordSummary("homes", [RecordEntry("c", 9, 999)], True)
    liar.request = lambda *_: None
    net.memory.repair("a", "m")
    net.start("a")
    net.run(2)
    net.memory.repair("a", "b")
    net.run(8)
    records = net.memory.router("a").durable.records
    assert records.table.counts() == {"c": 1}
    assert not records.is_synchronised  # a newer version may have more subscriptions: no receipt without them
    lines = [line.members for line in caplog.records if line.getMessage() == "home record missing"]
    assert {(line["home"], line["neighbour"]) for line in lines} == {("c", "m")}


def test_a_large_record_is_not_followed_by_another_at_once():
    """All routers send, read and store whole records: one of half a megabyte is followed by the next after a second."""
    net = DurableLab("a-b")
    client = net.client("a")
    net.run(4)
    for id in range(10):
        text = " or ".join(f'x = "{id}{n}{"f" * 8_738}"' for n in range(6))
        client.subscribe_durable(id, f"large {id}", text, wait=10.0)
    net.run(5)

    def known():
        record = net.memory.router("b").durable.records.table.get("a")
        return record.sequence, len(record.names)

    def confirmed():
        return {each.id for each in answers(client, Subscribed) if each.is_confirmed}

    first, _ = known()
    assert known() == (first, 10)
    assert confirmed() == {*range(10)}
    for id in range(10, 20):
        client.subscribe_durable(id, f"small {id}", f"x = {id}", wait=10.0)
        net.run(0.05)
    net.run(0.4)
    assert known() == (first + 1, 11)  # the first one at once
    assert confirmed() == {*range(11)}
    net.run(1.0)
    assert known() == (first + 2, 20)
    assert confirmed() == {*range(20)}
