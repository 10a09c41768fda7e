"""The newest link record of each router, and nothing else."""

import itertools

import pytest

from cbnet.network.linkstate import database
from cbnet.network.linkstate.database import Database
from cbnet.network.linkstate.records import InstallOutcome, RecordVersion
from cbnet.network.protocol.frames import LinkField, LinkRecord, RecordEntry

INSTALLED, STALE, NO_ROOM = InstallOutcome


def record(sequence, incarnation=1, neighbours=("b",), *, owner="a", changes=1, age=0, path=()):
    links = {name: LinkField(1, [7]) for name in neighbours}
    return LinkRecord(owner, incarnation, sequence, changes, age, links, list(path))


def test_only_newer_versions_are_installed():
    db = Database(100)
    assert db.install(record(2, 1, "b"), 0) is INSTALLED
    assert db.install(record(2, 1, "b"), 0) is STALE
    assert db.install(record(1, 9, "c"), 0) is STALE
    assert list(db.neighbours("a")) == ["b"]
    assert db.install(record(2, 2, "c"), 0) is INSTALLED  # the same number in a greater incarnation
    assert db.install(record(3, 1, "d", changes=4, path=["g"]), 0) is INSTALLED
    assert db.neighbours("a") == {"d": LinkField(1, [7])}
    assert (db.version("a"), db.incarnation("a"), db.changes("a"), db.gateway_path("a")) == ((3, 1), 1, 4, ("g",))


def test_nothing_is_known_of_an_unknown_router():
    db = Database(100)
    assert (db.version("x"), db.incarnation("x"), db.changes("x"), db.gateway_path("x")) == (None, None, 0, ())
    assert db.neighbours("x") == {}
    assert db.record("x", 0) is None
    assert db.lacks("x", RecordVersion(0, 0))


@pytest.mark.parametrize(
    ("changed", "is_other"),
    [
        ({}, False),  # a renewal
        ({"age": 5}, False),
        ({"incarnation": 2}, True),
        ({"changes": 2}, True),
        ({"neighbours": "c"}, True),
        ({"path": ["g"]}, True),
    ],
)
def test_the_topology_has_changed_only_if_an_incarnation_or_links_have(changed, is_other):
    db = Database(100)
    db.install(record(1), 0)
    before = db.topology
    assert db.install(record(2, **changed), 3.0) is INSTALLED
    assert (db.topology > before) == is_other
    assert (db.changed == 3.0) == is_other


def test_of_two_records_of_one_version_the_same_is_kept_whatever_the_order():
    records = [record(3, 1, names) for names in ("", "b", "c", "bc")]
    kept = set()
    for order in itertools.permutations(records):
        db = Database(100)
        for each in order:
            db.install(each, 0)
        kept.add(tuple(db.neighbours("a")))
    assert len(kept) == 1


def test_record_of_the_present_version_with_another_content_is_a_contradiction():
    db = Database(100)
    db.install(record(3), 0)
    assert not db.contradicts(record(3, age=9))
    assert not db.contradicts(record(4, 1, "c"))
    assert db.contradicts(record(3, 1, "c"))
    assert db.contradicts(record(3, changes=2))


def test_a_record_that_is_not_renewed_is_forgotten():
    db = Database(100)
    db.install(record(1), 0)
    db.install(record(1, owner="b"), 50)
    assert db.expire(100) == []
    before = db.topology
    assert db.expire(101) == [RecordEntry("a", 1, 1)]
    assert db.topology > before
    assert db.routers() == ["b"]
    assert db.version("a") is None
    assert db.install(record(2, age=100_001), 200) is STALE  # too old when it is received


def test_there_is_room_for_so_many_routers_and_no_more(monkeypatch):
    monkeypatch.setattr(database, "MAX_ROUTERS", 2)
    db = Database(10)
    assert [db.install(record(1, owner=owner), 0) for owner in "abc"] == [INSTALLED, INSTALLED, NO_ROOM]
    assert db.install(record(2, owner="a"), 0) is INSTALLED
    db.expire(11)
    assert db.install(record(1, owner="c"), 11) is INSTALLED


def test_ages_are_in_milliseconds():
    db = Database(100)
    db.install(record(1, age=500), 1.0)
    assert db.age("a", 3.5) == 3_000
    assert db.record("a", 3.5) == record(1, age=3_000)


def test_entries_are_owners_with_versions():
    db = Database(100)
    db.install(record(4, 9), 0)
    assert db.entries() == [RecordEntry("a", 9, 4)]
    assert len(db) == 1
