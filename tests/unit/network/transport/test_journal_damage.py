"""Journals with damaged bytes: a clear error, or a router that reports losses; never a wrong message."""

import asyncio
import logging
import sqlite3
from random import Random

import msgspec
import pytest
from support.durable_networks import DurableLab, answers, payloads
from support.journal_files import FileDisk, damaged
from support.seeds import seeds

from cbnet.errors import InputError
from cbnet.network.durable.journal import (
    Append,
    Discard,
    Entry,
    Loss,
    Read,
    SavedSubscription,
    SaveHome,
    SaveLosses,
    SaveSubscription,
    SaveWindow,
)
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.frames import DurableLimits, DurableLost, HistoryStart, HomeRecord
from cbnet.network.simulation.memory_network import MemoryNetwork
from cbnet.network.transport.journal_thread import JournalThread
from cbnet.network.transport.sqlite_journal import FILE, SqliteJournal

IDS = range(4)


def entries(random):
    """Return messages of all sizes: some in one page, some in several."""
    return [
        Entry(id, offset, 1_000.0 + offset, "añ", 2**61 + id, offset, random.randbytes(random.choice([5, 300, 6_000])))
        for id in IDS
        for offset in range(1, 40)
    ]


def fill(folder):
    """Make a journal with rows in all tables; return its messages, and what a router finds in it."""
    journal = SqliteJournal(folder, "a")
    random = Random(1)
    all = entries(random)
    journal.perform(
        [
            *(SaveSubscription(SavedSubscription(id, "", f"s{id}", "x > 0", DurableLimits())) for id in IDS),
            *map(Append, all),
            *(SaveWindow(random.getrandbits(61), 5, random.randbytes(20)) for _ in range(20)),
            *(SaveHome(name, msgspec.msgpack.encode(HomeRecord(name, 1, 1, "", [], []))) for name in "ab"),
            SaveLosses(1, 7, (Loss(1, 7, "because"),)),
            *(Discard(id, 10, 20) for id in IDS),
        ]
    )
    state = journal.recover()
    journal.close()
    return {(each.subscription, each.offset): each for each in all if not 10 <= each.offset < 20}, state


def change(folder, statement, *values):
    """Change a row, but not its checksum."""
    file = sqlite3.connect(folder / FILE)
    assert file.execute(statement, values).rowcount == 1
    file.commit()
    file.close()


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE meta SET id = id + 1", "row 'a' of table meta has a wrong checksum"),
        (
            "UPDATE subscriptions SET definition = replace(definition, 's', 't') WHERE id = 2",
            "row 2 of table subscriptions has a wrong checksum",
        ),
        ("UPDATE offsets SET next = next + 1 WHERE id = 3", "row 3 of table offsets has a wrong checksum"),
        ("DELETE FROM offsets WHERE id = 3", "table offsets has no row 3"),
        ("UPDATE losses SET lost = 0", "row 1 of table losses has a wrong checksum"),
        ("UPDATE homes SET record = x'00' WHERE owner = 'b'", "row 'b' of table homes has a wrong checksum"),
        ("DELETE FROM subscriptions WHERE id = 3", "table entries has a row 3298534883329 that nobody stored"),
        (
            "UPDATE entries SET key = key + (9 << 40) WHERE key = 1",
            "table entries has a row 9895604649985 that nobody stored",
        ),
        (
            "REPLACE INTO subscriptions SELECT * FROM offsets WHERE id = 2",
            "row 2 of table subscriptions has a wrong checksum",
        ),
        ("UPDATE entries SET key = key + 60 WHERE key = 39", "table entries has a row 99 that nobody stored"),
        ("DELETE FROM meta", "table meta has 0 rows"),
    ],
)
def test_a_damaged_row_is_named_with_the_remedy(tmp_path, statement, what):
    fill(tmp_path)
    change(tmp_path, statement)
    with pytest.raises(InputError) as raised:
        start(tmp_path)
    remedy = "restore the journal from a backup, or move its folder away: the messages in it are lost then"
    assert str(raised.value) == f"{tmp_path / FILE}: the journal is damaged: {what}; {remedy}"


def start(folder):
    async def run():
        JournalThread(SqliteJournal(folder, "a")).start(lambda _: None)

    asyncio.run(run())


def test_a_record_of_another_form_is_named(tmp_path):
    journal = SqliteJournal(tmp_path, "a")
    journal.perform([SaveHome("b", b"\x01")])
    with pytest.raises(InputError, match="row 'b' of table homes cannot be decoded: Expected `array`, got `int`"):
        journal.recover()
    journal.close()


