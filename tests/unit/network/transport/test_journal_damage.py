"""Journals with damaged bytes: a clear error, or a router that reports losses; never a wrong message."""

import asyncio
import logging
import sqlite3
from random import Random

import msgspec
import pytest
from support.durable_networks import DurableLab, answers, payloads
from support.journal_files import FileDisk, damaged, opened, read
from support.seeds import seeds

from cbnet.errors import InputError
from cbnet.network.durable.home_log.journal import (
    Append,
    Discard,
    Entry,
    Loss,
    SaveCursor,
    SaveHome,
    SaveLosses,
    SaveSet,
    SaveWindow,
    Stretch,
)
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.frames import DurableLost, HistoryStart, HomeRecord
from cbnet.network.simulation.memory_network import MemoryNetwork
from cbnet.network.transport.journals.journal_thread import JournalThread
from cbnet.network.transport.journals.sqlite_journal import FILE, SqliteJournal

IDS = range(4)
BOTH = 9  # the set of all subscriptions


def entries(random):
    """Return messages of all sizes: some in one page, some in several."""
    return [
        Entry(at, random.choice([1, 2, BOTH]), 1_000.0 + at, "añ", 2**61 + at, at, random.randbytes(size))
        for at in range(1, 160)
        for size in [random.choice([5, 300, 6_000])]
    ]


def fill(folder):
    """Make a journal with rows in all tables; return its messages, and what a router finds in it."""
    journal = SqliteJournal(folder, "a")
    random = Random(1)
    all = entries(random)
    journal.perform(
        [
            *(each for id in IDS for each in opened(id)),
            SaveSet(BOTH, (*IDS,)),
            Append(all),
            *(SaveWindow(random.getrandbits(61), 5, random.randbytes(20)) for _ in range(20)),
            *(SaveHome(name, msgspec.msgpack.encode(HomeRecord(name, 1, 1, "", [], []))) for name in "ab"),
            SaveLosses(1, 7, (Loss(1, 7, "because"),)),
            SaveCursor(0, (Stretch(1, 1, 1), Stretch(60, 20, 0))),
            *(SaveCursor(id, (Stretch(20, 7, 0),)) for id in IDS[1:]),
            Discard(10, 20),
        ]
    )
    state = journal.recover()
    journal.close()
    return {each.position: each for each in all if not 10 <= each.position < 20}, state


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
        ("UPDATE cursors SET id = 7 WHERE id = 3", "row 7 of table cursors has a wrong checksum"),
        ("DELETE FROM cursors WHERE id = 3", "table cursors has no row 3"),
        ("UPDATE losses SET lost = 0", "row 1 of table losses has a wrong checksum"),
        ("UPDATE homes SET record = x'00' WHERE owner = 'b'", "row 'b' of table homes has a wrong checksum"),
        ("DELETE FROM subscriptions WHERE id = 3", "table cursors has a row 3 of no subscription"),
        ("UPDATE sets SET members = x'9101' WHERE id = 2", "row 2 of table sets has a wrong checksum"),
        ("DELETE FROM sets WHERE id = 9", "row 1 of table log has a damaged set"),
        ("UPDATE log SET set_id = set_id + (1 << 24) WHERE position = 3", "row 3 of table log has a damaged set"),
        ("UPDATE log SET set_id = 'none' WHERE position = 3", "row 3 of table log has a damaged set"),
        ("UPDATE log SET position = position + 1000 WHERE position = 39", "row 1039 of table log has a damaged set"),
        (
            "REPLACE INTO subscriptions SELECT * FROM cursors WHERE id = 2",
            "row 2 of table subscriptions has a wrong checksum",
        ),
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


def test_a_message_that_a_cursor_counts_and_the_log_lacks_is_damage(tmp_path):
    journal = SqliteJournal(tmp_path, "a")
    journal.perform([*opened(1), Append([each._replace(set_id=1) for each in entries(Random(1))])])
    journal.perform([SaveCursor(1, (Stretch(1, 1, 2), Stretch(30, 30, 0)))])
    assert len(journal.recover().rows.positions) == 159  # 3 to 29 are acknowledged
    journal.perform([Discard(3, 30)])
    journal.recover()
    journal.close()
    change(tmp_path, "DELETE FROM log WHERE position = 2")
    with pytest.raises(InputError, match="messages of subscription 1 are missing in table log"):
        start(tmp_path)


@pytest.mark.parametrize(
    "column",
    ["content = x'00'", "content = NULL", "source = 7", "incarnation = incarnation + 1", "time = 5.0", "number = -1"],
)
def test_a_damaged_message_is_not_returned_and_logged(tmp_path, caplog, column):
    fill(tmp_path)
    change(tmp_path, f"UPDATE log SET {column} WHERE position = 3")
    journal = SqliteJournal(tmp_path, "a")
    assert [*journal.recover().rows.positions][:4] == [1, 2, 3, 4]
    assert [each.position for each in read(journal, 2, 3, 4)] == [2, 4]
    (record,) = caplog.records
    assert record.getMessage() == "journal damaged"
    assert record.members == {"file": str(journal.path), "reason": "wrong checksum", "position": 3}
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
        assert (state.rows.positions, state.rows.sets) == (expected.rows.positions, expected.rows.sets)
        state.rows = expected.rows  # sizes and times are checked with the messages
        assert state == expected
        found = {each.position: each for each in read(journal, *stored)}
        assert found.items() <= stored.items()
        return "nothing" if found == stored else "losses"
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
