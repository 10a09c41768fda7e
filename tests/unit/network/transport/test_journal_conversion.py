"""Journals of version 0.2 are converted when they are opened: nothing is lost, or nothing is changed."""

import logging
import sqlite3
from random import Random

import msgspec
import pytest
from support.durable_networks import DurableLab, answers, payloads
from support.journal_files import FileDisk, OldJournal, read

from cbnet.errors import InputError
from cbnet.network.durable.home_log.cursor import spans
from cbnet.network.durable.home_log.journal import Loss, SaveCursor, SaveLosses, SaveWindow, Stretch
from cbnet.network.durable.publications import publisher_incarnation
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.frames import DurableLost, DurablePublish, DurablePublished, HistoryStart, HomeRecord
from cbnet.network.simulation.memory_network import MemoryNetwork
from cbnet.network.transport.journals import sqlite_journal
from cbnet.network.transport.journals.sqlite_journal import SqliteJournal


def kept(journal):
    """Return the contents of all messages that are not acknowledged, by subscription and offset."""
    state = journal.recover()
    found = {}
    for id in state.cursors:
        positions = state.positions(id)
        contents = {entry.position: entry.content for entry in read(journal, *positions)}
        found[id] = {
            stretch.offset + index - start: contents.get(positions[index])
            for stretch, start, end in spans(state.cursors[id], positions)
            for index in range(start, end)
        }
    return found


def followings(journal):
    """Return the next offset of each subscription."""
    state = journal.recover()
    return {
        id: stretch.offset + end - start
        for id in state.cursors
        for stretch, start, end in [[*spans(state.cursors[id], state.positions(id))][-1]]
    }


