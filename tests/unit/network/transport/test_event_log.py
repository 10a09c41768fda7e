"""Log events: changes at once, frequent events in totals."""

import pytest
from support.memory_networks import Alone

from cbnet.network.link.link import Link
from cbnet.network.transport.event_log import EventLog


@pytest.fixture
def alone():
    return Alone()


def logged(caplog):
    """Return the events since the last call, with their members."""
    events = [(record.getMessage(), record.levelname, record.members) for record in caplog.records]
    caplog.clear()
    return events


def test_drops_are_logged_as_totals(alone, caplog):
    caplog.set_level("INFO")
    event_log = EventLog(alone.router)
    event_log.check(0.0)
    logged(caplog)
    alone.router.counters["dropped.too_many_hops"] += 5_000
    alone.router.counters["dropped.duplicate"] += 3
    event_log.check(9.9)
    assert logged(caplog) == []
    event_log.check(10.0)
    assert logged(caplog) == [
        ("dropped", "INFO", {"reason": "duplicate", "count": 3}),
        ("dropped", "WARNING", {"reason": "too_many_hops", "count": 5_000}),
    ]
    alone.router.counters["dropped.too_many_hops"] += 1
    alone.router.counters["published"] += 1
    event_log.check(20.0)
    assert logged(caplog) == [("dropped", "WARNING", {"reason": "too_many_hops", "count": 1})]
    event_log.check(30.0)
    assert logged(caplog) == []


def test_denials_are_logged_as_totals(alone, caplog):
    caplog.set_level("INFO")
    event_log = EventLog(alone.router)
    event_log.check(0.0)
    logged(caplog)
    alone.router.counters.update({"denied.publish": 2, "refused": 3})  # a refusal that is no denial is not logged
    event_log.check(10.0)
    assert logged(caplog) == [("denied", "WARNING", {"reason": "publish", "count": 2})]


def test_unreachable_neighbour_is_a_warning_once(alone, caplog):
    from cbnet.network.protocol.addresses import Address

    caplog.set_level("DEBUG")
    event_log, address = EventLog(alone.router), Address("127.0.0.1", 1)
    event_log.unreachable("b", address, OSError(111, "Connection refused"), is_first=True)
    event_log.unreachable("b", address, TimeoutError(), is_first=False)
    assert logged(caplog) == [
        ("unreachable", "WARNING", {"name": "b", "address": "127.0.0.1:1", "reason": "[Errno 111] Connection refused"}),
        ("unreachable", "DEBUG", {"name": "b", "address": "127.0.0.1:1", "reason": "TimeoutError"}),
    ]


def test_connection_without_a_hello_is_logged_as_refused(alone, caplog):
    event_log = EventLog(alone.router)
    event_log.link_down(Link(7, address="127.0.0.1:9"), "no Hello received for 3.5 s", 1.0)
    assert logged(caplog) == [
        ("refused", "WARNING", {"address": "127.0.0.1:9", "reason": "no Hello received for 3.5 s"})
    ]
