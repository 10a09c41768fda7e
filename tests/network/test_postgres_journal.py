"""The journal in PostgreSQL does what the simulated disk does, and survives what may happen to the server."""

import asyncio
from contextlib import closing, suppress
from random import Random

import psycopg
import pytest
from support.journal_files import opened, read, stored
from support.journal_script import Scripted, home, perform
from support.postgres_servers import journal, new_home
from support.waiting import wait_until

from cbnet.errors import InputError
from cbnet.network.durable.home_log.journal import Append, Committed, OpenJournal, Read, Standby
from cbnet.network.simulation.memory_disk import DiskContent
from cbnet.network.transport.journals import journal_thread, leased_journal, postgres_database, postgres_journal
from cbnet.network.transport.journals.journal_place import DatabaseUri, JournalOwner
from cbnet.network.transport.journals.journal_store import FencedError
from cbnet.network.transport.journals.journal_thread import JournalThread
from cbnet.network.transport.journals.leased_journal import LeasedJournal
from cbnet.network.transport.journals.postgres_journal import PostgresJournal
from cbnet_lab.bench.postgres_server import PostgresServer


def positions(opened_journal):
    return [*opened_journal.recover().rows.positions]


def execute(server, statement):
    """Execute a statement as the operator of the server."""
    with psycopg.connect(server.uri, autocommit=True) as connection:
        found = connection.execute(statement)
        return found.fetchall() if found.description else []


def end_sessions(server, of):
    return execute(
        server, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'cbnet {of}'"
    )


@pytest.fixture
def alone():
    """A server whose test stops it."""
    with PostgresServer() as server:
        yield server


# --- content


def test_random_operations_have_the_same_effect_in_postgresql_and_in_memory(postgres):
    for seed in range(4):
        random, name = Random(seed), new_home()
        own = journal(postgres, name)
        memory, router = DiskContent(own.recover().id), Scripted(random)
        for _ in range(20):
            perform(own, memory, [each for _ in range(random.randrange(1, 8)) for each in router.operations()])
            if random.random() < 0.2:
                own.close()
                own = journal(postgres, name)
            assert own.recover() == memory.recover(), seed
        own.close()


def test_names_may_have_any_character(postgres):
    with closing(journal(postgres, "'ü\" %s")) as own:
        own.perform([home("\x00"), *opened(1), Append([stored(1).entries[0]._replace(source="a\x00ü")])])
        assert [*own.recover().homes] == ["\x00"]
        assert [each.source for each in read(own, 1)] == ["a\x00ü"]


def test_a_home_without_a_name_in_postgresql_is_refused(postgres):
    with pytest.raises(InputError, match="use a name of at most 57 bytes"):
        journal(postgres, "ü" * 29)


def test_a_damaged_message_is_not_returned_and_logged(postgres, caplog):
    name = new_home()
    with closing(journal(postgres, name)) as own:
        own.perform([*opened(1), stored(1), stored(2)])
        execute(postgres, f"UPDATE \"cbnet_{name}\".log SET content = 'other' WHERE position = 1")
        assert [each.position for each in read(own, 1, 2)] == [2]
    (record,) = caplog.records
    assert record.getMessage() == "journal damaged"
    assert record.members["home"] == name
    assert record.members["position"] == 1


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("UPDATE {}.log SET set_id = 7", "row 1 of table log has a damaged set"),
        ("UPDATE {}.subscriptions SET definition = 'x'", "row 1 of table subscriptions has a wrong checksum"),
        ("UPDATE {}.meta SET id = 5", "row 'home .*' of table meta has a wrong checksum"),
        ("DELETE FROM {}.cursors", "table cursors has no row 1"),
        ("ALTER TABLE {}.sets RENAME COLUMN members TO others", "it has other tables"),
        ("DROP TABLE {}.version", "it has other tables"),
    ],
)
def test_a_damaged_journal_is_refused_with_the_remedy(postgres, change, problem):
    name = new_home()
    with closing(journal(postgres, name)) as own:
        own.perform([*opened(1), stored(1)])
    execute(postgres, change.format(f'"cbnet_{name}"'))
    expected = f"the journal is damaged: {problem}.*restore the database from a backup"
    with pytest.raises(InputError, match=expected), closing(journal(postgres, name)) as own:
        own.recover()


# --- servers that are refused


def refusal(uri, name="h", network="cbnet"):
    with pytest.raises(InputError) as refused:
        PostgresJournal(DatabaseUri(uri), JournalOwner(network, name, "a"))
    return str(refused.value)


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes"])
def test_a_server_that_may_lose_what_it_confirmed_is_refused(setting):
    with PostgresServer({setting: "off"}) as server:
        assert f"{setting} is off, so the server may lose what it has confirmed; set {setting} = on" in refusal(
            server.uri
        )


@pytest.mark.parametrize("value", ["off", "local", "remote_write"])
def test_sessions_that_do_not_wait_for_the_sync_are_refused(postgres, value):
    uri = f"{postgres.uri}&options=-csynchronous_commit%3D{value}"
    assert f"synchronous_commit is {value}, so the server may lose what it has confirmed" in refusal(uri)