def test_all_tables_are_converted(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    old = OldJournal(tmp_path)
    old.subscription(0, 4, name="history", predicate="x >= 0", since=5.0)
    old.subscription(1, 6, limits={"messages": 9, "policy": "drop oldest"}, account="ann")
    old.subscription(2, 1)
    old.entry(0, 2, 10.0, 7, b"m7")
    old.entry(0, 3, 12.0, 3, b"", source="a note", life=0)
    for offset, number in ((2, 6), (3, 7), (5, 9)):
        old.entry(1, offset, {6: 9.0, 7: 10.0, 9: 14.0}[number], number, b"m%d" % number)
    losses = SaveLosses(1, 7, (Loss(3, 5, "because"),))
    old.row("losses", 1, 7, msgspec.msgpack.encode(losses.pending))
    old.row("windows", 99, 5, b"\x05")
    record = msgspec.msgpack.encode(HomeRecord("a", 1, 2, "", [("ann", "s1")], []))
    old.row("homes", "a", record)
    old.close()
    journal = SqliteJournal(tmp_path, "a")
    begun, line = caplog.records
    assert (begun.getMessage(), begun.members["file"]) == ("journal converting", str(journal.path))
    assert (line.getMessage(), line.members["entries"], line.members["messages"]) == ("journal converted", 5, 4)
    state = journal.recover()
    assert state.id == 77
    assert [(each.id, each.account, each.name, each.since) for each in state.subscriptions] == [
        (0, "", "history", 5.0), (1, "ann", "s1", 0.0), (2, "", "s2", 0.0),
    ]  # fmt: skip
    assert (state.subscriptions[1].limits.messages, state.subscriptions[1].limits.policy) == (9, "drop oldest")
    assert state.losses == {0: SaveLosses(0), 1: losses, 2: SaveLosses(2)}
    assert state.windows == {99: SaveWindow(99, 5, b"\x05")}
    assert state.homes == {"a": record}
    assert state.sets == {1: (1,), 2: (0, 1), 3: (0,)}
    assert ([*state.rows.sets], [*state.rows.times]) == ([1, 2, 3, 1], [9.0, 10.0, 12.0, 14.0])
    assert state.cursors == {
        0: SaveCursor(0, (Stretch(2, 2, 0),)),
        1: SaveCursor(1, (Stretch(1, 2, 2), Stretch(4, 5, 0))),
        2: SaveCursor(2, (Stretch(1, 1, 0),)),
    }
    assert kept(journal) == {0: {2: b"m7", 3: b""}, 1: {2: b"m6", 3: b"m7", 5: b"m9"}, 2: {}}
    assert [entry.source for entry in read(journal, 1, 2, 3)] == ["b", "b", "a note"]
    journal.close()
    again = SqliteJournal(tmp_path, "a")  # it is not converted twice
    assert again.recover() == state
    again.close()


def test_random_journals_keep_what_each_subscription_has(tmp_path):
    for seed in range(40):
        random = Random(seed)
        old = OldJournal(tmp_path / str(seed))
        following, expected, time, times = dict.fromkeys(range(5), 1), {id: {} for id in range(5)}, 100.0, set()
        stored = 0
        for number in range(random.randrange(40)):
            time += random.choice([0.0, 0.0, 1.0, -5.0, 0.5])  # the clock may be set back
            wanted = random.sample(range(5), random.randrange(6))
            for id in wanted:
                if random.random() < 0.8:  # the others are acknowledged
                    old.entry(id, following[id], time, number, b"%d" % number)
                    expected[id][following[id]] = b"%d" % number
                    times.add(number)
                    stored += 1
                following[id] += 1
        for id in range(5):
            old.subscription(id, following[id])
        old.close()
        journal = SqliteJournal(tmp_path / str(seed), "a")
        assert kept(journal) == expected, seed
        assert followings(journal) == following
        state = journal.recover()
        assert [*state.rows.times] == sorted(state.rows.times)
        assert len(times) <= len(state.rows.positions) <= stored
        journal.close()


def test_what_matches_many_subscriptions_is_stored_once(tmp_path):
    old = OldJournal(tmp_path)
    for id in range(1, 101):
        old.subscription(id, 4)
        for offset in range(1, 4):
            old.entry(id, offset, float(offset), offset, bytes(10_000))
    old.close()
    journal = SqliteJournal(tmp_path, "a")
    state = journal.recover()
    assert ([*state.rows.sets], state.sets) == ([1, 1, 1], {1: tuple(range(1, 101))})
    while journal.shrink():
        pass
    journal.close()
    assert journal.path.stat().st_size < 5_000_000  # 3 MB of 1,024 free pages are kept


def test_a_damaged_message_stays_one(tmp_path, caplog):
    old = OldJournal(tmp_path)
    for id in (1, 2):
        old.subscription(id, 4)
        for offset in range(1, 4):
            old.entry(id, offset, float(offset), offset, b"%d" % offset)
    old.change("UPDATE entries SET content = x'00' WHERE key = (1 << 40) + 2")
    old.close()
    journal = SqliteJournal(tmp_path, "a")
    assert kept(journal) == {1: {1: b"1", 2: None, 3: b"3"}, 2: {1: b"1", 2: b"2", 3: b"3"}}
    assert "wrong checksum" in [each.members.get("reason") for each in caplog.records]
    journal.close()


def content(path):
    """Return what the tables of a journal have."""
    file = sqlite3.connect(path)
    names = [name for (name,) in file.execute("SELECT name FROM sqlite_schema ORDER BY name")]
    found = {name: file.execute(f"SELECT * FROM {name}").fetchall() for name in names}
    version = file.execute("PRAGMA user_version").fetchone()
    file.close()
    return found, version


def filled(folder):
    """Return a journal with some messages."""
    old = OldJournal(folder)
    old.subscription(1, 101)
    for offset in range(1, 101):
        old.entry(1, offset, float(offset), offset, bytes(2_000))
    return old


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE offsets SET next = 7", "the journal is damaged: row 1 of table offsets has a wrong checksum"),
        ("DELETE FROM offsets", "the journal is damaged: table offsets has no row 1"),
        ("DELETE FROM subscriptions", "the journal is damaged: table entries has a row 1099511627777 that nobody"),
        ("UPDATE entries SET key = key + 200 WHERE number = 1", "the journal is damaged: table entries has a row"),
        ("UPDATE meta SET router = 'b'", "the journal is damaged: row 'b' of table meta has a wrong checksum"),
    ],
)
def test_a_damaged_journal_is_left_as_it_is(tmp_path, statement, problem):
    old = filled(tmp_path)
    old.change(statement)
    old.close()
    before = content(old.path)
    with pytest.raises(InputError, match=problem):
        SqliteJournal(tmp_path, "a")
    assert content(old.path) == before


