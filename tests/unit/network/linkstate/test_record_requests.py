"""Whom a router asks for the records that it lacks."""

from cbnet.network.linkstate import flooding as module
from cbnet.network.linkstate.flooding import RecordRequests
from cbnet.network.linkstate.records import RecordVersion


def wanted(*heard, **options):
    new = RecordRequests(retry=1.0, **options)
    for link, sequence in heard:
        new.add(link, "a", RecordVersion(sequence, 1))
    return new


def due(requests, now, *owner_links):
    """Return the links and sequences of requests."""
    all = list(requests.due(now, lambda _owner: owner_links))
    assert {entry.owner for _, entry in all} <= {"a"}
    return [(link, entry.sequence) for link, entry in all]


def test_record_is_requested_once():
    new = wanted((1, 5), (2, 5))
    assert due(new, 0.0) == [(1, 5)]
    assert due(new, 0.5) == []


def test_neighbour_with_the_newest_version_is_asked():
    assert due(wanted((1, 5), (2, 6)), 0.0) == [(2, 6)]


def test_timeout_asks_another_neighbour():
    new = wanted((1, 5), (2, 5))
    assert [due(new, now) for now in (0.0, 1.0, 2.0)] == [[(1, 5)], [(2, 5)], [(1, 5)]]


def test_lost_link_asks_another_neighbour_at_once():
    new = wanted((1, 5), (2, 5))
    due(new, 0.0)
    new.remove_link(1)
    assert due(new, 0.1) == [(2, 5)]
    new.remove_link(2)
    assert not new


def test_received_record_is_requested_again_only_if_newer():
    new = wanted((1, 5), (2, 6))
    due(new, 0.0)
    new.complete("a", RecordVersion(5, 1))
    assert len(new) == 1
    new.complete("a", RecordVersion(6, 1))
    assert not new


def test_owner_that_is_a_neighbour_is_asked_itself():
    assert due(wanted((1, 5), (2, 5)), 0.0, 2) == [(2, 5)]


def test_owner_is_told_of_a_version_that_it_has_not_announced():
    new = wanted((1, 6), (2, 5))
    assert due(new, 0.0, 2, 3) == [(2, 6)]
    assert due(new, 0.5, 2, 3) == []


def test_others_are_asked_at_once_when_the_link_to_the_owner_breaks():
    new = wanted((1, 6))
    assert due(new, 0.0, 9) == [(9, 6)]
    new.remove_link(9)
    assert due(new, 0.1) == [(1, 6)]


def test_there_is_room_for_so_many_and_no_more(monkeypatch):
    monkeypatch.setattr(module, "_MAX_REQUESTS", 1)
    new = wanted((1, 5))
    new.add(1, "b", RecordVersion(1, 1))
    new.add(2, "a", RecordVersion(6, 1))
    assert len(new) == 1
    assert due(new, 0.0) == [(2, 6)]


def test_it_is_given_up_after_some_attempts():
    new = wanted((1, 5))
    asked = [due(new, float(now)) for now in range(20)]
    assert asked[:8] == [[(1, 5)]] * 8
    assert asked[8:] == [[]] * 12
    assert not new


def test_a_version_that_a_neighbour_does_not_send_hides_no_record_of_another():
    new = wanted((1, 999), (2, 5))
    assert [due(new, now) for now in (0.0, 1.0)] == [[(1, 999)], [(2, 5)]]
    new.complete("a", RecordVersion(5, 1))
    assert [due(new, float(now)) for now in range(2, 12)] == [[(1, 999)]] * 7 + [[]] * 3
    assert not new


def test_a_neighbour_that_sends_nothing_is_given_up_alone():
    new = wanted((1, 999), (2, 5))
    for now in range(20):
        due(new, float(now))
    new.add(3, "a", RecordVersion(6, 1))
    assert due(new, 20.0) == [(3, 6)]


def test_a_record_that_is_not_renewed_is_requested_of_each_neighbour_once_and_awaited():
    new = wanted((1, 999), (2, 5), is_renewed=False)
    assert [due(new, now) for now in (0.0, 0.5, 1.0)] == [[(1, 999)], [], [(2, 5)]]
    assert not [*new.overdue()]
    assert [due(new, float(now)) for now in range(2, 20)] == [[]] * 18
    assert [*new.overdue()] == [("a", [1, 2])]
    new.remove_link(1)
    new.add(1, "a", RecordVersion(7, 1))  # a new summary
    assert not [*new.overdue()]
    assert due(new, 20.0) == [(1, 7)]


def test_it_is_not_given_up_while_the_owner_answers():
    new = wanted((1, 6))
    for now in range(20):
        assert due(new, float(now), 9) == [(9, 6)]
    assert due(new, 20.0) == [(1, 6)]