def test_an_old_server_is_refused(postgres, monkeypatch):
    monkeypatch.setattr(postgres_database, "_OLDEST", 99)
    assert "use PostgreSQL 99 or newer" in refusal(postgres.uri)


def test_the_journal_of_another_network_or_version_is_refused(postgres, monkeypatch):
    name = new_home()
    journal(postgres, name).close()
    text = f"the journal of the home {name} belongs to the network cbnet, not other"
    assert text in refusal(postgres.uri, name, "other")
    monkeypatch.setattr(postgres_database, "_VERSION", 2)
    assert "the journal has version 1; this cbnet uses version 2" in refusal(postgres.uri, name)


def test_a_role_that_may_not_create_the_schema_learns_the_remedy(postgres):
    execute(postgres, "CREATE ROLE weak LOGIN")
    uri = postgres.uri.replace("cbnet@", "weak@")
    assert "permission denied for database postgres; let the role create schemas in the database, or" in refusal(uri)
    name = new_home()
    execute(postgres, f'CREATE SCHEMA "cbnet_{name}" AUTHORIZATION weak')
    PostgresJournal(DatabaseUri(uri), JournalOwner("cbnet", name, "a")).close()


def test_a_server_that_does_not_run_is_named_without_the_password():
    text = refusal("postgresql://ann:secret@127.0.0.1:1/db")
    assert "postgresql://ann:***@127.0.0.1:1/db: cannot use the journal: " in text
    assert "secret" not in text


def test_an_address_that_is_none_is_named():
    assert "journal: " in refusal("postgresql://h:port/db?what=x")


# --- the fence


def test_a_journal_has_one_holder(postgres):
    name = new_home()
    with closing(journal(postgres, name)) as own:
        other = PostgresJournal(DatabaseUri(postgres.uri), JournalOwner("cbnet", name, "b"))
        assert other.acquire() == "a"
        assert not other.is_held
        own.perform(opened(1))
        other.close()  # and the lease stays with the first
        own.perform([stored(1)])


def test_a_router_that_has_lost_the_home_cannot_commit(postgres):
    name = new_home()
    own = journal(postgres, name)
    own.perform([*opened(1), stored(1)])
    execute(postgres, f"UPDATE \"cbnet_{name}\".lease SET expires = '-infinity'")
    with closing(journal(postgres, name, router="b")) as other:
        other.perform([stored(2)])
        with pytest.raises(FencedError, match=f"router b holds the home {name}"):
            own.perform([stored(2), stored(3)])
        own.lease.renewed_at = 0.0
        with pytest.raises(FencedError, match=f"router b holds the home {name}"):
            own.renew()
        own.close()  # and the lease stays with the other
        other.perform([stored(4)])
        assert positions(other) == [1, 2, 4]


def test_a_router_that_was_killed_takes_its_home_at_once(postgres):
    name = new_home()
    own = journal(postgres, name)
    own.perform(opened(1))
    own._connection.close()  # as the system does
    began = postgres_journal.clock()
    journal(postgres, name).close()
    assert postgres_journal.clock() - began < leased_journal.LEASE


def test_the_unfinished_transaction_of_a_suspended_router_does_not_keep_the_home(postgres):
    name = new_home()
    own = journal(postgres, name)
    other = PostgresJournal(DatabaseUri(postgres.uri), JournalOwner("cbnet", name, "b"))
    fence = postgres_journal._FENCE, (own._transactions + 1, own._epoch, own._transactions)
    with suppress(psycopg.OperationalError), own._connection.pipeline():
        own._connection.execute(b"BEGIN")
        assert own._connection.execute(*fence).fetchone()  # the server waits for the rest
        assert [other.acquire() for _ in range(3)] == ["a"] * 3  # as long as the lease lasts
        wait_until(lambda: other.acquire() is None, timeout=30)
    with pytest.raises(psycopg.OperationalError):
        own.perform(opened(1))  # it connects again after that
    with pytest.raises(FencedError, match=f"router b holds the home {name}"):
        own.perform(opened(1))
    own.close()
    with closing(other):
        other.perform(opened(1))


def test_a_lease_ends_earlier_for_its_holder(postgres):
    name = new_home()
    with closing(journal(postgres, name)) as own:
        for renewing in (lambda: own.perform([home("b")]), own.renew):
            own.lease.renewed_at = 0.0
            renewing()
            ((left,),) = execute(
                postgres, f'SELECT extract(epoch FROM expires - clock_timestamp())::float FROM "cbnet_{name}".lease'
            )
            assert left > own.lease._end - postgres_journal.clock() + leased_journal.MARGIN - 1e-3


class Deaf(PostgresJournal):
    """A journal that loses the answer to a commit."""

    is_deaf = False

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self._renewed, self.lease.renew = self.lease.renew, self._holds_since

    def _holds_since(self, sent):
        if self.is_deaf:
            self.is_deaf = False
            self._connection.close()
            raise psycopg.OperationalError("the connection is lost")
        self._renewed(sent)


