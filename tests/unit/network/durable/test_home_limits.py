"""More homes than a router can know, and records of routers that are homes no more."""

import pytest
from tests.support.durable_networks import DurableLab, answers, payloads

from cbnet.network.durable.records import home_table
from cbnet.network.durable.records.home_table import HomeTable
from cbnet.network.protocol import fields
from cbnet.network.protocol.frames import DurableRemove, ForgetHome, HomeRecord, Subscribed


@pytest.fixture
def limits(monkeypatch):
    monkeypatch.setattr(home_table, "MAX_HOMES", 3)
    monkeypatch.setattr(home_table, "MAX_EMPTY", 2)


few = pytest.mark.usefixtures("limits")


def record(owner, *names, sequence=1):
    return HomeRecord(owner, 7, sequence, "", [("", name) for name in names], [])


def owners(table):
    return sorted(each.owner for each in table)


def known(net, router):
    """Return the homes that a router knows, each with the number of its subscriptions."""
    return net.memory.router(router).durable.records.table.counts()


def subscribe(net, router, name="orders"):
    """Create a durable subscription to x > 0 and wait for its confirmation; return its client."""
    client = net.client(router)
    client.subscribe_durable(1, f"{router} {name}", "x > 0", wait=5.0)
    net.run(6)
    return client


def confirmation(client):
    found = answers(client, Subscribed)[-1]
    return found.is_confirmed, found.missing


# --- the table


@few
def test_so_many_homes_fit_with_this_router_and_no_more():
    table = HomeTable("a")
    for owner in ("b", "c"):
        assert table.fits(record(owner, "x"))
        table.set(record(owner, "x"))
    assert not table.fits(record("d", "x"))
    assert table.fits(record("c", "x", "y", sequence=2))
    assert table.fits(record("a", "x"))
    table.set(record("a", "x"))
    assert table.counts() == {"a": 1, "b": 1, "c": 1}
    assert table.room == 0


@few
def test_empty_records_do_not_count():
    table = HomeTable("a")
    for owner in ("b", "c", "d"):
        table.set(record(owner, "x"))
        table.set(record(owner, sequence=2))
    assert table.counts() == {}
    assert table.room == 2
    assert table.fits(record("e", "x"))
    table.set(record("e", "x"))
    table.set(record("c", "x", sequence=3))
    assert not table.fits(record("d", "x", sequence=3))


@few
def test_the_oldest_empty_records_are_dropped_and_never_the_own():
    table = HomeTable("a")
    table.set(record("a"))
    for owner in ("d", "c", "b"):
        table.set(record(owner, "x"))
    assert [table.set(record(owner, sequence=2)) for owner in ("d", "c", "b")] == [[], [], ["d"]]
    assert owners(table) == ["a", "b", "c"]
    assert not table.fits(record("d"))  # or two neighbours could exchange dropped ones for ever
    assert table.fits(record("c", sequence=3))
    assert table.set(record("c", sequence=3)) == []
    table.set(record("e", "x"))
    assert table.set(record("e", sequence=2)) == ["b"]  # that of c is newer


def test_a_summary_has_all_records():
    # this router, and at most MAX_HOMES - 1 others that are homes, and MAX_EMPTY that are none
    assert 1 + fields.MAX_HOMES - 1 + home_table.MAX_EMPTY == fields.MAX_HOME_RECORDS == 4_096


# --- in a network


def check_awaited(net, home, publisher, subscriber):
    """Check that a message gets no receipt while a home is dead, and is stored there when it has returned."""
    net.kill(home)
    number = publisher.publish_durable({"x": 1}, b"0", timeout=60)
    net.run(5)
    assert number not in publisher.receipts
    net.start(home)
    net.run(5)
    assert payloads(subscriber) == [b"0"]


@few
def test_a_home_that_is_not_known_confirms_nothing_until_another_is_forgotten(caplog):
    net = DurableLab("a-b b-c b-d b-e")
    for router in "acd":
        subscribe(net, router)
    assert known(net, "b") == {"a": 1, "c": 1}
    erin = subscribe(net, "e")
    assert confirmation(erin) == (False, ["a", "b", "c", "d"])
    lines = [line.members for line in caplog.records if line.getMessage() == "home not known"]
    assert {line["home"] for line in lines} == {"d", "e"}
    assert "cbnet durable forget" in lines[0]["hint"]
    assert "more than" in lines[0]["reason"]
    bob = net.client("b")
    bob.send(ForgetHome(1, "a"))
    bob.send(ForgetHome(2, "c"))
    net.kill("a")
    net.kill("c")
    net.run(5)
    assert known(net, "b") == {"d": 1, "e": 1}
    erin.send(erin.durable[1])
    net.run(6)
    assert confirmation(erin)[0]
    check_awaited(net, "e", bob, erin)


@few
def test_homes_that_were_forgotten_make_room_for_others():
    net = DurableLab("a-b b-c b-d b-e b-f")
    alice = net.client("a")
    for router in "cdef":
        client = subscribe(net, router)
        assert confirmation(client)[0]
        if router < "e":
            net.kill(router)
            alice.send(ForgetHome(1, router))
            net.run(1)
        elif router == "e":
            client.send(DurableRemove(1, "e orders"))
            net.run(1)
    assert known(net, "a") == known(net, "b") == {"f": 1}
    disk = net.disks["b"].start(net.memory.hosts["b"].journalled).state
    assert sorted(disk.homes) == sorted(each.owner for each in net.memory.router("b").durable.records.table)
    assert len(disk.homes) == 3  # two are empty


def test_a_home_that_returns_outbids_an_empty_record_that_only_some_routers_have():
    for dropped in ("", "a", "b", "ab"):
        net = DurableLab("a-b b-c")
        alice, carol = net.client("a"), subscribe(net, "c")
        net.kill("c")
        alice.send(ForgetHome(1, "c"))
        net.run(1)
        for router in dropped:
            table = net.memory.router(router).durable.records.table
            del table._records["c"], table._empty["c"]
        net.start("c")
        net.run(5)
        assert [known(net, router) for router in "abc"] == [{"c": 1}] * 3
        check_awaited(net, "c", alice, carol)


@few
def test_a_record_that_was_dropped_before_it_was_requested_is_not_waited_for():
    net = DurableLab("a-b", diskless="a")
    table = net.memory.router("b").durable.records.table
    table.set(record("z"))
    net.kill("a")
    net.start("a")
    summaries = net.memory.frames["RecordSummary"]
    while net.memory.frames["RecordSummary"] == summaries:
        net.run(0.005)
    del table._records["z"], table._empty["z"]
    net.run(5)
    alice = net.client("a")
    number = alice.publish_durable({"x": 1}, b"0", timeout=5)
    net.run(2)
    assert alice.receipts[number].silent == []