def test_other_tables_are_damage(tmp_path):
    fill(tmp_path)
    change(tmp_path, "INSERT INTO meta VALUES (1, 2, 3)")
    file = sqlite3.connect(tmp_path / FILE)
    file.execute("ALTER TABLE windows ADD COLUMN more")
    file.close()
    with pytest.raises(InputError, match="the journal is damaged: it has other tables"):
        SqliteJournal(tmp_path, "a")


@pytest.mark.parametrize(
    "column",
    ["content = x'00'", "content = NULL", "source = 7", "life = life + 1", "time = 5.0", "number = -1"],
)
def test_a_damaged_message_is_skipped_removed_and_logged(tmp_path, caplog, column):
    fill(tmp_path)
    change(tmp_path, f"UPDATE entries SET {column} WHERE key = 3")
    journal = SqliteJournal(tmp_path, "a")
    assert [item.offset for item in journal.recover().stock[0]][:4] == [1, 2, 3, 4]
    result = journal.read(Read(0, 2, 3, 100_000))
    assert ([each.offset for each in result.entries], result.end) == ([2, 4], 5)
    (record,) = caplog.records
    assert record.getMessage() == "journal damaged"
    expected = {"file": str(journal.path), "reason": "wrong checksum", "subscription": 0, "offset": 3}
    assert record.members == expected
    assert [item.offset for item in journal.recover().stock[0]][:3] == [1, 2, 4]
    journal.close()


def test_random_damage_is_an_error_or_costs_messages(tmp_path):
    stored, expected = fill(tmp_path / "whole")
    data = (tmp_path / "whole" / FILE).read_bytes()
    logging.disable(logging.CRITICAL)
    outcomes = []
    try:
        for seed in range(150):
            outcomes.append(outcome(tmp_path / str(seed), damaged(data, Random(seed)), stored, expected))
    finally:
        logging.disable(logging.NOTSET)
    assert {*outcomes} == {"error", "losses", "nothing"}


def outcome(folder, data, stored, expected):
    """Open a journal with damage, and check what is found in it."""
    folder.mkdir()
    (folder / FILE).write_bytes(data)
    try:
        journal = SqliteJournal(folder, "a")
    except InputError as error:
        assert error.file == str(folder / FILE)
        return "error"
    try:
        state = journal.recover()
        for id, items in expected.stock.items():
            assert [each.offset for each in state.stock[id]] == [each.offset for each in items]
        state.stock = expected.stock  # sizes and times are checked with the messages
        assert state == expected
        read = {(id, each.offset): each for id in IDS for each in journal.read(Read(id, 1, 100, 1 << 30)).entries}
        assert read.items() <= stored.items()
        return "nothing" if read == stored else "losses"
    except InputError as error:
        assert error.file == str(folder / FILE)
        return "error"
    finally:
        journal.close()


# --- routers


def restart_with_damage(folder, seed):
    """Store messages, damage the journal, and start the router again; return a lab, or None if it does not start."""
    net = DurableLab.__new__(DurableLab)
    net.memory, net.clients = MemoryNetwork(seed), 0
    disk = FileDisk(net.memory, folder)
    net.memory.add(Settings("a", history="x > 0"), disk=disk)
    net.run(4)
    alice, bob = net.client("a"), net.client("a")
    bob.subscribe_durable(1, "billing", "x > 0")
    net.run(1)
    bob.disconnect()
    random = Random(seed)
    for number in range(60):
        alice.publish({"x": 1}, b"%d " % number + bytes(random.choice([5, 300, 6_000])))
    net.run(1)
    net.kill("a")
    disk.path.write_bytes(damaged(disk.path.read_bytes(), random))
    try:
        net.start("a")
    except InputError as error:
        assert error.file == str(disk.path)
        return None
    net.run(1)
    return net, alice, bob


@pytest.mark.parametrize("seed", seeds(10))
def test_a_router_with_a_damaged_journal_does_not_start_or_reports_losses(tmp_path, seed, caplog):
    caplog.set_level(logging.CRITICAL)
    started = restart_with_damage(tmp_path, seed)
    if started is None:
        return
    net, alice, bob = started
    carol = net.client("a")
    carol.replay(1, "x > 0", HistoryStart())
    bob.reconnect()
    net.run(3)
    for client in (bob, carol):
        received = [int(payload.split()[0]) for payload in payloads(client)]
        lost = sum(frame.messages for frame in answers(client, DurableLost))
        assert received == sorted(set(received))
        assert len(received) + lost == 60
    alice.publish({"x": 1}, b"60 ")
    net.run(2)
    is_stored = payloads(bob)[-1:] == payloads(carol)[-1:] == [b"60 "]
    assert is_stored or net.memory.router("a").durable.problem
    net.kill("a")
