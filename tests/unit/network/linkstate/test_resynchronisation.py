"""Whom a router asks for the records that it lacks."""

from cbnet.network.linkstate import resynchronisation as module
from cbnet.network.linkstate.records import Key, RecordKind, Version
from cbnet.network.linkstate.resynchronisation import RecordRequests

KEY = Key("a", RecordKind.PREDICATE)


def wanted(*heard):
    new = RecordRequests(retry=1.0)
    for link, sequence in heard:
        new.add(link, KEY, Version(sequence, 1))
    return new


def test_record_is_requested_once():
    new = wanted((1, 5), (2, 5))
    assert list(new.due(0.0)) == [(1, KEY)]
    assert list(new.due(0.5)) == []


def test_neighbour_with_the_newest_version_is_asked():
    assert list(wanted((1, 5), (2, 6)).due(0.0)) == [(2, KEY)]


def test_timeout_asks_another_neighbour():
    new = wanted((1, 5), (2, 5))
    assert [list(new.due(now)) for now in (0.0, 1.0, 2.0)] == [[(1, KEY)], [(2, KEY)], [(1, KEY)]]


def test_lost_link_asks_another_neighbour_at_once():
    new = wanted((1, 5), (2, 5))
    list(new.due(0.0))
    new.remove_link(1)
    assert list(new.due(0.1)) == [(2, KEY)]
    new.remove_link(2)
    assert not new


def test_received_record_is_requested_again_only_if_newer():
    new = wanted((1, 5), (2, 6))
    list(new.due(0.0))
    new.complete(KEY, Version(5, 1))
    assert len(new) == 1
    new.complete(KEY, Version(6, 1))
    assert not new


def test_received_part_postpones_the_retry():
    new = wanted((1, 5))
    list(new.due(0.0))
    new.postpone(KEY, Version(5, 1), 0.9)
    assert list(new.due(1.5)) == []
    new.postpone(KEY, Version(4, 9), 1.8)  # not what is wanted
    assert list(new.due(2.0)) == [(1, KEY)]


def test_there_is_room_for_so_many_and_no_more(monkeypatch):
    monkeypatch.setattr(module, "_MAX_REQUESTS", 1)
    new = wanted((1, 5))
    new.add(1, Key("b", RecordKind.LINKS), Version(1, 1))
    new.add(2, KEY, Version(6, 1))
    assert len(new) == 1
    assert list(new.due(0.0)) == [(2, KEY)]


def test_it_is_given_up_after_some_attempts():
    new = wanted((1, 5))
    asked = [list(new.due(float(now))) for now in range(20)]
    assert asked[:8] == [[(1, KEY)]] * 8
    assert asked[8:] == [[]] * 12
    assert not new
