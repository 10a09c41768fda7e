"""Journals in a PostgreSQL server."""

import time
from itertools import count

from cbnet.network.transport.journals.journal_place import DatabaseUri, JournalOwner
from cbnet.network.transport.journals.postgres_journal import PostgresJournal

_homes = count(1)


def new_home():
    """Return the name of a home that has no journal yet."""
    return f"home {next(_homes)}"


def journal(server, home, *, router="a", network="cbnet", store=PostgresJournal):
    """Open the journal of a home, and take the home."""
    own = store(DatabaseUri(server.uri), JournalOwner(network, home, router))
    end = time.monotonic() + 30
    while own.acquire() is not None:
        assert time.monotonic() < end
        time.sleep(0.05)
    return own