def test_a_journal_of_another_router_is_not_converted(tmp_path):
    old = filled(tmp_path)
    old.close()
    before = content(old.path)
    with pytest.raises(InputError, match="the journal belongs to router a, not b"):
        SqliteJournal(tmp_path, "b")
    assert content(old.path) == before


def test_a_full_disk_leaves_it_until_there_is_room(tmp_path, monkeypatch):
    old = filled(tmp_path)
    old.close()
    before = content(old.path)
    with monkeypatch.context() as patch:
        patch.setattr(sqlite_journal, "_PRAGMAS", (*sqlite_journal._PRAGMAS, "max_page_count = 80"))
        with pytest.raises(InputError) as raised:
            SqliteJournal(tmp_path, "a")
    assert str(raised.value) == (
        f"{old.path}: cannot convert the journal: database or disk is full; "
        "it is left as it is; it needs as much free space on its disk as it takes now"
    )
    assert content(old.path) == before
    journal = SqliteJournal(tmp_path, "a")
    assert len(kept(journal)[1]) == 100
    journal.close()


def test_a_router_goes_on_with_a_converted_journal(tmp_path):
    """Offsets, losses, the history and the numbers of publishers are those of before."""
    old = OldJournal(tmp_path)
    message = msgspec.msgpack.encode
    old.subscription(0, 4, name="history", predicate="x > 0")
    old.subscription(1, 6, name="billing")
    for offset, number in ((3, 3), (5, 5)):  # 4 is acknowledged
        old.entry(1, offset, float(number), number, message(({"x": 1}, [], b"%d" % number)), life=8)
    for offset, number in ((2, 3), (3, 5)):
        old.entry(0, offset, float(number), number, message(({"x": 1}, [], b"%d" % number)), life=8)
    old.row("losses", 1, 2, message((Loss(1, 2, ""),)))
    old.row("windows", publisher_incarnation(55), 1, b"\x01")  # it has stored message 1
    old.close()
    net = DurableLab.__new__(DurableLab)
    net.memory, net.clients = MemoryNetwork(1), 0
    net.memory.add(Settings("a", history="x > 0", history_age=0.0), disk=FileDisk(net.memory, tmp_path))
    net.run(4)
    alice, bob = net.client("a"), net.client("a")
    bob.subscribe_durable(1, "billing")
    net.run(1)
    for sequence in (1, 2):  # 1 is stored already
        alice.send(DurablePublish(55, sequence, 1, 5.0, {"x": 1}, [], b"new %d" % sequence))
        net.run(1)
    assert [each.subscriptions for each in answers(alice, DurablePublished)] == [1, 1]
    assert [(each.offset, each.payload) for each in bob.stored] == [(3, b"3"), (5, b"5"), (6, b"new 2")]
    assert [each.messages for each in answers(bob, DurableLost)] == [2]
    carol, dave = net.client("a"), net.client("a")
    carol.replay(1, "x > 0", HistoryStart(offset=2))
    dave.subscribe_durable(1, "later", "x > 0", start=HistoryStart())
    net.run(2)
    assert [each.offset for each in carol.stored] == [2, 3, 5]  # 4 is the note of the restart
    assert payloads(carol) == payloads(dave) == [b"3", b"5", b"new 2"]
    net.kill("a")
