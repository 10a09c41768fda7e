"""The thread that takes a home of a group."""

import asyncio

import pytest

from cbnet.network.durable.home_log.journal import Standby
from cbnet.network.transport.journals import leased_journal
from cbnet.network.transport.journals.journal_store import FencedError
from cbnet.network.transport.journals.leased_journal import LeasedJournal


class SlowStore:
    """A database so slow that each lease ends, and another router takes the home, before the content is read."""

    place = {"database": "d", "home": "g"}  # noqa: RUF012
    errors = (OSError,)

    def __init__(self, holders):
        self._holders = holders

    def acquire(self):
        return self._holders.pop(0) if self._holders else "b"

    def recover(self):
        raise FencedError("router b holds the home g")

    def close(self):
        pass


@pytest.mark.parametrize("holders", [[None], [None, None, "c", None]])
def test_a_home_lost_while_its_content_is_read_is_tried_again(holders, monkeypatch):
    monkeypatch.setattr(leased_journal, "POLL", 0.001)
    events = []

    async def run():
        journal = LeasedJournal(SlowStore(holders))
        first = journal.start(events.append)
        while Standby("b") not in events:
            await asyncio.sleep(0.001)
        await journal.close()
        return first

    assert asyncio.run(asyncio.wait_for(run(), 10)) == Standby("", "router b holds the home g")
