"""The newest record of each owner and kind, and nothing else."""

import pytest

from cbnet import parse_filter
from cbnet.network.linkstate import database
from cbnet.network.linkstate.database import Database, UpdateOutcome
from cbnet.network.linkstate.records import Key, RecordKind, Version
from cbnet.network.protocol.filter_codec import filter_to_bytes

LINKS, PREDICATE = Key("a", RecordKind.LINKS), Key("a", RecordKind.PREDICATE)


def written(*texts):
    return {filter_to_bytes(filter): filter for filter in map(parse_filter, texts)}


def links(db, sequence, life, neighbours, born=0.0, now=0.0, owner="a"):
    return db.install_links(owner, Version(sequence, life), born, neighbours, now)


def change(db, sequence, life, added=(), removed=(), born=0.0, now=0.0):
    return db.install_change("a", Version(sequence, life), born, written(*added), written(*removed), now)


def whole(db, sequence, life, *texts):
    return db.install_whole("a", Version(sequence, life), 0.0, written(*texts), 0.0)


def predicate(db):
    return {str(filter) for filter in db.predicates.predicate("a")}


def test_only_newer_versions_are_installed():
    db = Database(100)
    assert links(db, 2, 1, {"b": 1}) is UpdateOutcome.INSTALLED
    assert links(db, 2, 1, {"c": 1}) is UpdateOutcome.STALE
    assert links(db, 1, 9, {"c": 1}) is UpdateOutcome.STALE
    assert db.neighbours("a") == {"b": 1}
    assert links(db, 2, 2, {"c": 1}) is UpdateOutcome.INSTALLED  # a later life with the same count
    assert links(db, 3, 1, {"d": 4}) is UpdateOutcome.INSTALLED
    assert db.neighbours("a") == {"d": 4}


def test_the_topology_has_changed_only_if_the_neighbours_have():
    db = Database(100)
    links(db, 1, 1, {"b": 1})
    before = db.topology
    links(db, 2, 1, {"b": 1})
    assert db.topology == before
    links(db, 3, 1, {"b": 2})
    assert db.topology > before


def test_a_change_needs_the_version_before():
    db = Database(100)
    assert change(db, 2, 1, ["x = 1"]) is UpdateOutcome.WITHOUT_BASE
    assert change(db, 1, 1, ["x = 1", "y = 1"]) is UpdateOutcome.INSTALLED
    assert change(db, 3, 1, ["z = 1"]) is UpdateOutcome.WITHOUT_BASE
    assert change(db, 2, 2, ["z = 1"]) is UpdateOutcome.WITHOUT_BASE  # of another life
    assert change(db, 1, 1) is UpdateOutcome.STALE
    assert change(db, 2, 1, ["z = 1"], ["x = 1"]) is UpdateOutcome.INSTALLED
    assert predicate(db) == {"y = 1", "z = 1"}


def test_change_that_removes_a_missing_filter_has_no_base():
    db = Database(100)
    change(db, 1, 1, ["x = 1"])
    assert change(db, 2, 1, [], ["y = 1"]) is UpdateOutcome.WITHOUT_BASE
    assert db.version(PREDICATE) == (1, 1)


def test_whole_predicate_replaces_the_previous_one():
    db = Database(100)
    change(db, 1, 1, ["x = 1", "y = 1"])
    assert whole(db, 5, 1, "y = 1", "z = 1") is UpdateOutcome.INSTALLED
    assert whole(db, 4, 9, "q = 1") is UpdateOutcome.STALE
    assert predicate(db) == {"y = 1", "z = 1"}
    assert change(db, 6, 1, ["x = 1"], ["z = 1"]) is UpdateOutcome.INSTALLED
    assert predicate(db) == {"x = 1", "y = 1"}


def test_a_record_that_is_not_renewed_is_forgotten():
    db = Database(100)
    links(db, 1, 1, {"b": 1}, born=0)
    change(db, 1, 1, ["x = 1"], born=50)
    assert db.expire(100) == []
    assert db.expire(101) == [LINKS]
    assert db.routers() == []
    assert db.expire(151) == [PREDICATE]
    assert predicate(db) == set()
    assert db.version(PREDICATE) is None
    assert links(db, 2, 1, {"b": 1}, born=0, now=200) is UpdateOutcome.STALE  # too old when it comes


def test_expired_predicate_frees_its_slot():
    db = Database(10)
    for turn in range(5):
        db.install_whole(f"r{turn}", Version(1, 1), float(turn * 100), written("x = 1"), turn * 100.0)
        db.expire(turn * 100.0 + 50)
    assert len(db.predicates.table) == 1


def test_there_is_room_for_so_many_routers_and_no_more(monkeypatch):
    monkeypatch.setattr(database, "MAX_ROUTERS", 2)
    db = Database(10)
    assert [links(db, 1, 1, {}, owner=owner) for owner in "abc"] == [
        UpdateOutcome.INSTALLED,
        UpdateOutcome.INSTALLED,
        UpdateOutcome.STALE,
    ]
    assert links(db, 2, 1, {"b": 1}, owner="a") is UpdateOutcome.INSTALLED
    db.expire(11)
    assert links(db, 1, 1, {}, owner="c") is UpdateOutcome.INSTALLED


def test_ages_are_in_milliseconds():
    db = Database(100)
    links(db, 1, 1, {}, born=1.0, now=1.0)
    assert db.age(LINKS, 3.5) == 2_500


@pytest.mark.parametrize(("one", "other"), [((1, 5), (2, 1)), ((1, 1), (1, 2))])
def test_versions_are_ordered_by_sequence_then_life(one, other):
    assert Version(*one) < Version(*other)