def test_a_transaction_whose_answer_was_lost_is_not_performed_twice(postgres):
    with closing(journal(postgres, new_home(), store=Deaf)) as own:
        own.perform(opened(1))
        for position in (1, 2, 3):
            own.is_deaf = position == 2
            if own.is_deaf:
                with pytest.raises(psycopg.OperationalError):
                    own.perform([stored(2)])
            own.perform([stored(position)])
        assert positions(own) == [1, 2, 3]


def test_a_database_that_lacks_confirmed_transactions_is_another_one(postgres):
    """As after the failover to a server that did not have them."""
    name = new_home()
    with closing(journal(postgres, name)) as own:
        own.perform([*opened(1), stored(1)])
        own.perform([stored(2)])
        execute(postgres, f'UPDATE "cbnet_{name}".lease SET transactions = transactions - 1')
        with pytest.raises(FencedError, match="the database lacks transactions that it has confirmed"):
            own.perform([stored(3)])


# --- the thread


def in_thread(store, monkeypatch, script):
    """Run a script with the thread of a journal, and the events that it reports."""
    monkeypatch.setattr(journal_thread, "_RETRY", 0.05)
    events = []

    async def run():
        thread = JournalThread(store)
        thread.start(events.append)
        try:
            await script(thread, events)
        finally:
            await thread.close()

    asyncio.run(asyncio.wait_for(run(), 60))
    return events


async def until(condition):
    while not condition():
        await asyncio.sleep(0.01)


def committed(events):
    return sum(each.submits for each in events if isinstance(each, Committed))


def test_a_server_that_is_killed_stalls_the_journal_and_loses_nothing(alone, monkeypatch):
    async def script(thread, events):
        thread.submit(opened(1))
        for position in range(1, 301):
            thread.submit([stored(position)])
            if position % 100 == 0:
                await asyncio.to_thread(alone.kill)
                thread.submit([stored(1_000 + position)])
                await until(lambda: store._connection is None)
                await asyncio.to_thread(alone.start)
            await asyncio.sleep(0)
        await until(lambda: committed(events) == 304)
        thread.submit([Read(1, [1, 300, 1_300])])
        await until(lambda: not isinstance(events[-1], Committed))
        assert [each.position for each in events[-1].entries] == [1, 300, 1_300]

    store = journal(alone, "h")
    in_thread(store, monkeypatch, script)
    with closing(journal(alone, "h")) as own:
        assert positions(own) == [*range(1, 301), 1_100, 1_200, 1_300]


def test_a_thread_without_work_renews_the_lease_and_connects_again(postgres, monkeypatch, caplog):
    monkeypatch.setattr(leased_journal, "RENEWAL", 0.05)
    monkeypatch.setattr(PostgresJournal, "renewal", 0.05)
    name = new_home()
    own = journal(postgres, name)

    async def script(_, events):
        before = own.lease.renewed_at
        await until(lambda: own.lease.renewed_at > before)
        end_sessions(postgres, name)
        await until(lambda: events)

    assert in_thread(own, monkeypatch, script) == [Committed(0)]
    assert [each.getMessage() for each in caplog.records] == ["journal stalled", "journal resumed"]


def test_a_server_whose_disk_is_full_is_reported(postgres):
    with closing(journal(postgres, new_home())) as own:
        assert own.explain(psycopg.errors.DiskFull("x")) == ("the disk of the server is full", "free some space")


# --- home groups


def test_routers_take_a_home_over_from_each_other(postgres):
    name = new_home()
    uri = DatabaseUri(postgres.uri)

    async def script():
        events = {router: [] for router in "ab"}
        groups = {
            router: LeasedJournal(PostgresJournal(uri, JournalOwner("cbnet", name, router))) for router in "ab"
        }  # fmt: skip
        first = groups["a"].start(events["a"].append)
        assert groups["b"].start(events["b"].append) == Standby("a")
        first.journal.submit(opened(1))
        await until(lambda: committed(events["a"]) == 1)
        execute(postgres, f"UPDATE \"cbnet_{name}\".lease SET expires = '-infinity', holder = 'c'")
        await until(lambda: events["b"] and isinstance(events["b"][-1], OpenJournal))
        second = events["b"][-1]
        assert [each.id for each in second.state.subscriptions] == [1]
        assert second.journal.is_held
        first.journal.submit([stored(1)])  # fenced
        await until(lambda: events["a"][-1] == Standby("b"))
        assert not first.journal.is_held
        second.journal.submit([stored(1)])
        await groups["b"].close()
        await until(lambda: isinstance(events["a"][-1], OpenJournal))
        assert [*events["a"][-1].state.rows.positions] == [1]
        await groups["a"].close()

    asyncio.run(asyncio.wait_for(script(), 60))


def test_a_released_journal_takes_its_home_again(postgres):
    async def script():
        events = []
        group = LeasedJournal(PostgresJournal(DatabaseUri(postgres.uri), JournalOwner("cbnet", new_home(), "a")))
        first = group.start(events.append)
        first.journal.release()
        await until(lambda: events and isinstance(events[-1], OpenJournal))
        assert not first.journal.is_held
        assert events[-1].journal.is_held
        await group.close()

    asyncio.run(asyncio.wait_for(script(), 60))
