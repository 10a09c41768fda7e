"""What is worth a line: changes at once, and what happens often in sums."""

import pytest
from support.memory_networks import Alone

from cbnet.network.transport.event_log import EventLog


@pytest.fixture
def alone():
    return Alone()


def told(caplog):
    """Return the events since this was last asked for, with their members."""
    found = [(record.getMessage(), record.levelname, record.members) for record in caplog.records]
    caplog.clear()
    return found


def test_what_is_dropped_is_told_in_sums(alone, caplog):
    caplog.set_level("INFO")
    journal = EventLog(alone.router)
    journal.check(0.0)
    told(caplog)
    alone.router.counters["dropped.too_many_hops"] += 5_000
    alone.router.counters["dropped.duplicate"] += 3
    journal.check(9.9)
    assert told(caplog) == []
    journal.check(10.0)
    assert told(caplog) == [
        ("dropped", "INFO", {"reason": "duplicate", "count": 3}),
        ("dropped", "WARNING", {"reason": "too_many_hops", "count": 5_000}),
    ]
    alone.router.counters["dropped.too_many_hops"] += 1
    alone.router.counters["published"] += 1
    journal.check(20.0)
    assert told(caplog) == [("dropped", "WARNING", {"reason": "too_many_hops", "count": 1})]
    journal.check(30.0)
    assert told(caplog) == []


def test_what_was_denied_is_told_in_sums_by_the_words_of_the_metrics(alone, caplog):
    caplog.set_level("INFO")
    journal = EventLog(alone.router)
    journal.check(0.0)
    told(caplog)
    alone.router.counters.update({"denied.publish": 2, "refused": 3})  # one was a mistake, and nothing to worry about
    journal.check(10.0)
    assert told(caplog) == [("denied", "WARNING", {"reason": "publish", "count": 2})]


def test_a_neighbour_that_cannot_be_reached_is_told_of_loudly_once(alone, caplog):
    from cbnet.network.protocol.addresses import Address

    caplog.set_level("DEBUG")
    journal, where = EventLog(alone.router), Address("127.0.0.1", 1)
    journal.unreachable("b", where, OSError(111, "Connection refused"), is_first=True)
    journal.unreachable("b", where, TimeoutError(), is_first=False)
    assert told(caplog) == [
        ("unreachable", "WARNING", {"name": "b", "address": "127.0.0.1:1", "reason": "[Errno 111] Connection refused"}),
        ("unreachable", "DEBUG", {"name": "b", "address": "127.0.0.1:1", "reason": "TimeoutError"}),
    ]


def test_who_comes_without_a_word_and_goes_is_refused_with_the_reason(alone, caplog):
    journal = EventLog(alone.router)
    journal.down(7, "127.0.0.1:9", "no Hello came for 3.5 s", 1.0)
    assert told(caplog) == [("refused", "WARNING", {"address": "127.0.0.1:9", "reason": "no Hello came for 3.5 s"})]
